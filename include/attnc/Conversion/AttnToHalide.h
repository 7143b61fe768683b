//===- AttnToHalide.h - kernels that are halide pipelines -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_H

namespace mlir {
class DialectRegistry;

namespace attn {

/// Lets schedules of the attn dialect build halide pipelines.
void registerHalideKernelBuilders(DialectRegistry &registry);

} // namespace attn
} // namespace mlir

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_H
