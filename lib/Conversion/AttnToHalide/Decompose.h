//===- Decompose.h - ops in terms of others ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_DECOMPOSE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_DECOMPOSE_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::attn {

/// Replaces ops that have no pipeline of their own by ones that do, such as every attn.attention
/// without a schedule, which no fused kernel serves.
void decompose(func::FuncOp function);

/// Replaces the op by tables of sines and cosines, and what reads them.
void expandPositions(PositionsOp op);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_DECOMPOSE_H
