//===- StoredTensors.h - keys and values as they are stored -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_STOREDTENSORS_H
#define ATTNC_LIB_DIALECT_ATTN_STOREDTENSORS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Lets `op` read key and value as they are stored, if they, or rows of which they are some dims,
/// are widened: by `attn.dequantize`, or by an `arith.extf` or `attn.map` that computes the same.
void takeStored(RewriterBase &rewriter, AttentionOp op);

/// The op that takes some of the dims of all rows of its source, and defines `tensor`; null if none
/// does.
tensor::ExtractSliceOp getSliceOfRows(Value tensor);
/// The same dims of other rows.
Value sliceRows(RewriterBase &rewriter, tensor::ExtractSliceOp slice, Value rows);

/// Erases `tensor`'s op, and those that it alone reads, if nothing reads it.
void eraseDead(RewriterBase &rewriter, Value tensor);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_STOREDTENSORS_H
