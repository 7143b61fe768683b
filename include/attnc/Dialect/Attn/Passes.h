//===- Passes.h - passes on the attn dialect --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_PASSES_H
#define ATTNC_DIALECT_ATTN_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "attnc/Dialect/Attn/Passes.h.inc"

class AttentionOp;

/// What of `op` no fused kernel computes, whatever its schedule; empty where one may.
StringRef findObstacle(AttentionOp op);

/// Why `op` is computed op by op, and no fused kernel is written for it on the Halide target;
/// empty where one is.
StringRef getReasonForNoKernel(AttentionOp op, StringRef target);
} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_PASSES_H
