//===- Sanitize.h - sanitizers for a library's own code ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_SANITIZE_H
#define ATTNC_LIB_TARGET_LIBRARY_SANITIZE_H

#include "mlir/Support/LLVM.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::attn {

/// Instruments a module for the features `asan` and `sanitizer_coverage` of `target`, as Halide
/// does with its kernels.
void sanitize(llvm::Module &module, StringRef target);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_SANITIZE_H
