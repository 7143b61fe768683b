//===- CpuPrefill.cpp - choose schedules of prefill on a CPU --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuPrefill.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::attn;

/// The width of a narrow window, in which many of a query block's keys are visible to
/// some of its rows only: smaller blocks waste less.
static std::optional<int64_t> findNarrowWindow(MaskAnalysis &mask) {
  constexpr int64_t kNarrowWindow = 512;
  std::optional<int64_t> width = mask.getWidth();
  return width && *width > 0 && *width <= kNarrowWindow ? width : std::nullopt;
}

/// Whether keys and values, which every query block rereads, exceed the cache, and most rows see
/// most of them.
static bool exceedsCache(AttentionOp op, MaskAnalysis &mask) {
  constexpr int64_t kCacheBytes = 12 << 20;
  auto key = op.getKey().getType(), value = op.getValue().getType();
  int64_t kvLen = op.getKvLen().getStatic();
  if (ShapedType::isDynamic(kvLen))
    return false;
  int64_t bytes = kvLen *
                  (key.getDimSize(3) * key.getElementTypeBitWidth() +
                   value.getDimSize(3) * value.getElementTypeBitWidth()) /
                  8;
  bool boundsOneSide =
      op.getMask().empty() ||
      (!mask.getWidth() && llvm::all_of(op.getMask().getOps(), [](Operation &each) {
        return isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::CmpIOp, YieldOp>(each);
      }));
  return bytes > kCacheBytes && boundsOneSide;
}

CpuPrefill::CpuPrefill(AttentionOp op, const CpuInfo &cpu)
    : CpuFacts(op, cpu), width(findNarrowWindow(mask)), isNarrow(width || hasTwoRanges()) {
  if (SmallVector<Value> terms = mask.getOpenTerms(); !terms.empty()) {
    rowPeriod = mask.getRowPeriod(terms);
    keyPeriod = mask.getKeyPeriod(terms);
  }
  bool hasBlocks = rowPeriod != 0 && rowPeriod % kNarrowBlock == 0;
  isNarrow |= isSearched() && products == Products::f32 && !hasBlocks;
}

/// Rescaling has a fixed cost per KV block, but the scores of a large KV block exceed the L1 cache.
/// Beside masks other than a window and blocks, KV blocks of 96 keys measured as fast as those of
/// 128, or up to 1 % faster; beside query blocks of one row group, those of 80. Of pages that are
/// prefetched into L1, keys and values of a KV block fit in it: 48 keys of 64 dims. Targets with
/// short vectors may have a small stack: 64 KB on wasm. Tiles multiply so fast that rescaling, and
/// packing values, take more than the scores' way through the L2 cache.
CpuPrefill::KvBlockSizes CpuPrefill::kvBlockSizes(int64_t qBlock) {
  constexpr int64_t kLongDim = 128;
  bool isMasked = !op.getMask().empty();
  if (isInTiles()) {
    constexpr int64_t kTile = 32, kMostScores = 65536;
    int64_t most = kMostScores / qBlock / kTile * kTile;
    return {kTile, 256, 256, std::min<int64_t>(isMasked ? 256 : 512, most)};
  }
  if (lacksFMA || qBlock > 48)
    return {16, 96, 64, 64};
  if (readsPageRuns())
    return {16, 96, 64, std::clamp<int64_t>(llvm::alignDown(kL1Elements / headDim, 16), 16, 48)};
  if (usesOneRowGroup())
    return {16, 96, 64, headDim < kLongDim ? 80 : 96};
  return {16, 96, 128, (!isMasked && has32VectorRegs) || isSearched() ? 128 : 96};
}

/// If a query block sees few keys, one KV block covers all, and nothing is rescaled. Otherwise
/// those of a window, or of the blocks of a mask, divide it evenly.
int64_t CpuPrefill::kvBlock(int64_t qBlock) {
  constexpr int64_t kPeriodUnit = 32;
  auto [unit, ofWindow, ofBlocks, otherwise] = kvBlockSizes(qBlock);
  if (isOneKvBlock(qBlock))
    return llvm::alignTo(std::max<int64_t>(*getMaxKeys(op, mask, qBlock), 1), unit);
  if (width) {
    int64_t keys = *width + qBlock - 1;
    return llvm::alignTo(llvm::divideCeil(keys, llvm::divideCeil(keys, ofWindow)), unit);
  }
  if (keyPeriod % kPeriodUnit == 0 && keyPeriod != 0)
    return kPeriodUnit * largestDivisor(keyPeriod / kPeriodUnit, ofBlocks / kPeriodUnit);
  return otherwise;
}

bool CpuPrefill::isOneKvBlock(int64_t qBlock) {
  constexpr int64_t kMaxKeys = 384;
  std::optional<int64_t> keys = getMaxKeys(op, mask, qBlock);
  return keys && *keys <= kMaxKeys && !lacksFMA;
}

/// Register tiles of scores and of context take three quarters of the registers each, at different
/// times; without FMA, scores take half, as products need registers. If one KV block covers many
/// keys or a window, each group of rows rereads its values from L2: fewer vectors make for fewer
/// groups.
Attribute CpuPrefill::select(int64_t qBlock, int64_t maxQLen, int64_t packedHeads) {
  constexpr int64_t kL1Keys = 128;
  int64_t vectors = largestDivisor(qBlock / lanes, isInTiles() ? 2 : lacksFMA ? 4 : 3);
  int64_t scoreKeys = has32VectorRegs ? 8 : lacksFMA ? 2 : 4;
  if (has32VectorRegs && vectors == 1 && packedHeads != 1)
    scoreKeys = 16;
  int64_t contextVectors =
      has32VectorRegs ? (valueVectors <= 6 ? valueVectors : 4) : std::min<int64_t>(valueVectors, 2);
  if (has32VectorRegs && isOneKvBlock(qBlock) && (width || kvBlock(qBlock) > kL1Keys))
    contextVectors = std::min<int64_t>(valueVectors, 2);
  int64_t contextRows =
      largestDivisor(qBlock, std::min<int64_t>((has32VectorRegs ? 24 : 12) / contextVectors, 12));
  if (isInTiles() && !isOneKvBlock(qBlock)) {
    contextVectors = std::min<int64_t>(valueVectors, 8);
    contextRows = largestDivisor(qBlock, 4);
  }
  return PrefillAttr::get(op->getContext(), qBlock, kvBlock(qBlock), lanes, vectors, scoreKeys,
                          contextRows, contextVectors, products, fetchAhead(qBlock),
                          readsPageRuns() ? 3 : 2, copiesKvBlocks() ? 1 : 0, packedHeads,
                          packedHeads == 1 ? 1 : kvSplits(packedHeads),
                          /*min_split_keys=*/1024, maxQLen);
}

/// CPUs by themselves prefetch from L3 and memory more slowly than many rows multiply. For short
/// keys in pairs, and for the few keys of one KV block or of a search, which stay in L2, prefetches
/// cost more than they save. Fewer of long keys fit in L2 until they are read.
int64_t CpuPrefill::fetchAhead(int64_t qBlock) {
  constexpr int64_t kShort = 128, kLong = 512;
  int64_t keysAhead = headDim >= kLong ? 32 : 64;
  bool areShortPairs = products == Products::bf16_pairs && headDim < kShort,
       mayNeedSearch = !op.getMask().empty() && !mask.isComplete();
  bool areSlowPages = op.getPages() && !cpu.prefetchesPages && !copiesKvBlocks();
  return isInTiles() || areShortPairs || mayNeedSearch || areSlowPages || isOneKvBlock(qBlock)
             ? 0
             : keysAhead;
}

int64_t CpuPrefill::headsInVectors(int64_t limit) {
  int64_t vectors = op.getGroupSize().value_or(1) / lanes;
  return op.getGroupSize().value_or(1) % lanes == 0 ? lanes * largestDivisor(vectors, limit / lanes)
                                                    : 0;
}

/// One row of many heads is a query block; of several rows, two or more of fewer heads are, so that
/// little of the last block is padding.
Attribute CpuPrefill::selectManyHeads(int64_t rowsOfHead, int64_t maxQLen) {
  constexpr int64_t kRows = 32, kHeads = 16;
  int64_t heads = headsInVectors(rowsOfHead == 1 ? kMostPackedHeads : kHeads);
  return select(rowsOfHead == 1 ? heads : kRows, maxQLen, heads);
}

bool CpuPrefill::hasPageRuns() {
  constexpr int64_t kRun = 8;
  int64_t pageSize = op.getPages() ? op.getKey().getType().getDimSize(2) : ShapedType::kDynamic;
  bool startsAtFirst =
      op.getMask().empty() ||
      (mask.isComplete() && !mask.getCondition().hasLowestKey() && !hasTwoRanges());
  return !ShapedType::isDynamic(pageSize) && pageSize % kRun == 0 && startsAtFirst;
}

/// Register tiles of 4 keys do not hide the look-up of each. Rows of a head that lie 2 KB apart
/// share few sets of an L1 cache: with AVX2 copies of many take 0.78 to 1.0 of the time for many
/// query rows; of rows 1 KB apart, 0.97 to 1.05. On CPUs that prefer copies, rows of one of 4 to 12
/// heads take 0.83 to 0.93 beside query blocks of two row groups, those of one of 2 heads 1.0
/// to 1.2.
bool CpuPrefill::copiesKvBlocks() {
  constexpr int64_t kManyRows = 192, kManyKeys = 512, kFarApart = 2048, kManyHeads = 4;
  if (!readsF32() || (has32VectorRegs && !cpu.prefersCopies))
    return false;
  bool areApart = (hasAVX2() || cpu.prefersCopies) && !areHeadsApart();
  if (op.getPages())
    return areApart || (!has32VectorRegs && (lacksFMA || !hasPageRuns()));
  auto areMany = [](int64_t size, int64_t least) {
    return ShapedType::isDynamic(size) || size >= least;
  };
  int64_t heads = op.getKey().getType().getDimSize(1), bytesApart = heads * headDim * sizeof(float);
  bool shareFewSets = has32VectorRegs ? heads >= kManyHeads : bytesApart >= kFarApart;
  return areApart && !ShapedType::isDynamic(heads) && shareFewSets && !isNarrow &&
         areMany(op.getQuery().getType().getDimSize(2), kManyRows) &&
         areMany(op.getKvLen().getStatic(), kManyKeys);
}

/// Of 16 registers, the rows of a score tile fill 24 lanes. With AVX2 a query block of one such
/// group takes 0.9 to 0.98 of the time of two, in a window 0.85: its queries and scores leave L1 to
/// keys and values. Where these are copied, each copy should serve more rows.
bool CpuPrefill::usesOneRowGroup() { return hasAVX2() && readsF32() && !copiesKvBlocks(); }

/// Rows of a large query block. For tiles, each query block packs the keys and values that it
/// reads: the more rows the better. Beside a mask more rows waste more, and a search that finds
/// documents skips fewer keys.
int64_t CpuPrefill::rowsOfBlock() {
  constexpr int64_t kLongDim = 128;
  bool isMasked = !op.getMask().empty();
  if (isInTiles())
    return isSearched() ? 64 : isMasked || headDim < kLongDim ? 128 : 256;
  if (has32VectorRegs && copiesKvBlocks())
    return 2 * kRowGroup;
  return usesOneRowGroup() ? 3 * lanes : kRowGroup;
}

/// The query block with the least cost: padding rows are wasted, and a row of a small block costs
/// more.
int64_t CpuPrefill::bestQBlock(int64_t rows) {
  using Costs = SmallVector<std::pair<int64_t, double>>;
  int64_t most = rowsOfBlock();
  bool sharesCopies = has32VectorRegs && copiesKvBlocks();
  Costs costOfRow = isInTiles()    ? Costs{{most, 1}, {128, 1.02}, {64, 1.05}, {32, 1.1}, {16, 1.3}}
                    : sharesCopies ? Costs{{most, 1}, {kRowGroup, 1.12}, {32, 1.3}, {16, 1.6}}
                                   : Costs{{most, 1}, {32, 1.05}, {16, 1.3}};
  auto cost = [&](std::pair<int64_t, double> block) {
    return llvm::divideCeil(rows, block.first) * block.first * block.second;
  };
  return llvm::min_element(costOfRow, [&](auto a, auto b) { return cost(a) < cost(b); })->first;
}

/// A query block that lies within one of the mask's blocks, if there are any.
int64_t CpuPrefill::fitPeriod(int64_t qBlock) {
  constexpr int64_t kSmallBlock = 16;
  if (rowPeriod % 32 != 0 || rowPeriod == 0 || qBlock <= kSmallBlock)
    return qBlock;
  return has32VectorRegs && rowPeriod % 64 == 0 && qBlock > 32 ? 64 : 32;
}

int64_t CpuPrefill::chooseQBlock(int64_t rows) {
  constexpr int64_t kStreamingBlock = 192;
  bool isStreaming = has32VectorRegs && rows >= kStreamingBlock && exceedsCache(op, mask);
  return limitQBlock(isStreaming ? kStreamingBlock : fitPeriod(bestQBlock(rows)));
}
