//===- Runtime.h - Halide's runtime embedded in attnc -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_RUNTIME_H
#define ATTNC_LIB_TARGET_HALIDE_RUNTIME_H

#include "llvm/ADT/StringRef.h"

namespace mlir::halide {

/// The object with the runtime of `target`, a Halide target in full; empty if none is embedded.
llvm::StringRef findRuntime(llvm::StringRef target);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_RUNTIME_H
