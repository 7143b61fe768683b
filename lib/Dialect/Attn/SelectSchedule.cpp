//===- SelectSchedule.cpp - choose schedule parameters --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Target/CpuInfo.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSELECTSCHEDULE
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// What the fused kernel serves: f32, static widths, the context alone.
static bool hasFusedKernel(AttentionOp op) {
  auto query = op.getQuery().getType(), value = op.getValue().getType();
  return query.getElementType().isF32() && !query.isDynamicDim(3) && !value.isDynamicDim(3) &&
         !op.getLse();
}

/// Vectors of rows in a tile: three fill the registers best, fewer when there are
/// fewer rows.
static int64_t scoreVectors(AttentionOp op, int64_t lanes) {
  int64_t rows = op.getQuery().getType().getDimSize(2);
  if (ShapedType::isDynamic(rows))
    return 3;
  return std::clamp<int64_t>(llvm::divideCeil(rows, lanes), 1, 3);
}

static PrefillAttr selectPrefill(AttentionOp op, const CpuInfo &cpu) {
  bool wide = cpu.vectorRegisters >= 32;
  int64_t lanes = cpu.lanes(32), vectors = scoreVectors(op, lanes);
  int64_t tile = vectors * lanes;
  // Narrow vectors make narrow score tiles: several of them are one row tile.
  int64_t rowTile = vectors == 3 ? std::max<int64_t>(tile, 48) : tile;
  int64_t contextRows = rowTile % 6 == 0 ? 6 : 4;
  return PrefillAttr::get(op->getContext(), rowTile, /*key_chunk=*/64, lanes, vectors,
                          /*score_keys=*/wide ? 8 : 4, contextRows,
                          /*context_vectors=*/wide ? 4 : 2);
}

namespace {
struct AttnSelectSchedulePass : attn::impl::AttnSelectScheduleBase<AttnSelectSchedulePass> {
  using Base::Base;
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    getOperation().walk([&](AttentionOp op) {
      if (!op.getSchedule() && hasFusedKernel(op))
        op.setScheduleAttr(selectPrefill(op, cpu));
    });
  }
};
} // namespace
