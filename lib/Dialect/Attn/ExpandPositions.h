//===- ExpandPositions.h - attn.positions in terms of others ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_EXPANDPOSITIONS_H
#define ATTNC_LIB_DIALECT_ATTN_EXPANDPOSITIONS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces the op by tables of sines and cosines and the ops that read them, at the rewriter's
/// insertion point.
void expandPositions(PositionsOp op, RewriterBase &rewriter);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_EXPANDPOSITIONS_H
