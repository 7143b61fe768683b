//===- ComposeSteps.h - steps of a score or prob in one region --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_COMPOSESTEPS_H
#define ATTNC_LIB_DIALECT_ATTN_COMPOSESTEPS_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Fills the empty region `body` with what `steps` (modify_score, mask, modify_prob) do to an
/// `element`, in order. A mask selects between the score and -inf, as late as that means the same.
void composeSteps(OpBuilder &builder, Region &body, ArrayRef<Operation *> steps, Type element,
                  Location loc);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_COMPOSESTEPS_H
