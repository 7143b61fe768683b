//===- Decompose.h - fused attention back into its parts --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_DECOMPOSE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_DECOMPOSE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::attn {

/// Replaces every attn.attention without a schedule, which no fused kernel serves, by
/// the ops it stands for.
void decomposeUnscheduled(func::FuncOp function);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_DECOMPOSE_H
