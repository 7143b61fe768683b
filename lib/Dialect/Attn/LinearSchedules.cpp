//===- LinearSchedules.cpp - schedules of linear layers on CPUs -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/LinearSchedules.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"
#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::attn;

std::optional<bool> attn::hasShortRows(RankedTensorType input) {
  int64_t rank = input.getRank();
  if (rank < 3)
    return false;
  int64_t rows = input.getDimSize(rank - 2), before = input.getDimSize(rank - 3);
  bool isOpen = ShapedType::isDynamic(rows), isBeforeOpen = ShapedType::isDynamic(before);
  if ((!isOpen && rows > kShortRows) || (!isBeforeOpen && before <= 1))
    return false;
  return isOpen || isBeforeOpen ? std::nullopt : std::optional(before > rows);
}

bool attn::hasConstantWeight(LinearOp op) {
  auto constant = op.getWeight().getDefiningOp<arith::ConstantOp>();
  return constant && !getConstantBytes(constant.getValue()).empty();
}

bool attn::mayStayInPlace(LinearOp op, int64_t lanes) {
  auto isFloat = [](Value tensor) {
    return isa<Float32Type, Float16Type, BFloat16Type>(getElementTypeOrSelf(tensor));
  };
  int64_t depth = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
  return isFloat(op.getInput()) && isFloat(op.getWeight()) && !hasConstantWeight(op) &&
         !ShapedType::isDynamic(depth) && depth % lanes == 0;
}

/// Tiles take many times the products of vdpbf16ps.
static Products selectProducts(LinearOp op, const CpuInfo &cpu) {
  if (!mayMultiplyPairs(op))
    return Products::f32;
  if (cpu.hasTiles)
    return Products::bf16_tiles;
  return cpu.prefersBF16Pairs ? Products::bf16_pairs : Products::f32;
}

/// Rows whose sums fit in cache beside a panel of weights. With AVX2, blocks of 96 rows take 0.93
/// to 0.97 of the time of those of 516 for 256 to 512 in_features, and as long for more.
static int64_t getRowBlock(const CpuInfo &cpu) { return cpu.vectorRegisters >= 32 ? 516 : 96; }

/// Rows whose inputs stay in an L2 cache for all panels.
static int64_t getTileRowBlock(LinearOp op) {
  constexpr int64_t kMostRows = 256, kFewestRows = 32, kMostElements = 524288;
  int64_t depth = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
  if (ShapedType::isDynamic(depth))
    return kMostRows;
  return std::clamp<int64_t>(
      llvm::alignDown(kMostElements / std::max<int64_t>(depth, 1), kFewestRows), kFewestRows,
      kMostRows);
}

/// The `attn.split_heads` that alone reads `op`, if its head_dim is known.
static SplitHeadsOp getOnlyHeads(LinearOp op) {
  if (!op.getResult().hasOneUse())
    return {};
  auto heads = dyn_cast<SplitHeadsOp>(*op.getResult().user_begin());
  return heads && !heads.getInput().getType().isDynamicDim(2) ? heads : SplitHeadsOp();
}

static bool fitsPanels(SplitHeadsOp heads, int64_t columns) {
  int64_t headDim = heads.getResult().getType().getDimSize(3);
  return headDim > 0 && headDim % columns == 0;
}

namespace {
struct RegisterTile {
  int64_t rows, vectors;
};
} // namespace

/// Tiles that fill the registers beside loaded operands. Of 16 registers, four rows waste less than
/// six where rows are few, or a power of 2, if panels of three vectors divide features and heads.
static RegisterTile getRegisterTile(LinearOp op, const CpuInfo &cpu, int64_t lanes) {
  if (cpu.vectorRegisters >= 32)
    return {6, 4};
  int64_t features = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(0);
  SplitHeadsOp heads = getOnlyHeads(op);
  bool hasAVX = cpu.vectorBytes == 32, areThree = !ShapedType::isDynamic(features) &&
                                                  features % (3 * lanes) == 0 &&
                                                  !(heads && fitsPanels(heads, 2 * lanes));
  return hasAVX && areThree ? RegisterTile{4, 3} : RegisterTile{6, 2};
}

void attn::takeAsMatmul(RewriterBase &rewriter, LinearOp op) {
  auto transpose = op.getWeight().getDefiningOp<TransposeOp>();
  Type element = op.getType().getElementType();
  if (!transpose || isWeight(transpose) || op.getBias() || op.getSchedule() ||
      !(element.isF32() || element.isF64()))
    return;
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), op.getInput(), transpose.getInput());
  if (transpose->use_empty())
    rewriter.eraseOp(transpose);
}

/// A single row has its own kernel. Packing weights in the call costs more than the product of a
/// few rows, which reads them in place.
ArrayAttr attn::selectLinearSchedules(LinearOp op, const CpuInfo &cpu, bool onGpu) {
  constexpr int64_t kInPlaceTile = 4;
  auto input = cast<RankedTensorType>(op.getInput().getType());
  Type element = input.getElementType();
  Products products = onGpu ? Products::f32 : selectProducts(op, cpu);
  int64_t lanes = cpu.lanes(element.isF64() ? 64 : 32);
  RegisterTile tile = getRegisterTile(op, cpu, lanes);
  auto get = [&](int64_t rowTile, int64_t maxRows) {
    // Four tiles of AMX share a panel.
    if (products == Products::bf16_tiles)
      return LinearAttr::get(op->getContext(), rowTile == 1 ? 1 : 8, /*vectors=*/2,
                             /*vector_width=*/16, getTileRowBlock(op), products, /*packed=*/true,
                             maxRows);
    return LinearAttr::get(op->getContext(), rowTile, tile.vectors, lanes, getRowBlock(cpu),
                           products, /*packed=*/true, maxRows);
  };
  int64_t fewRows = element.isBF16() ? 16 : 128; // bf16 is widened for each tile
  auto getInPlace = [&](int64_t maxRows) {
    int64_t tile = cpu.vectorRegisters >= 32 ? kInPlaceTile : kInPlaceTile / 2;
    return LinearAttr::get(op->getContext(), tile, kInPlaceTile, cpu.lanes(32), fewRows,
                           Products::f32, /*packed=*/false, maxRows);
  };
  std::optional<bool> isShort = onGpu ? false : hasShortRows(input);
  int64_t rowsDim = input.getRank() - (isShort == true ? 3 : 2),
          rows = rowsDim < 0 ? 1 : input.getDimSize(rowsDim);
  bool isOpen = ShapedType::isDynamic(rows) || !isShort.has_value(),
       mayBeFew = hasConstantWeight(op) && (isOpen || rows <= 1) && isShort != true,
       isInPlace = !onGpu && (isOpen || rows <= fewRows) && mayStayInPlace(op, cpu.lanes(32));
  SmallVector<Attribute> schedules;
  if (mayBeFew)
    schedules.push_back(get(/*rowTile=*/1, /*maxRows=*/isOpen ? 1 : 0));
  if (isInPlace)
    schedules.push_back(getInPlace(/*maxRows=*/isOpen ? fewRows : 0));
  if (isOpen || schedules.empty())
    schedules.push_back(get(tile.rows, /*maxRows=*/0));
  return ArrayAttr::get(op->getContext(), schedules);
}

SplitHeadsOp attn::getStoredHeads(LinearOp op) {
  SplitHeadsOp heads = getOnlyHeads(op);
  bool haveTiles =
      heads && op.getSchedule() && llvm::all_of(*op.getSchedule(), [&](Attribute each) {
        auto linear = dyn_cast<LinearAttr>(each);
        return linear && fitsPanels(heads, linear.getPanelColumns());
      });
  return haveTiles ? heads : SplitHeadsOp();
}

/// Tiles and row blocks shrink to what LinearAttr admits beside those panels.
static LinearAttr withPanels(LinearAttr schedule, LinearAttr panels) {
  int64_t rows = std::min(schedule.getRowTile(), kMostTileVectors / panels.getVectors());
  int64_t block = std::min(schedule.getRowBlock(), getMostBlockRows(panels.getPanelColumns()));
  return LinearAttr::get(schedule.getContext(), rows, panels.getVectors(), panels.getVectorWidth(),
                         block / rows * rows, panels.getProducts(), /*packed=*/true,
                         schedule.getMaxRows());
}

ArrayAttr attn::withSharedPanels(ArrayAttr schedules, size_t index, LinearAttr schedule) {
  SmallVector<Attribute> all;
  for (auto [at, other] : llvm::enumerate(schedules.getAsRange<LinearAttr>())) {
    bool sharesPanels = other.getPacked() && schedule.getPacked();
    if (at == index)
      all.push_back(schedule);
    else
      all.push_back(sharesPanels ? withPanels(other, schedule) : other);
  }
  return ArrayAttr::get(schedules.getContext(), all);
}
