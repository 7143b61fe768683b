//===- Profile.h - times of a library's kernels -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_PROFILE_H
#define ATTNC_LIB_TARGET_LIBRARY_PROFILE_H

#include "mlir/Support/LLVM.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::attn {

/// Times the calls of these functions, which the module declares. They add to the global `symbol`:
/// for each of `kernels` in order, two i64, nanoseconds and calls.
void profileKernels(llvm::Module &module, ArrayRef<std::string> kernels, StringRef symbol);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_PROFILE_H
