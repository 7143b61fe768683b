//===- CpuSchedules.cpp - choose schedules of attention on a CPU ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSelectors.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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
  int64_t keys, count, locality = 2, blocks = 0;
};

/// KV blocks are multiples of `unit` keys: at most `ofWindow` in a narrow window, at most
/// `ofBlocks` where a mask has blocks, else `otherwise`.
struct KvBlockSizes {
  int64_t unit, ofWindow, ofBlocks, otherwise;
};

/// Register tiles of a decode kernel, as in `#attn.decode`.
struct DecodeTiles {
  int64_t scoreRows, scoreKeys, contextRows, contextVectors;
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
  /// Elements of a KV block's keys, 16 KB of f32, that with AVX2 lie in L1 beside their values.
  static constexpr int64_t kL1Elements = 4096;
  /// From so many rows on, products of a decode kernel take time beside reading keys and values,
  /// from several rows on, as long as reading 16 bits, and from many rows on, as reading 32.
  static constexpr int64_t kSomeRows = 4, kSeveralRows = 6, kManyRows = 8;

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
  KvBlockSizes kvBlockSizes(int64_t qBlock);
  int64_t kvBlock(int64_t qBlock);
  int64_t prefillFetchAhead(int64_t qBlock);
  /// Whether one KV block covers all keys that a query block sees.
  bool isOneKvBlock(int64_t qBlock);
  bool hasAVX2() const { return !has32VectorRegs && !lacksFMA; }
  bool readsF32() {
    return op.getKey().getType().getElementType().isF32() &&
           op.getValue().getType().getElementType().isF32();
  }
  /// Whether the keys and values of a head are not interleaved with those of other heads in memory.
  bool areHeadsApart();
  /// Whether decode reads long rows of f32 with AVX2, one head after the other.
  bool readsLongRows();
  /// Whether a row of values is summed up at once, not in halves.
  bool readsWholeRows(int64_t rows) { return rows == 1 && readsLongRows(); }
  DecodeTiles decodeTiles(int64_t rows, bool inPairs, bool areProductBound);
  /// Whether interleaved heads prefetch the next KV block in the order of memory.
  bool fetchesBlocks(int64_t rows);
  int64_t decodeKvBlock(int64_t rows, bool waitsForProducts);
  Attribute decode(int64_t rowsOfHead, int64_t maxQLen = 0);
  /// Whether prefetches of a decode kernel fill the L1 cache.
  bool readsIntoL1();
  /// Whether its KV blocks are a few keys, prefetched by the one before.
  bool hasShortKvBlocks(int64_t rows);
  Fetches fetches(int64_t rows, int64_t kvBlock);
  int64_t interleavedHeads(int64_t rows);
  /// Whether decode with AVX2 reads heads in turns, so that the keys of one lie apart.
  bool readsFarRows(int64_t rows);
  int64_t farKvBlock(int64_t rows);
  /// The rows of a tile of context that share the values of f32 which they load with AVX2, at short
  /// KV blocks; 0 where tiles are as elsewhere.
  int64_t rowsOfValue(int64_t rows);
  /// Of all heads.
  int64_t elementsOfKey() { return op.getKey().getType().getDimSize(1) * headDim; }
  int64_t kvSplits(int64_t packedHeads);
  bool isInTiles() const { return products == Products::bf16_tiles; }
  /// Whether keys lie side by side in pages, whose runs are looked up at once.
  bool hasPageRuns();
  /// Whether a prefill kernel copies keys and values of f32.
  bool copiesKvBlocks();
  /// Whether a prefill kernel reads them from pages into L1.
  bool readsPageRuns() { return usesOneRowGroup() && hasPageRuns(); }
  bool usesOneRowGroup();
  int64_t rowsOfBlock();
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

/// Rescaling has a fixed cost per KV block, but the scores of a large KV block exceed the L1 cache.
/// Beside masks other than a window and blocks, KV blocks of 96 keys measured as fast as those of
/// 128, or up to 1 % faster; beside query blocks of one row group, those of 80. Of pages that are
/// prefetched into L1, keys and values of a KV block fit in it: 48 keys of 64 dims. Targets with
/// short vectors may have a small stack: 64 KB on wasm. Tiles multiply so fast that rescaling, and
/// packing values, take more than the scores' way through the L2 cache.
KvBlockSizes CpuSelector::kvBlockSizes(int64_t qBlock) {
  constexpr int64_t kLongDim = 128;
  bool isMasked = !op.getMask().empty();
  if (isInTiles()) {
    constexpr int64_t kTile = 32, kMostScores = 49152;
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
int64_t CpuSelector::kvBlock(int64_t qBlock) {
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
                          readsPageRuns() ? 3 : 2, copiesKvBlocks() ? 1 : 0, packedHeads,
                          packedHeads == 1 ? 1 : kvSplits(packedHeads),
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
/// the other, two that share what several rows load, or some whose sums are independent where AVX2
/// widens them, and as much of a value's row at a time as half of the registers can sum up. Rows
/// that take as long as their products do share what they load and widen. 5 or 7 rows that share a
/// key are one tile: row by row, each key and value would be read, and prefetched, as often.
DecodeTiles CpuSelector::decodeTiles(int64_t rows, bool inPairs, bool areProductBound) {
  if (readsWholeRows(rows))
    return {1, 1, 1, largestDivisor(valueVectors, 16)};
  int64_t keyBits = op.getKey().getType().getElementTypeBitWidth();
  bool areF32 = keyBits == 32;
  int64_t sums = has32VectorRegs ? 16 : 8;
  int64_t scoreRows = largestDivisor(rows, 4), wholeRows = largestDivisor(rows, 8);
  if (scoreRows < 3 && wholeRows > 4) {
    int64_t contextSums = !has32VectorRegs ? 12 : areF32 ? 16 : 20;
    return {wholeRows, int64_t(llvm::bit_floor<uint64_t>(sums / wholeRows)), wholeRows,
            largestDivisor(valueVectors, contextSums / wholeRows)};
  }
  bool widensForFew = hasAVX2() && !areF32 && rows < 3;
  bool sharesLoads =
      areF32 ? scoreRows == 4 && !cpu.prefersOrder && !hasShortKvBlocks(rows) : scoreRows >= 3;
  int64_t scoreKeys = areProductBound ? llvm::bit_floor<uint64_t>(sums / scoreRows)
                      : widensForFew  ? rows * keyBits == 16 ? 2 : 4
                      : sharesLoads   ? 2
                                      : 1;
  bool sharesValues = areProductBound || inPairs || (rows >= kSomeRows && fetchesBlocks(rows));
  int64_t contextVectors = largestDivisor(valueVectors, sharesValues ? sums / 4 : 8);
  int64_t contextRows =
      rows == 3 && has32VectorRegs ? rows : largestDivisor(rows, sums / contextVectors);
  if (int64_t shared = rowsOfValue(rows)) {
    contextRows = shared;
    contextVectors = largestDivisor(valueVectors, shared == 2 ? 8 : 4);
  }
  return {scoreRows, scoreKeys, contextRows, contextVectors};
}

/// Where whole KV blocks are prefetched, L2 holds two of them, keys and values of all heads of a
/// task, at once: of twice the size, 32 heads over 8 took up to 1.3 of the time in f32.
int64_t CpuSelector::decodeKvBlock(int64_t rows, bool waitsForProducts) {
  constexpr int64_t kL1Bits = 512;                    // of one dim of all keys: 8 KB for 128 dims
  constexpr int64_t kL2Bits = 512 << 10, kMost = 128; // of the keys of all heads: 64 KB
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  if (fetchesBlocks(rows)) {
    int64_t keys = kL2Bits / (interleavedHeads(rows) * headDim * bits);
    return std::clamp<int64_t>(llvm::bit_floor<uint64_t>(keys), lanes, kMost);
  }
  if (readsFarRows(rows))
    return farKvBlock(rows);
  if (readsWholeRows(rows))
    return 96;
  if (!hasShortKvBlocks(rows))
    return waitsForProducts ? 128 : 64;
  if (!hasAVX2())
    return kL1Bits / bits;
  bool areSome = rows >= kSomeRows, inPages = bool(op.getPages());
  int64_t longest = llvm::bit_floor<uint64_t>(kL1Elements / headDim),
          most = !readsF32() || (inPages && !areSome) ? 32
                 : inPages && rows < kManyRows        ? 8
                                                      : 16;
  return std::clamp<int64_t>(longest, lanes, most);
}

/// Some rows of 8 bits take as long as their products do, and so do some of 16 bits on CPUs that
/// read as fast out of order; on others, several rows of 16 bits and many of f32. Some rows of
/// pairs share the values that they pair.
Attribute CpuSelector::decode(int64_t rowsOfHead, int64_t maxQLen) {
  int64_t keyBits = op.getKey().getType().getElementTypeBitWidth();
  int64_t shared = getPackedHeads(op), rows = rowsOfHead * shared;
  bool inPairs =
      products == Products::bf16_pairs && headDim % (2 * lanes) == 0 && rows >= kSomeRows;
  bool widensMore = keyBits == 8 || (keyBits == 16 && !inPairs && !cpu.prefersOrder);
  int64_t fewest = widensMore ? kSomeRows : keyBits == 16 ? kSeveralRows : kManyRows;
  bool areProductBound = rows >= fewest && (keyBits < 32 || cpu.prefersOrder);
  DecodeTiles tiles = decodeTiles(rows, inPairs, areProductBound);
  int64_t kvBlock = decodeKvBlock(rows, areProductBound && widensMore);
  Fetches ahead = fetches(rows, kvBlock);
  int64_t interleaved = interleavedHeads(rows), minSplitKeys = interleaved == 1 ? 1024 : 512;
  return DecodeAttr::get(op->getContext(), rows, shared, kvBlock, lanes, tiles.scoreRows,
                         tiles.scoreKeys, tiles.contextRows, tiles.contextVectors,
                         inPairs ? Products::bf16_pairs : Products::f32, ahead.keys, ahead.count,
                         ahead.locality, ahead.blocks, interleaved, kvSplits(shared * interleaved),
                         minSplitKeys, maxQLen);
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

bool CpuSelector::areHeadsApart() {
  return !areHeadsInKeys(op.getKey()) && !areHeadsInKeys(op.getValue());
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

/// On Zen 3 short KV blocks, prefetched by the one before, take 0.6 to 0.85 of the time in f32,
/// with tiles of context whose rows share values, and in 16 bits 0.7 to 0.85 for one row and 0.9 to
/// 0.98 for more. 8 bits were not measured.
bool CpuSelector::readsFarRows(int64_t rows) {
  return hasAVX2() && op.getKey().getType().getElementTypeBitWidth() > 8 &&
         !op.getKey().getType().isDynamicDim(1) && interleavedHeads(rows) != 1;
}

/// On Zen 3 32 heads over 8 take 0.84 to 0.9 of the time where the caches come from memory, 0.94 to
/// 1.02 where they lie in L3, although some of 16 sums spill.
int64_t CpuSelector::rowsOfValue(int64_t rows) {
  constexpr int64_t kLongestShared = 16;
  bool areFar = readsFarRows(rows);
  if (!readsF32() || !(areFar || readsLongRows()) ||
      (!areFar && rows < kSomeRows && (op.getPages() || valueVectors > kLongestShared)))
    return 0;
  if (rows % 3 == 0 && (areFar || rows > 3))
    return 3;
  if (rows % 4 == 0 && !(areFar && rows == 4))
    return 4;
  return rows % 2 == 0 ? 2 : 0;
}

/// Keys of one head that lie 4 KB apart share the sets of an L1 cache, which hold 8 of them. More
/// rows need longer KV blocks, as do 16 bits, to make up for rescaling.
int64_t CpuSelector::farKvBlock(int64_t rows) {
  constexpr int64_t kL1Bits = 32 << 13, kMost = 32;
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  bool areSome = rows >= kSomeRows;
  int64_t fewest = bits == 32 ? (areSome ? 16 : 8) : areSome ? 64 : rows > 1 ? 32 : 8;
  int64_t inL1 = llvm::bit_floor<uint64_t>(kL1Bits / (elementsOfKey() * bits));
  return std::max(fewest, std::min(inL1, kMost));
}

/// On Zen 5 that takes 0.55 to 0.95 of the time of prefetches key by key in 8 and 16 bits. f32
/// takes 0.85 to 0.95 in most processes, but up to 1.35 in others; pairs of bf16 take 0.8 to 1.05.
/// Beside the look-up of pages, 8 bits and several rows of f16 leave no time for the prefetches.
bool CpuSelector::fetchesBlocks(int64_t rows) {
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  bool inPairs = products == Products::bf16_pairs && rows >= kSomeRows,
       isFaster = bits == 8 ? !op.getPages()
                            : bits == 16 && !inPairs && !(op.getPages() && rows >= kSeveralRows);
  return cpu.prefersOrder && isFaster && interleavedHeads(rows) != 1;
}

/// On Zen 5 prefetches into L1 are the fastest: decode of 32 heads of 128 dims over 8 takes 0.88 of
/// the time in f32, 0.85 to 0.96 in 16 and 8 bits. Rows that lie heads apart share few sets of an
/// L1 cache.
bool CpuSelector::readsIntoL1() { return cpu.prefersOrder && areHeadsApart(); }

/// On Zen 3 a single query row takes 0.84 of the time with whole rows of values and KV blocks of
/// 96 keys instead of halves and 64: longer blocks lose as much in the last one, which takes as
/// long whatever the number of its keys, as they gain elsewhere. Up to 80 dims, both take as long.
bool CpuSelector::readsLongRows() {
  constexpr int64_t kHalfRow = 8, kShort = 80;
  return hasAVX2() && readsF32() && headDim > kShort && valueVectors > kHalfRow && areHeadsApart();
}

/// On Zen 3 short KV blocks take 0.75 to 0.97 of the time, except for a single row of f32. On Zen
/// 5, 8 bits, or 16 for many rows, wait for their products, and one or two rows of 16 bits
/// take 1.05.
bool CpuSelector::hasShortKvBlocks(int64_t rows) {
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  if (hasAVX2())
    return readsLongRows() ? rows > 1 : bits < 32 && areHeadsApart();
  bool areFasterIn16Bits =
      rows >= kSomeRows && (rows < kManyRows || products == Products::bf16_pairs);
  return readsIntoL1() && (bits > 16 || (bits == 16 && areFasterIn16Bits));
}

/// How far ahead rows are prefetched, how often, and into which cache. Most CPUs by themselves
/// prefetch rows side by side, but not far enough ahead of the products of several query rows,
/// which leave time for a core to drop prefetches. Elements of 8 bits arrive faster than they are
/// multiplied, and so do those of 16 bits for several rows: one prefetch is enough, but for views
/// whose elements are widened. Short KV blocks are prefetched one block ahead, in pages on Zen 5
/// one and a half; those of 16 and 8 bits on Zen 3 by a loop of its own, too: 0.87 to 1.0 of the
/// time where keys come from memory, 1.0 to 1.03 where they lie in L2, but f32 1.06. Beside whole
/// KV blocks, a few rows leave time for prefetches into L1 as well, of few keys: a head's keys
/// share its sets.
Fetches CpuSelector::fetches(int64_t rows, int64_t kvBlock) {
  constexpr int64_t kKeysAhead = 64; // 32 KB of 128 floats
  constexpr int64_t kPagesAhead = 16, kFewRows = 3;
  int64_t bits = op.getKey().getType().getElementTypeBitWidth();
  bool areSome = rows >= kSomeRows, areApart = areRowsApart(op);
  if (fetchesBlocks(rows)) {
    bool intoL1 = bits == 16 && rows >= kFewRows && rows < kSeveralRows;
    return intoL1 ? Fetches{/*keys=*/4, /*count=*/1, /*locality=*/3, /*blocks=*/1}
                  : Fetches{/*keys=*/0, /*count=*/1, /*locality=*/2, /*blocks=*/1};
  }
  if (hasShortKvBlocks(rows)) {
    bool needsMore = op.getPages() && cpu.prefersOrder,
         isTwice = cpu.prefersOrder ? areSome : bits == 32,
         isWhole = !cpu.prefersOrder && !op.getPages() && bits < 32;
    int64_t ahead = needsMore                     ? kvBlock + kvBlock / 2
                    : op.getPages() && bits == 32 ? std::max(kvBlock, kPagesAhead)
                                                  : kvBlock;
    return {ahead, isTwice ? 2 : 1, /*locality=*/3, /*blocks=*/isWhole};
  }
  if (readsFarRows(rows)) {
    constexpr int64_t kManyElements = 512;
    bool isTwice = elementsOfKey() > kManyElements && (bits == 32 || rows > 1);
    return {kvBlock, isTwice ? 2 : 1, /*locality=*/2};
  }
  bool inViews = areApart && !op.getPages();
  bool areShort = bits == 16 && has32VectorRegs && !cpu.prefersOrder &&
                  (!inViews || products == Products::bf16_pairs);
  bool isOnce = bits == 8 || (areSome && areShort);
  int64_t ahead = std::max(isOnce && areSome && areApart ? 2 * kKeysAhead : kKeysAhead, kvBlock),
          locality = readsIntoL1() && !op.getPages() ? 3 : 2; // of pages it was not measured
  if (areSome || areApart)
    return {ahead, isOnce ? 1 : 3, locality};
  return {cpu.prefersOrder ? ahead : 0, 1, locality};
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

bool CpuSelector::hasPageRuns() {
  constexpr int64_t kRun = 8;
  int64_t pageSize = op.getPages() ? op.getKey().getType().getDimSize(2) : ShapedType::kDynamic;
  bool startsAtFirst =
      op.getMask().empty() ||
      (mask.isComplete() && !mask.getCondition().hasLowestKey() && !hasTwoRanges());
  return !ShapedType::isDynamic(pageSize) && pageSize % kRun == 0 && startsAtFirst;
}

/// Register tiles of 4 keys do not hide the look-up of each. Rows of a head that lie 2 KB apart
/// share few sets of an L1 cache: with AVX2 copies of many take 0.78 to 1.0 of the time for many
/// query rows; of rows 1 KB apart, 0.97 to 1.05.
bool CpuSelector::copiesKvBlocks() {
  constexpr int64_t kManyRows = 192, kManyKeys = 512, kFarApart = 2048;
  if (!readsF32() || has32VectorRegs)
    return false;
  bool areApart = hasAVX2() && !areHeadsApart();
  if (op.getPages())
    return lacksFMA || areApart || !hasPageRuns();
  auto areMany = [](int64_t size, int64_t least) {
    return ShapedType::isDynamic(size) || size >= least;
  };
  int64_t heads = op.getKey().getType().getDimSize(1), bytesApart = heads * headDim * sizeof(float);
  return areApart && !ShapedType::isDynamic(heads) && bytesApart >= kFarApart && !isNarrow &&
         areMany(op.getQuery().getType().getDimSize(2), kManyRows) &&
         areMany(op.getKvLen().getStatic(), kManyKeys);
}

/// Of 16 registers, the rows of a score tile fill 24 lanes. With AVX2 a query block of one such
/// group takes 0.9 to 0.98 of the time of two, in a window 0.85: its queries and scores leave L1 to
/// keys and values. Where these are copied, each copy should serve more rows.
bool CpuSelector::usesOneRowGroup() { return hasAVX2() && readsF32() && !copiesKvBlocks(); }

/// Rows of a large query block. For tiles, each query block packs the keys and values that it
/// reads; beside a mask, fewer rows waste less.
int64_t CpuSelector::rowsOfBlock() {
  if (isInTiles())
    return op.getMask().empty() ? 96 : 64;
  return usesOneRowGroup() ? 3 * lanes : 48;
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
  constexpr int64_t kSmallBlock = 16;
  if (rowPeriod % 32 != 0 || rowPeriod == 0 || qBlock <= kSmallBlock)
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
  if (!isNarrow && rowsOfBlock() > 32)
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

ArrayAttr attn::selectCpuSchedules(AttentionOp op, const CpuInfo &cpu) {
  return CpuSelector(op, cpu).select();
}
