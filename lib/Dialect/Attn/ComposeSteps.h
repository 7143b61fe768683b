//===- ComposeSteps.h - compose steps into one region -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_COMPOSESTEPS_H
#define ATTNC_LIB_DIALECT_ATTN_COMPOSESTEPS_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Fills the empty region `body` with the composition of `steps` (modify_score, mask, modify_prob)
/// on an `element`. A mask becomes a select with -inf, moved as late as its meaning allows.
void composeSteps(OpBuilder &builder, Region &body, ArrayRef<Operation *> steps, Type element,
                  Location loc);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_COMPOSESTEPS_H
