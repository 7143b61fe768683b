//===- Decompose.h - ops that attn-decompose rewrites -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_DECOMPOSE_H
#define ATTNC_DIALECT_ATTN_DECOMPOSE_H

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::attn {

/// Whether `op` has a kernel as it is; false if `attn-decompose` must rewrite it first, such as an
/// attn.attention without a schedule.
bool isDecomposed(Operation *op);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_DECOMPOSE_H
