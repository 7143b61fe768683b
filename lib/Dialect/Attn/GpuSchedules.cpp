//===- GpuSchedules.cpp - choose schedules on a GPU -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSelectors.h"

#include "attnc/Dialect/Attn/GpuSharedMemory.h"
#include "attnc/Dialect/Attn/TensorCores.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Chooses the GPU schedules of one op.
class GpuSelector {
public:
  /// `maxBytes`: limit of shared memory per query block of a kernel without tensor cores.
  GpuSelector(AttentionOp op, int64_t maxBytes, GpuInfo gpu)
      : op(op), maxBytes(maxBytes - gpu.getUnusedSharedBytes()),
        headDim(op.getQuery().getType().getDimSize(3)),
        valueDim(op.getValue().getType().getDimSize(3)),
        qLen(op.getOffsets() ? ShapedType::kDynamic : op.getQuery().getType().getDimSize(2)),
        hasTensorCores(gpu.hasTensorCores() && findTensorCoreObstacle(op).empty()),
        hasWarpgroups(hasTensorCores && gpu.hasWarpgroups() && findWarpgroupObstacle(op).empty()) {}

  /// Null if no query block fits into shared memory.
  ArrayAttr select();

private:
  /// Query rows of a warp's tile on tensor cores.
  static constexpr int64_t kWarpRows = 16;

  GpuAttr fit(ArrayRef<int64_t> qBlocks, int64_t packedHeads, int64_t threadsX, int64_t threadsY,
              int64_t kvSplits, int64_t maxQLen = 0);
  Attribute prefill();
  int64_t countSplits(int64_t packedHeads, int64_t most);
  Attribute decode(int64_t rows, int64_t maxQLen);
  WgmmaAttr fitWarpgroups();
  int64_t sharedBytes(int64_t rows, int64_t kvBlock, int64_t threadsX, int64_t columns);

  AttentionOp op;
  /// `qLen` is dynamic for packed rows, whose sequences have other lengths.
  int64_t maxBytes, headDim, valueDim, qLen;
  bool hasTensorCores, hasWarpgroups;
};
} // namespace

/// Shared memory of a query block: the number of KV blocks, the query, each row's maximum and sum,
/// and, per KV block, the keys and each thread's maxima, later the numerators and the values.
/// Halide reuses memory by size: the numerators replace whichever of keys and maxima is closest in
/// size, the values the other.
int64_t GpuSelector::sharedBytes(int64_t rows, int64_t kvBlock, int64_t threadsX, int64_t columns) {
  int64_t keys = kvBlock * getRowDistance(headDim), maxima = rows * threadsX,
          numerators = rows * getNumeratorDistance(kvBlock), values = kvBlock * threadsX * columns;
  bool isInKeys = std::abs(keys - numerators) < std::abs(numerators - maxima);
  int64_t ofKvBlock = isInKeys ? std::max(keys, numerators) + std::max(maxima, values)
                               : std::max(maxima, numerators) + std::max(keys, values);
  return sizeof(float) * (kKvBlockCountElements + rows * (getRowDistance(headDim) + 2) + ofKvBlock);
}

/// The largest blocks (most work between barriers) that fit; null if none does. A thread's elements
/// are unrolled, limited by registers.
GpuAttr GpuSelector::fit(ArrayRef<int64_t> qBlocks, int64_t packedHeads, int64_t threadsX,
                         int64_t threadsY, int64_t kvSplits, int64_t maxQLen) {
  // Registers for a KV block's context, the context, the sum, the maximum and the scores; the rest
  // holds operands.
  constexpr int64_t kRegisters = 190;
  int64_t columns = 2 * llvm::divideCeil(valueDim, 2 * threadsX);
  int64_t bestRows = 0, bestKvBlock = 0;
  for (int64_t rows : qBlocks)
    for (int64_t keys : {8, 6, 4, 2, 1})
      if (int64_t kvBlock = keys * threadsX, rowsOfThread = rows / std::gcd(rows, threadsY);
          kvBlock <= 64 && rows * kvBlock > bestRows * bestKvBlock &&
          (rowsOfThread == 1 || rowsOfThread * (2 * columns + 2 + keys) <= kRegisters) &&
          sharedBytes(rows, kvBlock, threadsX, columns) <= maxBytes)
        std::tie(bestRows, bestKvBlock) = std::pair(rows, kvBlock);
  if (bestRows == 0)
    return {};
  return GpuAttr::get(op->getContext(), bestRows, packedHeads, bestKvBlock, kvSplits, threadsX,
                      std::gcd(bestRows, threadsY), columns, maxQLen);
}

/// Null if no query block fits. One for tensor cores has no more warps than rows need.
Attribute GpuSelector::prefill() {
  if (hasTensorCores) {
    constexpr int64_t kBlock = 64;
    bool isFew = !ShapedType::isDynamic(qLen) && qLen > 0 && qLen <= kBlock;
    if (hasWarpgroups && (!isFew || qLen == kBlock))
      return fitWarpgroups();
    if (!isFew)
      return fitMmaToManyRows(op, /*maxQLen=*/0);
    int64_t packed = largestDivisor(op.getGroupSize().value_or(1), kBlock / qLen);
    return fitMma(op, llvm::alignTo(qLen * packed, kWarpRows), kWarpRows, packed, /*kvSplits=*/1,
                  /*maxQLen=*/0);
  }
  return fit({64, 56, 48, 40, 32, 24, 16, 8}, 1, /*threadsX=*/8, /*threadsY=*/8, /*kvSplits=*/1);
}

/// Three warpgroups share keys where their registers hold the context of their rows beside a KV
/// block's scores, else two. The KV block leaves room for the next one's tiles in shared memory.
WgmmaAttr GpuSelector::fitWarpgroups() {
  constexpr int64_t kWarpgroupRows = 64;
  int64_t dims = std::max(headDim, valueDim), kvBlock = dims <= 128 ? 128 : dims <= 192 ? 112 : 80;
  int64_t qBlock = dims <= 64 ? 192 : 128;
  if (!ShapedType::isDynamic(qLen))
    qBlock = std::clamp<int64_t>(llvm::alignTo(qLen, kWarpgroupRows), kWarpgroupRows, qBlock);
  return WgmmaAttr::get(op->getContext(), qBlock, kvBlock, /*stages=*/2, /*max_q_len=*/0);
}

/// Few rows leave most of a GPU idle, so their keys are split: into as many parts as give memory
/// enough thread blocks to serve, but few enough for their merge to stay cheap. A batch whose size
/// is open is taken for one of a few sequences.
int64_t GpuSelector::countSplits(int64_t packedHeads, int64_t most) {
  constexpr int64_t kBlocks = 512, kFewest = 8, kOfOpenBatch = 16;
  auto query = op.getQuery().getType();
  if (!op.getProbMod().empty())
    return 1;
  if (query.isDynamicDim(0) || query.isDynamicDim(1) || op.getOffsets())
    return kOfOpenBatch;
  int64_t blocks = std::max<int64_t>(query.getDimSize(0) * query.getDimSize(1) / packedHeads, 1);
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(llvm::divideCeil(kBlocks, blocks)), kFewest, most);
}

/// Null if no query block fits.
Attribute GpuSelector::decode(int64_t rows, int64_t maxQLen) {
  if (!hasTensorCores) {
    int64_t shared = getPackedHeads(op), splits = countSplits(shared, /*most=*/32);
    return fit({rows * shared}, shared, /*threadsX=*/32, /*threadsY=*/8, splits, maxQLen);
  }
  int64_t packed = largestDivisor(op.getGroupSize().value_or(1), kWarpRows / rows);
  return fitMma(op, kWarpRows, kWarpRows, packed, countSplits(packed, /*most=*/64), maxQLen);
}

ArrayAttr GpuSelector::select() {
  constexpr int64_t kFewRows = 4;
  bool isOpen = ShapedType::isDynamic(qLen), isFew = !isOpen && qLen > 0 && qLen <= kFewRows;
  Attribute many = prefill(), few;
  if (isOpen || isFew)
    few = decode(isFew ? qLen : 1, /*maxQLen=*/isOpen ? 1 : 0);
  SmallVector<Attribute> schedules;
  if (few)
    schedules.push_back(few);
  if (many && !(isFew && few))
    schedules.push_back(many);
  bool isServed =
      !schedules.empty() && cast<ScheduleAttrInterface>(schedules.back()).getMaxQLen() == 0;
  return isServed ? ArrayAttr::get(op->getContext(), schedules) : ArrayAttr();
}

/// Prefers query blocks that leave shared memory for a second thread block per multiprocessor;
/// else one may take all.
ArrayAttr attn::selectGpuSchedules(AttentionOp op, GpuInfo gpu) {
  ArrayAttr schedules = GpuSelector(op, gpu.getSharedBytesForTwoBlocks(), gpu).select();
  return schedules ? schedules : GpuSelector(op, GpuInfo::kSharedBytes, gpu).select();
}

/// Tiles of many rows take most products between two barriers, those of few rows most copies ahead
/// of them, as weights are then read once. Null without tensor cores.
ArrayAttr attn::selectGpuSchedules(LinearOp op, GpuInfo gpu) {
  if (!gpu.hasTensorCores() || !findTensorCoreObstacle(op).empty())
    return {};
  constexpr int64_t kFewRows = 16;
  auto outer = cast<RankedTensorType>(op.getInput().getType()).getShape().drop_back();
  bool isOpen = llvm::any_of(outer, ShapedType::isDynamic);
  uint64_t rows = 1;
  for (int64_t size : outer)
    rows = llvm::SaturatingMultiply<uint64_t>(rows, size);
  MLIRContext *context = op->getContext();
  auto few = MmaLinearAttr::get(context, kFewRows, /*feature_block=*/64, /*depth=*/64,
                                /*stages=*/4, isOpen ? kFewRows : 0);
  auto many = MmaLinearAttr::get(context, /*row_block=*/128, /*feature_block=*/128, /*depth=*/32,
                                 /*stages=*/3, /*max_rows=*/0);
  if (isOpen)
    return ArrayAttr::get(context, {few, many});
  return ArrayAttr::get(context, {rows <= kFewRows ? few : many});
}
