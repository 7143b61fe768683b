//===- LiftElementwise.h - elementwise ops on scores as regions -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_LIFTELEMENTWISE_H
#define ATTNC_LIB_DIALECT_ATTN_LIFTELEMENTWISE_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces an attn.map, or an elementwise `arith` or `math` op, on a whole score or prob
/// tensor by attn.modify_score or attn.modify_prob. Returns whether `op` was one.
bool liftElementwise(RewriterBase &rewriter, Operation *op);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_LIFTELEMENTWISE_H
