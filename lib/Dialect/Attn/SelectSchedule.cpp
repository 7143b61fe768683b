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

/// What the fused kernel serves: f32 or shorter, static widths, the context alone.
static bool hasFusedKernel(AttentionOp op) {
  auto query = op.getQuery().getType(), value = op.getValue().getType();
  return !query.getElementType().isF64() && !query.isDynamicDim(3) && !value.isDynamicDim(3) &&
         !op.getLse();
}

namespace {
/// Chooses among the kernels for one op.
class Selector {
public:
  Selector(AttentionOp op, const CpuInfo &cpu)
      : op(op), lanes(cpu.lanes(32)), isWide(cpu.vectorRegisters >= 32),
        headDim(op.getQuery().getType().getDimSize(3)),
        valueVectors(llvm::divideCeil(op.getValue().getType().getDimSize(3), lanes)) {}

  ArrayAttr select();

private:
  Attribute prefill(int64_t rowTile, int64_t maxQLen = 0);
  Attribute decode(int64_t rowsOfHead, int64_t maxQLen = 0);
  int64_t bestRowTile(int64_t rows);
  int64_t sharedHeads();

  AttentionOp op;
  int64_t lanes;
  /// 32 vector registers, not 16.
  bool isWide;
  int64_t headDim, valueVectors;
};
} // namespace

static int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::max<int64_t>(std::min(n, limit), 1);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Scores and context take three quarters of the registers each, in turns.
Attribute Selector::prefill(int64_t rowTile, int64_t maxQLen) {
  int64_t vectors = largestDivisor(rowTile / lanes, 3);
  int64_t contextVectors =
      isWide ? (valueVectors <= 6 ? valueVectors : 4) : std::min<int64_t>(valueVectors, 2);
  int64_t contextRows =
      largestDivisor(rowTile, std::min<int64_t>((isWide ? 24 : 12) / contextVectors, 12));
  return PrefillAttr::get(op->getContext(), rowTile, /*key_chunk=*/64, lanes, vectors,
                          /*score_keys=*/isWide ? 8 : 4, contextRows, contextVectors, maxQLen);
}

/// Eight sums at least hide the latency of one.
Attribute Selector::decode(int64_t rowsOfHead, int64_t maxQLen) {
  int64_t shared = sharedHeads(), rows = rowsOfHead * shared;
  int64_t scoreRows = largestDivisor(rows, isWide ? 4 : 2);
  int64_t contextRows = largestDivisor(rows, isWide ? 6 : 4);
  int64_t contextVectors =
      largestDivisor(valueVectors, std::min<int64_t>((isWide ? 24 : 12) / contextRows, 8));
  return DecodeAttr::get(op->getContext(), rows, shared, /*key_chunk=*/64, lanes, scoreRows,
                         /*score_keys=*/scoreRows < 3 && isWide ? 8 : 4, contextRows,
                         contextVectors, maxQLen);
}

/// Query heads whose rows one tile holds, so that keys and values are read once for all.
int64_t Selector::sharedHeads() {
  int64_t heads = op.getQuery().getType().getDimSize(1),
          kvHeads = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(kvHeads) || kvHeads == 0)
    return 1;
  return largestDivisor(heads / kvHeads, 8);
}

/// The tile that wastes least on rows that are not there; a row of a small tile costs more.
int64_t Selector::bestRowTile(int64_t rows) {
  std::pair<int64_t, double> costOfRow[] = {{48, 1.0}, {32, 1.05}, {16, 1.3}};
  auto cost = [&](std::pair<int64_t, double> tile) {
    return llvm::divideCeil(rows, tile.first) * tile.first * tile.second;
  };
  return llvm::min_element(costOfRow, [&](auto a, auto b) { return cost(a) < cost(b); })->first;
}

/// A known q_len has one kernel; for others a call chooses by its own. More rows than a
/// handful fill the lanes.
ArrayAttr Selector::select() {
  constexpr int64_t kFewRows = 4;
  int64_t rows = op.getQuery().getType().getDimSize(2);
  bool canDecode = headDim % lanes == 0;
  SmallVector<Attribute> schedules;
  if (!ShapedType::isDynamic(rows)) {
    bool isDecode = canDecode && rows > 0 && rows <= kFewRows && rows * sharedHeads() <= 16;
    schedules = {isDecode ? decode(rows) : prefill(bestRowTile(rows))};
  } else {
    if (canDecode)
      schedules.push_back(decode(1, 1));
    schedules.append({prefill(16, 16), prefill(32, 128), prefill(48)});
  }
  return ArrayAttr::get(op->getContext(), schedules);
}

namespace {
struct AttnSelectSchedulePass : attn::impl::AttnSelectScheduleBase<AttnSelectSchedulePass> {
  using Base::Base;
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    getOperation().walk([&](AttentionOp op) {
      if (!op.getSchedule() && hasFusedKernel(op))
        op.setScheduleAttr(Selector(op, cpu).select());
    });
  }
};
} // namespace
