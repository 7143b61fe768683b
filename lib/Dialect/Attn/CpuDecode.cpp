//===- CpuDecode.cpp - choose schedules of decode on a CPU ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuDecode.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether other rows lie between two keys or values in memory, as far as is known: in pages, and
/// in views of tensors with keys before heads.
static bool areRowsApart(AttentionOp op) {
  auto isView = [](Value tensor) {
    auto transpose = tensor.getDefiningOp<TransposeOp>();
    return tensor.getDefiningOp<SplitHeadsOp>() || (transpose && transpose.keepsRows());
  };
  return op.getPages() || isView(op.getKey()) || isView(op.getValue());
}

/// Some rows of 8 bits take as long as their products do, and so do some of 16 bits on CPUs that
/// read as fast out of order; on others, several rows of 16 bits and many of f32. Some rows of
/// pairs share the values that they pair.
Attribute CpuDecode::select(int64_t rowsOfHead, int64_t maxQLen) {
  int64_t bits = keyBits();
  int64_t shared = getPackedHeads(op), rows = rowsOfHead * shared;
  bool inPairs =
      products == Products::bf16_pairs && headDim % (2 * lanes) == 0 && rows >= kSomeRows;
  bool widensMore = bits == 8 || (bits == 16 && !inPairs && !cpu.prefersOrder);
  int64_t fewest = widensMore ? kSomeRows : bits == 16 ? kSeveralRows : kManyRows;
  bool areProductBound = rows >= fewest && (bits < 32 || cpu.prefersOrder);
  Tiles inRegisters = tiles(rows, inPairs, areProductBound);
  int64_t keys = kvBlock(rows, areProductBound && widensMore);
  Fetches ahead = fetches(rows, keys);
  int64_t interleaved = interleavedHeads(rows), minSplitKeys = interleaved == 1 ? 1024 : 512;
  return DecodeAttr::get(op->getContext(), rows, shared, keys, lanes, inRegisters.scoreRows,
                         inRegisters.scoreKeys, inRegisters.contextRows, inRegisters.contextVectors,
                         inPairs ? Products::bf16_pairs : Products::f32, ahead.keys, ahead.count,
                         ahead.locality, ahead.blocks, interleaved, kvSplits(shared * interleaved),
                         minSplitKeys, maxQLen);
}

/// Heads side by side are read in turns, so that memory is read in order; the sums of all of them
/// stay in the caches. A head that a mask tells apart has a range of keys of its own, which would
/// be looked up for each.
int64_t CpuDecode::interleavedHeads(int64_t rows) {
  constexpr int64_t kMostBytes = 64 << 10;
  int64_t heads = op.getQuery().getType().getDimSize(1);
  if (ShapedType::isDynamic(heads) || mask.dependsOnHead() || !areHeadsInKeys(op.getKey()) ||
      !areHeadsInKeys(op.getValue()))
    return 1;
  int64_t bytes = rows * std::max(headDim, valueVectors * lanes) * sizeof(float);
  return largestDivisor(heads / getPackedHeads(op), kMostBytes / bytes);
}

/// Few rows take as long as reading keys and values does, which is fastest in order: one key after
/// the other, two that share what several rows load, or some whose sums are independent where AVX2
/// widens them, and as much of a value's row at a time as half of the registers can sum up. Rows
/// that take as long as their products do share what they load and widen. 5 or 7 rows that share a
/// key are one tile: row by row, each key and value would be read, and prefetched, as often.
CpuDecode::Tiles CpuDecode::tiles(int64_t rows, bool inPairs, bool areProductBound) {
  if (readsWholeRows(rows))
    return {1, 1, 1, largestDivisor(valueVectors, 16)};
  int64_t bits = keyBits();
  bool areF32 = bits == 32;
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
                      : widensForFew  ? rows * bits == 16 ? 2 : 4
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

/// On Zen 3 32 heads over 8 take 0.84 to 0.9 of the time where the caches come from memory, 0.94 to
/// 1.02 where they lie in L3, although some of 16 sums spill.
int64_t CpuDecode::rowsOfValue(int64_t rows) {
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

/// On Zen 3 a single query row takes 0.84 of the time with whole rows of values and KV blocks of
/// 96 keys instead of halves and 64: longer blocks lose as much in the last one, which takes as
/// long whatever the number of its keys, as they gain elsewhere. Up to 80 dims, both take as long.
bool CpuDecode::readsLongRows() {
  constexpr int64_t kHalfRow = 8, kShort = 80;
  return hasAVX2() && readsF32() && headDim > kShort && valueVectors > kHalfRow && areHeadsApart();
}

/// On Zen 3 short KV blocks, prefetched by the one before, take 0.6 to 0.85 of the time in f32,
/// with tiles of context whose rows share values, and in 16 bits 0.7 to 0.85 for one row and 0.9 to
/// 0.98 for more. 8 bits were not measured.
bool CpuDecode::readsFarRows(int64_t rows) {
  return hasAVX2() && keyBits() > 8 && !op.getKey().getType().isDynamicDim(1) &&
         interleavedHeads(rows) != 1;
}

/// Where whole KV blocks are prefetched, L2 holds two of them, keys and values of all heads of a
/// task, at once: of twice the size, 32 heads over 8 took up to 1.3 of the time in f32.
int64_t CpuDecode::kvBlock(int64_t rows, bool waitsForProducts) {
  constexpr int64_t kL1Bits = 512;                    // of one dim of all keys: 8 KB for 128 dims
  constexpr int64_t kL2Bits = 512 << 10, kMost = 128; // of the keys of all heads: 64 KB
  int64_t bits = keyBits();
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

/// Keys of one head that lie 4 KB apart share the sets of an L1 cache, which hold 8 of them. More
/// rows need longer KV blocks, as do 16 bits, to make up for rescaling.
int64_t CpuDecode::farKvBlock(int64_t rows) {
  constexpr int64_t kL1Bits = 32 << 13, kMost = 32;
  int64_t bits = keyBits();
  bool areSome = rows >= kSomeRows;
  int64_t fewest = bits == 32 ? (areSome ? 16 : 8) : areSome ? 64 : rows > 1 ? 32 : 8;
  int64_t inL1 = llvm::bit_floor<uint64_t>(kL1Bits / (elementsOfKey() * bits));
  return std::max(fewest, std::min(inL1, kMost));
}

/// On Zen 3 short KV blocks take 0.75 to 0.97 of the time, except for a single row of f32. On Zen
/// 5, 8 bits, or 16 for many rows, wait for their products, and one or two rows of 16 bits
/// take 1.05.
bool CpuDecode::hasShortKvBlocks(int64_t rows) {
  int64_t bits = keyBits();
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
/// one and a half, of f32 with AVX2 16 keys; those of 16 and 8 bits on Zen 3 by a loop of its own,
/// too: 0.87 to 1.0 of the time where keys come from memory, 1.0 to 1.03 where they lie in L2, but
/// f32 1.06. Beside whole KV blocks, a few rows leave time for prefetches into L1 as well, of few
/// keys: a head's keys share its sets.
CpuDecode::Fetches CpuDecode::fetches(int64_t rows, int64_t kvBlock) {
  constexpr int64_t kKeysAhead = 64; // 32 KB of 128 floats
  constexpr int64_t kPagesAhead = 16, kFewRows = 3;
  int64_t bits = keyBits();
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

/// On Zen 5 that takes 0.55 to 0.95 of the time of prefetches key by key in 8 and 16 bits. f32
/// takes 0.85 to 0.95 in most processes, but up to 1.35 in others; pairs of bf16 take 0.8 to 1.05.
/// Beside the look-up of pages, 8 bits and several rows of f16 leave no time for the prefetches.
bool CpuDecode::fetchesBlocks(int64_t rows) {
  int64_t bits = keyBits();
  bool inPairs = products == Products::bf16_pairs && rows >= kSomeRows,
       isFaster = bits == 8 ? !op.getPages()
                            : bits == 16 && !inPairs && !(op.getPages() && rows >= kSeveralRows);
  return cpu.prefersOrder && isFaster && interleavedHeads(rows) != 1;
}

/// On Zen 5 prefetches into L1 are the fastest: decode of 32 heads of 128 dims over 8 takes 0.88 of
/// the time in f32, 0.85 to 0.96 in 16 and 8 bits. Rows that lie heads apart share few sets of an
/// L1 cache.
bool CpuDecode::readsIntoL1() { return cpu.prefersOrder && areHeadsApart(); }
