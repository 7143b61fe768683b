//===- SelectSchedule.cpp - choose schedule parameters --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/GpuSharedMemory.h"
#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/ProbRegion.h"
#include "attnc/Dialect/Attn/TensorCores.h"
#include "attnc/Machine/CpuInfo.h"
#include "attnc/Machine/GpuInfo.h"
#include "attnc/Machine/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSELECTSCHEDULE
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

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

/// Tiles take many times the products of vdpbf16ps. Their schedules have vectors of AVX-512.
static Products selectProducts(AttentionOp op, const CpuInfo &cpu) {
  auto query = op.getQuery().getType();
  int64_t headDim = query.getDimSize(3);
  if (!query.getElementType().isBF16() || op.isWidened() || headDim % 2 != 0)
    return Products::f32;
  if (cpu.hasTiles && cpu.vectorBytes == 64 && headDim > 2)
    return Products::bf16_tiles;
  return cpu.prefersBF16Pairs ? Products::bf16_pairs : Products::f32;
}

namespace {
/// Prefetches of keys and values, as in `#attn.decode`.
struct Fetches {
  int64_t keys, count, locality = 2;
};

/// Chooses the CPU schedules of one op.
class CpuSelector {
public:
  CpuSelector(AttentionOp op, const CpuInfo &cpu)
      : op(op), cpu(cpu), mask(op.getMask()), lanes(cpu.lanes(32)),
        has32VectorRegs(cpu.vectorRegisters >= 32),
        lacksFMA(!has32VectorRegs && cpu.vectorBytes == 16),
        headDim(op.getQuery().getType().getDimSize(3)),
        valueVectors(llvm::divideCeil(op.getValue().getType().getDimSize(3), lanes)),
        products(selectProducts(op, cpu)), width(findNarrowWindow(mask)),
        isNarrow(width || hasTwoRanges()) {
    if (SmallVector<Value> terms = mask.getOpenTerms(); !terms.empty()) {
      rowPeriod = mask.getRowPeriod(terms);
      keyPeriod = mask.getKeyPeriod(terms);
    }
    bool hasBlocks = rowPeriod != 0 && rowPeriod % kNarrowBlock == 0;
    isNarrow |= isSearched() && products == Products::f32 && !hasBlocks;
  }

  ArrayAttr select();

private:
  /// The query block of a narrow window.
  static constexpr int64_t kNarrowBlock = 32;
  /// The most rows of a query block.
  int64_t limitQBlock(int64_t qBlock) { return isNarrow ? std::min(qBlock, kNarrowBlock) : qBlock; }
  static constexpr int64_t kMostPackedHeads = 64;
  /// From so many rows on, products of a decode kernel take time beside reading keys and values,
  /// and from many rows on, as long as reading narrow ones.
  static constexpr int64_t kSomeRows = 4, kManyRows = 8;

  bool hasTwoRanges() { return mask.isComplete() && mask.getCondition().hasTwoRanges(); }
  /// Whether the visible keys are found by evaluating the mask, such as one of document ids.
  bool isSearched() { return has32VectorRegs && !op.getMask().empty() && !mask.isComplete(); }

  SmallVector<Attribute> selectForCalls();
  Attribute prefill(int64_t qBlock, int64_t maxQLen = 0, int64_t packedHeads = 1);
  /// The most query heads that share keys and fill whole vectors of rows, at most `limit`; or 0.
  int64_t headsInVectors(int64_t limit);
  /// Whether the heads that share keys are so many that few rows of them take as long as their
  /// products do.
  bool packsManyHeads() { return headsInVectors(kMostPackedHeads) >= 16; }
  Attribute manyHeads(int64_t rowsOfHead, int64_t maxQLen = 0);
  int64_t kvBlock(int64_t qBlock);
  int64_t tileKvBlock(int64_t qBlock);
  int64_t prefillFetchAhead(int64_t qBlock);
  /// Whether one KV block covers all keys that a query block sees.
  bool isOneKvBlock(int64_t qBlock);
  Attribute decode(int64_t rowsOfHead, int64_t maxQLen = 0);
  /// Whether prefetches of a decode kernel fill the L1 cache.
  bool readsIntoL1(int64_t rows);
  Fetches fetches(int64_t rows, int64_t kvBlock);
  int64_t interleavedHeads(int64_t rows);
  int64_t kvSplits(int64_t packedHeads);
  bool isInTiles() const { return products == Products::bf16_tiles; }
  /// Rows of a large query block. For tiles, each query block packs the keys and values that it
  /// reads; beside a mask, fewer rows waste less.
  int64_t rowsOfBlock() { return !isInTiles() ? 48 : op.getMask().empty() ? 96 : 64; }
  int64_t bestQBlock(int64_t rows);
  int64_t fitPeriod(int64_t qBlock);

  AttentionOp op;
  const CpuInfo &cpu;
  MaskAnalysis mask;
  int64_t lanes;
  /// 32 vector registers instead of 16.
  bool has32VectorRegs;
  /// Without FMA, a product takes an instruction and a register of its own.
  bool lacksFMA;
  int64_t headDim, valueVectors;
  Products products;
  /// The width of a narrow window, if there is one.
  std::optional<int64_t> width;
  /// Whether rows see a narrow window, or two ranges of keys, as attention sinks and a window, or
  /// keys that a search finds: a query block across two documents visits the keys of both.
  bool isNarrow;
  /// The rows and keys of the blocks that a mask tells apart, as by a table of blocks; 0 or 1 if it
  /// does not.
  int64_t rowPeriod = 0, keyPeriod = 0;
};
} // namespace

static int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::max<int64_t>(std::min(n, limit), 1);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Number of query heads packed in one query block, so that keys and values are read once for all
/// of them.
static int64_t getPackedHeads(AttentionOp op) {
  return largestDivisor(op.getGroupSize().value_or(1), 8);
}

/// If a query block sees few keys, one KV block covers all, and nothing is rescaled. Otherwise
/// rescaling has a fixed cost per KV block, but the scores of a large KV block exceed the L1 cache;
/// those of a window, or of the blocks of a mask, divide it evenly. Beside other masks, KV blocks
/// of 96 keys measured as fast as those of 128, or up to 1 % faster. Targets with short vectors may
/// have a small stack: 64 KB on wasm.
int64_t CpuSelector::kvBlock(int64_t qBlock) {
  if (isInTiles())
    return tileKvBlock(qBlock);
  constexpr int64_t kSmall = 64, kMasked = 96, kLarge = 128;
  if (isOneKvBlock(qBlock))
    return llvm::alignTo(std::max<int64_t>(*getMaxKeys(op, mask, qBlock), 1), 16);
  bool isSmall = lacksFMA || qBlock > 48;
  if (!width && keyPeriod % 32 == 0 && keyPeriod != 0)
    return 32 * largestDivisor(keyPeriod / 32, (isSmall ? kSmall : kLarge) / 32);
  if (!width && isSmall)
    return kSmall;
  if (!width)
    return (op.getMask().empty() && has32VectorRegs) || isSearched() ? kLarge : kMasked;
  int64_t keys = *width + qBlock - 1;
  return llvm::alignTo(llvm::divideCeil(keys, llvm::divideCeil(keys, kMasked)), 16);
}

/// Tiles multiply so fast that rescaling, and packing values, take more than the scores' way
/// through the L2 cache.
int64_t CpuSelector::tileKvBlock(int64_t qBlock) {
  constexpr int64_t kTile = 32, kMasked = 256, kLarge = 512, kMostScores = 49152;
  if (isOneKvBlock(qBlock))
    return llvm::alignTo(std::max<int64_t>(*getMaxKeys(op, mask, qBlock), 1), kTile);
  if (!width && keyPeriod % kTile == 0 && keyPeriod != 0)
    return kTile * largestDivisor(keyPeriod / kTile, kMasked / kTile);
  if (!width)
    return std::min(op.getMask().empty() ? kLarge : kMasked, kMostScores / qBlock / kTile * kTile);
  int64_t keys = *width + qBlock - 1;
  return llvm::alignTo(llvm::divideCeil(keys, llvm::divideCeil(keys, kMasked)), kTile);
}

bool CpuSelector::isOneKvBlock(int64_t qBlock) {
  constexpr int64_t kMaxKeys = 384;
  std::optional<int64_t> keys = getMaxKeys(op, mask, qBlock);
  return keys && *keys <= kMaxKeys && !lacksFMA;
}

/// Register tiles of scores and of context take three quarters of the registers each, at different
/// times; without FMA, scores take half, as products need registers. If one KV block covers many
/// keys or a window, each group of rows rereads its values from L2: fewer vectors make for fewer
/// groups.
Attribute CpuSelector::prefill(int64_t qBlock, int64_t maxQLen, int64_t packedHeads) {
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
                          contextRows, contextVectors, products, prefillFetchAhead(qBlock),
                          packedHeads, packedHeads == 1 ? 1 : kvSplits(packedHeads),
                          /*min_split_keys=*/1024, maxQLen);
}

/// CPUs by themselves prefetch from L3 and memory more slowly than many rows multiply. For short
/// keys in pairs, and for the few keys of one KV block or of a search, which stay in L2, prefetches
/// cost more than they save. Fewer of long keys fit in L2 until they are read.
int64_t CpuSelector::prefillFetchAhead(int64_t qBlock) {
  constexpr int64_t kShort = 128, kLong = 512;
  int64_t keysAhead = headDim >= kLong ? 32 : 64;
  bool areShortPairs = products == Products::bf16_pairs && headDim < kShort,
       mayNeedSearch = !op.getMask().empty() && !mask.isComplete();
  return isInTiles() || areShortPairs || mayNeedSearch || isOneKvBlock(qBlock) ? 0 : keysAhead;
}

int64_t CpuSelector::headsInVectors(int64_t limit) {
  int64_t vectors = op.getGroupSize().value_or(1) / lanes;
  return op.getGroupSize().value_or(1) % lanes == 0 ? lanes * largestDivisor(vectors, limit / lanes)
                                                    : 0;
}

/// One row of many heads is a query block; of several rows, two or more of fewer heads are, so that
/// little of the last block is padding.
Attribute CpuSelector::manyHeads(int64_t rowsOfHead, int64_t maxQLen) {
  constexpr int64_t kRows = 32, kHeads = 16;
  int64_t heads = headsInVectors(rowsOfHead == 1 ? kMostPackedHeads : kHeads);
  return prefill(rowsOfHead == 1 ? heads : kRows, maxQLen, heads);
}

/// Few rows take as long as reading keys and values does, which is fastest in order: one key after
/// the other, or two that share what several rows load, and as much of a value's row at a time as
/// half of the registers can sum up. Many rows of narrow elements take as long as their products
/// do, which share what they load and widen; so do some rows of 8 bits, and of 16 on CPUs that read
/// as fast out of order. Some rows of pairs share the values that they pair.
Attribute CpuSelector::decode(int64_t rowsOfHead, int64_t maxQLen) {
  constexpr int64_t kL1Bits = 512; // of one dim of all keys: 8 KB for 128 dims
  int64_t keyBits = op.getKey().getType().getElementTypeBitWidth();
  int64_t shared = getPackedHeads(op), rows = rowsOfHead * shared, sums = has32VectorRegs ? 16 : 8;
  bool inPairs =
      products == Products::bf16_pairs && headDim % (2 * lanes) == 0 && rows >= kSomeRows;
  bool areF32 = op.getKey().getType().getElementType().isF32();
  bool isProductBound = keyBits == 8 || (keyBits == 16 && !inPairs && !cpu.prefersOrder);
  bool areMany = rows >= (isProductBound ? kSomeRows : kManyRows) && !areF32;
  int64_t scoreRows = largestDivisor(rows, 4);
  int64_t keysOfQuery = scoreRows == 4 && !(areF32 && cpu.prefersOrder) ? 2 : 1;
  int64_t scoreKeys = areMany ? sums / scoreRows : keysOfQuery;
  int64_t contextVectors = largestDivisor(valueVectors, areMany || inPairs ? sums / 4 : 8);
  int64_t contextRows = largestDivisor(rows, sums / contextVectors);
  int64_t kvBlock = areMany && isProductBound ? 128 : readsIntoL1(rows) ? kL1Bits / keyBits : 64;
  Fetches ahead = fetches(rows, kvBlock);
  int64_t interleaved = interleavedHeads(rows), minSplitKeys = interleaved == 1 ? 1024 : 512;
  return DecodeAttr::get(
      op->getContext(), rows, shared, kvBlock, lanes, scoreRows, scoreKeys, contextRows,
      contextVectors, inPairs ? Products::bf16_pairs : Products::f32, ahead.keys, ahead.count,
      ahead.locality, interleaved, kvSplits(shared * interleaved), minSplitKeys, maxQLen);
}

/// Whether other rows lie between two keys or values in memory, as far as is known: in pages, and
/// in views of tensors with keys before heads.
static bool areRowsApart(AttentionOp op) {
  auto isView = [](Value tensor) {
    auto transpose = tensor.getDefiningOp<TransposeOp>();
    return tensor.getDefiningOp<SplitHeadsOp>() || (transpose && transpose.keepsRows());
  };
  return op.getPages() || isView(op.getKey()) || isView(op.getValue());
}

/// Whether the heads of a key lie side by side in memory, as in pages and caches with keys before
/// heads.
static bool areHeadsInKeys(Value tensor) {
  auto transpose = tensor.getDefiningOp<TransposeOp>();
  if (!transpose || !transpose.keepsRows())
    return tensor.getDefiningOp<SplitHeadsOp>();
  ArrayRef<int64_t> order = transpose.getPermutation();
  return order[1] > order[2];
}

/// Heads side by side are read in turns, so that memory is read in order; the sums of all of them
/// stay in the caches. A head that a mask tells apart has a range of keys of its own, which would
/// be looked up for each.
int64_t CpuSelector::interleavedHeads(int64_t rows) {
  constexpr int64_t kMostBytes = 64 << 10;
  int64_t heads = op.getQuery().getType().getDimSize(1);
  if (ShapedType::isDynamic(heads) || mask.dependsOnHead() || !areHeadsInKeys(op.getKey()) ||
      !areHeadsInKeys(op.getValue()))
    return 1;
  int64_t bytes = rows * std::max(headDim, valueVectors * lanes) * sizeof(float);
  return largestDivisor(heads / getPackedHeads(op), kMostBytes / bytes);
}

/// On Zen 5, 32 heads of 128 dims over 8 read f32 in 0.88 of the time that prefetches into L2 take,
/// f16 and bf16 in 0.92 to 0.97; 16 bits with one or two rows take 1.05. Rows that lie heads apart
/// share few sets of an L1 cache, and 8 bits, or 16 for many rows, wait for their products.
bool CpuSelector::readsIntoL1(int64_t rows) {
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  bool arePairs = products == Products::bf16_pairs,
       isFasterIn16Bits = rows >= kSomeRows && (rows < kManyRows || arePairs);
  return cpu.prefersOrder && (bits > 16 || (bits == 16 && isFasterIn16Bits)) &&
         !areHeadsInKeys(op.getKey()) && !areHeadsInKeys(op.getValue());
}

/// How far ahead rows are prefetched, how often, and into which cache. Most CPUs by themselves
/// prefetch rows side by side, but not far enough ahead of the products of several query rows,
/// which leave time for a core to drop prefetches. Elements of 8 bits arrive faster than they are
/// multiplied, and so do those of 16 bits for several rows: one prefetch is enough, but for views
/// whose elements are widened. What fills the L1 cache is one KV block ahead, in pages, which CPUs
/// don't follow, one and a half.
Fetches CpuSelector::fetches(int64_t rows, int64_t kvBlock) {
  constexpr int64_t kKeysAhead = 64; // 32 KB of 128 floats
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  bool areSome = rows >= kSomeRows, areApart = areRowsApart(op);
  if (readsIntoL1(rows))
    return {op.getPages() ? kvBlock + kvBlock / 2 : kvBlock, areSome ? 2 : 1, /*locality=*/3};
  bool inViews = areApart && !op.getPages();
  bool areShort = bits == 16 && has32VectorRegs && !cpu.prefersOrder &&
                  (!inViews || products == Products::bf16_pairs);
  bool isOnce = bits == 8 || (areSome && areShort);
  int64_t ahead = std::max(isOnce && areSome && areApart ? 2 * kKeysAhead : kKeysAhead, kvBlock);
  if (areSome || areApart)
    return {ahead, isOnce ? 1 : 3};
  return {cpu.prefersOrder ? ahead : 0, 1};
}

/// Number of KV splits: enough tasks for all cores of a large machine. A window has few keys, keys
/// between two ranges are skipped where they are not split, and a prob region may need all probs of
/// a row: no splits.
int64_t CpuSelector::kvSplits(int64_t packedHeads) {
  constexpr int64_t kTasks = 32;
  auto query = op.getQuery().getType();
  if (mask.getWidth() || hasTwoRanges() || !op.getProbMod().empty())
    return 1;
  int64_t tasks = query.isDynamicDim(1) ? 1 : query.getDimSize(1) / packedHeads;
  if (!query.isDynamicDim(0))
    tasks *= query.getDimSize(0);
  return llvm::divideCeil(kTasks, std::clamp<int64_t>(tasks, 1, kTasks));
}

/// The query block with the least cost: padding rows are wasted, and a row of a small block costs
/// more.
int64_t CpuSelector::bestQBlock(int64_t rows) {
  SmallVector<std::pair<int64_t, double>> costOfRow = {{rowsOfBlock(), 1.0}, {32, 1.05}, {16, 1.3}};
  if (isInTiles())
    costOfRow.push_back({64, 1.03});
  auto cost = [&](std::pair<int64_t, double> block) {
    return llvm::divideCeil(rows, block.first) * block.first * block.second;
  };
  return llvm::min_element(costOfRow, [&](auto a, auto b) { return cost(a) < cost(b); })->first;
}

/// A query block that lies within one of the mask's blocks, if there are any.
int64_t CpuSelector::fitPeriod(int64_t qBlock) {
  if (rowPeriod % 32 != 0 || rowPeriod == 0 || qBlock < 32)
    return qBlock;
  return has32VectorRegs && rowPeriod % 64 == 0 && qBlock > 32 ? 64 : 32;
}

/// The number of query rows that all calls are expected to have.
static std::optional<int64_t> getExpectedQLen(AttentionOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto rows = function ? function->getAttrOfType<IntegerAttr>(kQLenAttr) : IntegerAttr();
  return rows ? std::optional(rows.getValue().getSExtValue()) : std::nullopt;
}

/// For a dynamic q_len, a call selects the kernel by its own. With more than a few rows, rows fill
/// the lanes.
SmallVector<Attribute> CpuSelector::selectForCalls() {
  std::optional<int64_t> expected = getExpectedQLen(op);
  SmallVector<Attribute> schedules;
  auto add = [&](int64_t maxQLen, function_ref<Attribute(int64_t)> select) {
    if (!expected)
      schedules.push_back(select(maxQLen));
    else if (schedules.empty() && (maxQLen == 0 || *expected <= maxQLen))
      schedules.push_back(select(/*maxQLen=*/0));
  };
  if (packsManyHeads())
    add(1, [&](int64_t maxQLen) { return manyHeads(1, maxQLen); });
  else if (headDim % lanes == 0)
    add(1, [&](int64_t maxQLen) { return decode(1, maxQLen); });
  add(16, [&](int64_t maxQLen) {
    return packsManyHeads() ? manyHeads(2, maxQLen) : prefill(16, maxQLen);
  });
  if (!isNarrow)
    add(128, [&](int64_t maxQLen) { return prefill(32, maxQLen); });
  add(0, [&](int64_t maxQLen) { return prefill(limitQBlock(fitPeriod(rowsOfBlock())), maxQLen); });
  return schedules;
}

/// A static q_len has one kernel; that of packed sequences is known in a call.
ArrayAttr CpuSelector::select() {
  constexpr int64_t kFewRows = 4, kStreamingBlock = 192;
  int64_t rows = op.getQuery().getType().getDimSize(2);
  if (ShapedType::isDynamic(rows) || op.getOffsets())
    return ArrayAttr::get(op->getContext(), selectForCalls());
  if (packsManyHeads() && rows > 0 && rows <= kFewRows)
    return ArrayAttr::get(op->getContext(), {manyHeads(rows)});
  bool isDecode =
      headDim % lanes == 0 && rows > 0 && rows <= kFewRows && rows * getPackedHeads(op) <= 16;
  int64_t qBlock = fitPeriod(bestQBlock(rows));
  if (has32VectorRegs && rows >= kStreamingBlock && exceedsCache(op, mask))
    qBlock = kStreamingBlock;
  return ArrayAttr::get(op->getContext(), {isDecode ? decode(rows) : prefill(limitQBlock(qBlock))});
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

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
static ArrayAttr selectOnGpu(AttentionOp op, GpuInfo gpu) {
  ArrayAttr schedules = GpuSelector(op, gpu.getSharedBytesForTwoBlocks(), gpu).select();
  return schedules ? schedules : GpuSelector(op, GpuInfo::kSharedBytes, gpu).select();
}

/// Tiles of many rows take most products between two barriers, those of few rows most copies ahead
/// of them, as weights are then read once. Null without tensor cores.
static ArrayAttr selectOnGpu(LinearOp op, GpuInfo gpu) {
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

//===----------------------------------------------------------------------===//
// Any target
//===----------------------------------------------------------------------===//

StringRef attn::findObstacle(AttentionOp op) {
  auto query = op.getQuery().getType(), value = op.getValue().getType();
  Type element = query.getElementType();
  if (element.isF64())
    return "elements are f64";
  if (query.isDynamicDim(3) || value.isDynamicDim(3))
    return "head_dim or value_dim is open";
  // The fused kernel modifies probs before normalising a row.
  if (!op.getProbMod().empty() && !ProbRegion(op.getProbMod()).isLinear())
    return "the prob region is not linear in the prob";
  return "";
}

StringRef attn::getReasonForNoKernel(AttentionOp op, StringRef target) {
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return obstacle;
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (!gpu || selectOnGpu(op, *gpu))
    return "";
  return "no query block fits into the 48 KB of a GPU's shared memory";
}

LogicalResult attn::verifyTarget(MLIRContext *context, StringRef target) {
  if (Target(target).isComplete())
    return success();
  return emitError(UnknownLoc::get(context))
         << "expected a target such as x86-64-linux-avx2-fma, or host, found '" << target << "'";
}

template <typename OpTy>
static StringRef findReason(OpTy op, StringRef target) {
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (!gpu || gpu->api != GpuApi::cuda)
    return "";
  StringRef obstacle = findTensorCoreObstacle(op);
  return obstacle.empty() && !gpu->hasTensorCores() ? "the target has no cuda_capability_80"
                                                    : obstacle;
}

StringRef attn::getReasonForNoWarpgroups(Operation *op, StringRef target) {
  auto attention = dyn_cast<AttentionOp>(op);
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  bool mayHave =
      attention && gpu && gpu->hasWarpgroups() && findTensorCoreObstacle(attention).empty();
  return mayHave ? findWarpgroupObstacle(attention) : "";
}

StringRef attn::getReasonForNoTensorCores(Operation *op, StringRef target) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return findReason(attention, target);
  auto linear = dyn_cast<LinearOp>(op);
  return linear ? findReason(linear, target) : "";
}

/// A schedule written by hand must be for the target's kind: the other kind's loops would be
/// dropped, and the score stored.
template <typename OpTy>
static LogicalResult verifyTargetKind(OpTy op, TargetKind kind) {
  for (auto schedule : op.getScheduleAttr().template getAsRange<ScheduleAttrInterface>())
    if (schedule.getTargetKind() != kind)
      return op.emitOpError("expected a schedule for a ")
             << (kind == TargetKind::gpu ? "GPU" : "CPU") << ", as the target is, found "
             << schedule;
  return success();
}

static LogicalResult verifyExpectedQLen(func::FuncOp function) {
  Attribute given = function->getAttr(kQLenAttr);
  auto rows = dyn_cast_or_null<IntegerAttr>(given);
  if (!given ||
      (rows && rows.getValue().getActiveBits() < 32 && rows.getValue().isStrictlyPositive()))
    return success();
  return function.emitError("expected attn.q_len to be a number of query rows, found ") << given;
}

namespace {
struct AttnSelectSchedulePass : attn::impl::AttnSelectScheduleBase<AttnSelectSchedulePass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override { return verifyTarget(context, target); }
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
    bool isValid = succeeded(verifyExpectedQLen(getOperation()));
    getOperation().walk([&](AttentionOp op) {
      if (op.getSchedule())
        isValid &= succeeded(verifyTargetKind(op, gpu ? TargetKind::gpu : TargetKind::cpu));
      else if (getReasonForNoKernel(op, target).empty())
        op.setScheduleAttr(gpu ? selectOnGpu(op, *gpu) : CpuSelector(op, cpu).select());
    });
    getOperation().walk([&](LinearOp op) {
      if (op.getSchedule())
        isValid &= succeeded(verifyTargetKind(op, gpu ? TargetKind::gpu : TargetKind::cpu));
      else
        op.setScheduleAttr(gpu ? selectOnGpu(op, *gpu) : selectLinearSchedules(op, cpu));
    });
    if (!isValid)
      signalPassFailure();
  }
};
} // namespace
