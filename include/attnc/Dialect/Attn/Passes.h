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

/// Refuses text that is no Halide target, as the value of a pass's option.
LogicalResult verifyTarget(MLIRContext *context, StringRef target);

/// Why no fused kernel can compute `op`, whatever the schedule; empty if one may.
StringRef findObstacle(AttentionOp op);

/// Why `op` is computed op by op on the Halide target, without a fused kernel; empty if it has one.
StringRef getReasonForNoKernel(AttentionOp op, StringRef target);

/// Why `op`, attention or a linear layer, does not run on the tensor cores of a CUDA target; empty
/// if it may, for other ops and for other targets.
StringRef getReasonForNoTensorCores(Operation *op, StringRef target);

/// Why attention on the tensor cores of a CUDA target takes no products of warpgroups; empty if it
/// may, for other ops and for targets without them.
StringRef getReasonForNoWarpgroups(Operation *op, StringRef target);
} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_PASSES_H
