//===- TensorCores.cpp - what tensor cores compute ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/TensorCores.h"

#include "Shapes.h"

#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

TensorCoreTiles::TensorCoreTiles(AttentionOp op, int64_t qBlock, int64_t kvBlock)
    : headDim(llvm::alignTo(sizeOf(op.getQuery(), 3), 16)),
      valueDim(llvm::alignTo(sizeOf(op.getValue(), 3), 16)), qBlock(qBlock), kvBlock(kvBlock) {}

TensorCoreTiles::TensorCoreTiles(AttentionOp op, MmaAttr schedule)
    : TensorCoreTiles(op, schedule.getQBlock(), schedule.getKvBlock()) {
  warpRows = schedule.getWarpRows();
  packedHeads = schedule.getPackedHeads();
  kvSplits = schedule.getKvSplits();
  maxQLen = schedule.getMaxQLen();
}

TensorCoreTiles::TensorCoreTiles(AttentionOp op, WgmmaAttr schedule)
    : TensorCoreTiles(op, schedule.getQBlock(), schedule.getKvBlock()) {
  stages = schedule.getStages();
  maxQLen = schedule.getMaxQLen();
  // Of the query, and for keys and values of each stage: are they there, and is it free?
  barriers = 1 + 4 * stages;
}

MmaAttr attn::fitMma(AttentionOp op, int64_t qBlock, int64_t warpRows, int64_t packedHeads,
                     int64_t kvSplits, int64_t maxQLen) {
  for (int64_t kvBlock = 64;; kvBlock /= 2) {
    auto schedule =
        MmaAttr::get(op->getContext(), qBlock, kvBlock, warpRows, packedHeads, kvSplits, maxQLen);
    if (TensorCoreTiles(op, schedule).sharedBytes() <= GpuInfo::kSharedBytes)
      return schedule;
  }
}

/// Warps whose registers hold 32 rows load keys and values half as often for each product.
MmaAttr attn::fitMmaToManyRows(AttentionOp op, int64_t maxQLen) {
  constexpr int64_t kMostDims = 64;
  int64_t dims = std::max(sizeOf(op.getQuery(), 3), sizeOf(op.getValue(), 3));
  int64_t warpRows = dims <= kMostDims ? 32 : 16, warps = 4;
  return fitMma(op, warps * warpRows, warpRows, /*packedHeads=*/1, /*kvSplits=*/1, maxQLen);
}

/// Functions that a GPU has instructions for, in f32.
static bool isKnownFunction(Operation &op) {
  Type type = op.getResult(0).getType();
  return isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp, math::SqrtOp, math::RsqrtOp,
             math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp, math::ErfOp>(op) &&
         !type.isF64();
}

/// Numbers that registers hold.
static bool isKnown(Type type) {
  constexpr unsigned kWidths[] = {1, 8, 16, 32, 64};
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained(kWidths, integer.getWidth());
  return type.isIndex() || isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

static bool isKnown(Operation &op) {
  bool isKnownOp = isa_and_nonnull<arith::ArithDialect>(op.getDialect()) ||
                   isa<tensor::ExtractOp, tensor::DimOp, YieldOp>(op) ||
                   (isa_and_nonnull<math::MathDialect>(op.getDialect()) && isKnownFunction(op));
  return isKnownOp && op.getNumRegions() == 0 && op.getNumResults() <= 1 &&
         llvm::all_of(op.getResultTypes(), [](Type type) { return isKnown(type); });
}

/// A region's scalars are computed within it; tensors and constants come from anywhere.
static bool isKnown(Region &region) {
  if (region.empty())
    return true;
  return llvm::all_of(region.front(), [&](Operation &op) {
    auto isOfRegion = [&](Value operand) {
      return operand.getParentRegion() == &region || isa<TensorType>(operand.getType()) ||
             operand.getDefiningOp<arith::ConstantOp>();
    };
    return isKnown(op) && llvm::all_of(op.getOperands(), isOfRegion);
  });
}

StringRef attn::findTensorCoreObstacle(AttentionOp op) {
  constexpr int64_t kMostDims = 256;
  auto query = op.getQuery().getType(), value = op.getValue().getType();
  if (!query.getElementType().isF16() && !query.getElementType().isBF16())
    return "elements are neither f16 nor bf16";
  for (int64_t dim : {query.getDimSize(3), value.getDimSize(3)})
    if (ShapedType::isDynamic(dim) || dim == 0 || dim > kMostDims)
      return "head_dim or value_dim is open, 0 or above 256";
  if (op.isWidened())
    return "keys or values are widened";
  if (op.getLse() && op.getLse().getType().getElementType().isF64())
    return "the lse is f64";
  if (!isKnown(op.getScoreMod()) || !isKnown(op.getMask()) || !isKnown(op.getProbMod()))
    return "a region calls what they have no instruction for";
  return "";
}

/// Copies of boxes take rows in order.
StringRef attn::findWarpgroupObstacle(AttentionOp op) {
  return op.getPages() ? "keys and values are in pages" : "";
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

LinearTiles::LinearTiles(MmaLinearAttr schedule)
    : rowBlock(schedule.getRowBlock()), featureBlock(schedule.getFeatureBlock()),
      depth(schedule.getDepth()), stages(schedule.getStages()) {}

StringRef attn::findTensorCoreObstacle(LinearOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  if (!input.getElementType().isF16() && !input.getElementType().isBF16())
    return "elements are neither f16 nor bf16";
  if (input.getRank() < 2)
    return "the input is a vector";
  int64_t width = input.getShape().back();
  return ShapedType::isDynamic(width) || width == 0 ? "in_features is open or 0" : "";
}

bool attn::isTensorCoreEpilogue(MapOp op) {
  Type element = op.getResult().getType().getElementType();
  auto isKnownInput = [](Value input) {
    return isKnown(cast<RankedTensorType>(input.getType()).getElementType());
  };
  return isa<Float16Type, BFloat16Type, Float32Type>(element) && isKnown(op.getBody()) &&
         llvm::all_of(op.getInputs(), isKnownInput);
}
