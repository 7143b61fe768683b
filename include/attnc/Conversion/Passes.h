//===- Passes.h - conversions between dialects ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_PASSES_H
#define ATTNC_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

#endif // ATTNC_CONVERSION_PASSES_H
