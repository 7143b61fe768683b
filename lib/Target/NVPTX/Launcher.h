//===- Launcher.h - the host's part of a CUDA kernel ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_NVPTX_LAUNCHER_H
#define ATTNC_LIB_TARGET_NVPTX_LAUNCHER_H

#include "DeviceCode.h"

#include "llvm/IR/Module.h"

namespace mlir::cuda {

/// The functions of a kernel that `KernelOpInterface` names, which launch `code`.
std::unique_ptr<llvm::Module> buildLauncher(KernelOp kernel, const DeviceCode &code,
                                            llvm::LLVMContext &context);

} // namespace mlir::cuda

#endif // ATTNC_LIB_TARGET_NVPTX_LAUNCHER_H
