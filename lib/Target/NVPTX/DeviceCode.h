//===- DeviceCode.h - the PTX of a kernel -----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_NVPTX_DEVICECODE_H
#define ATTNC_LIB_TARGET_NVPTX_DEVICECODE_H

#include "attnc/Dialect/Cuda/Cuda.h"

namespace mlir::cuda {

/// A kernel's PTX, whose entry has the kernel's name, and what runs it. Versions are
/// 10 · major + minor.
struct DeviceCode {
  std::string ptx;
  int64_t capability;
  /// Whether no later capability runs it.
  bool isExact;
  int64_t ptxVersion;
  /// The first CUDA whose driver knows that PTX.
  int64_t cudaVersion;
};

/// Compiles `kernel` for a compute capability.
FailureOr<DeviceCode> compileToPtx(KernelOp kernel, int64_t capability);

} // namespace mlir::cuda

#endif // ATTNC_LIB_TARGET_NVPTX_DEVICECODE_H
