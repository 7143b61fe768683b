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

/// The PTX of `kernel` for a compute capability (10 · major + minor); its entry has the kernel's
/// name.
FailureOr<std::string> compileToPtx(KernelOp kernel, int64_t capability);

} // namespace mlir::cuda

#endif // ATTNC_LIB_TARGET_NVPTX_DEVICECODE_H
