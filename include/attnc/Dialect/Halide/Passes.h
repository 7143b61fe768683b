//===- Passes.h - passes on the halide dialect ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HALIDE_PASSES_H
#define ATTNC_DIALECT_HALIDE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::halide {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "attnc/Dialect/Halide/Passes.h.inc"
} // namespace mlir::halide

#endif // ATTNC_DIALECT_HALIDE_PASSES_H
