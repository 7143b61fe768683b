//===- Passes.h - passes on the host dialect ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HOST_PASSES_H
#define ATTNC_DIALECT_HOST_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::host {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "attnc/Dialect/Host/Passes.h.inc"
} // namespace mlir::host

#endif // ATTNC_DIALECT_HOST_PASSES_H
