//===- Export.h - CUDA kernels into PTX and objects -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_NVPTX_EXPORT_H
#define ATTNC_TARGET_NVPTX_EXPORT_H

#include "attnc/Dialect/Cuda/Cuda.h"

namespace mlir::cuda {

/// Makes `cuda.kernel` ops kernels that `KernelOpInterface::compile` can compile: to PTX as device
/// code, and to objects that hold it and launch it by Halide's CUDA runtime.
void registerKernelTarget(DialectRegistry &registry);

} // namespace mlir::cuda

#endif // ATTNC_TARGET_NVPTX_EXPORT_H
