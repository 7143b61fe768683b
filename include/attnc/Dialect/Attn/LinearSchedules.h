//===- LinearSchedules.h - schedules of linear layers on CPUs ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_LINEARSCHEDULES_H
#define ATTNC_DIALECT_ATTN_LINEARSCHEDULES_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Machine/CpuInfo.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// The tile's rows are those of the dimension before the last two, if it is longer than the one
/// between, of at most so many rows: (len, batch, width), or one step of many sequences.
constexpr int64_t kShortRows = 16;

/// The most vectors of a register tile, of attention too.
constexpr int64_t kMostTileVectors = 128;
/// The most rows of a block: their sums, of up to 8 bytes, lie on the stack.
constexpr int64_t getMostBlockRows(int64_t panelColumns) {
  constexpr int64_t kMostBytes = 1 << 20;
  return kMostBytes / (8 * panelColumns);
}

/// Whether that is so for `input`; nullopt if only a call knows.
std::optional<bool> hasShortRows(RankedTensorType input);

/// Replaces a layer in f32 or f64 whose weight is the transpose of an argument or a computed
/// matrix, by `attn.matmul` with that matrix: a call would transpose and pack it. Not if there is a
/// bias or a schedule.
void takeAsMatmul(RewriterBase &rewriter, LinearOp op);

/// Whether weights are packed while compiling: their values are known.
bool hasConstantWeight(LinearOp op);

/// Whether a kernel may read weights in place, in vectors of so many in_features.
bool mayStayInPlace(LinearOp op, int64_t lanes);

/// Whether a schedule's products may be of bf16.
bool mayMultiplyPairs(LinearOp op);

/// The `#attn.linear` schedules of `op` for a CPU, or for kernels that Halide compiles for a GPU.
ArrayAttr selectLinearSchedules(LinearOp op, const CpuInfo &cpu, bool onGpu = false);

/// The `attn.split_heads` whose result, [batch, heads, len, head_dim], a CPU's kernels of `op`
/// store in place of their own: it alone reads `op`, and panels of weights divide a head. Null if
/// none.
SplitHeadsOp getStoredHeads(LinearOp op);

/// `schedules` with `schedule` at `index`; the others take its panels of packed weights.
ArrayAttr withSharedPanels(ArrayAttr schedules, size_t index, LinearAttr schedule);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_LINEARSCHEDULES_H
