//===- Dropout.h - dropout as a region --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_DROPOUT_H
#define ATTNC_DIALECT_ATTN_DROPOUT_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces a dropout by an op whose region computes it: `attn.modify_prob` on a prob,
/// `tensor.generate` on other tensors; without a seed by its input.
void expandDropout(DropoutOp op, RewriterBase &rewriter);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_DROPOUT_H
