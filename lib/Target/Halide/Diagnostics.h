//===- Diagnostics.h - Halide's errors as diagnostics -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_DIAGNOSTICS_H
#define ATTNC_LIB_TARGET_HALIDE_DIAGNOSTICS_H

#include "mlir/IR/Operation.h"

namespace mlir::halide {

/// Runs `body`, which calls into Halide. Halide's exceptions, and its warning that the pipeline is
/// guaranteed to fail, become errors at the op that `locate` finds for the message; its other
/// warnings become warnings there.
LogicalResult guardHalide(llvm::function_ref<LogicalResult()> body,
                          llvm::function_ref<Location(StringRef message)> locate);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_DIAGNOSTICS_H
