//===- NonFinite.cpp - contexts that are not finite -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A masked key's numerator is 0, but zero times a value of Inf or NaN is NaN. A query block whose
// context is not finite is computed again, 16 columns at a time: values that are not finite become
// 0, and two more products count, for each element, the visible keys whose value is Inf or NaN of
// either sign.
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

/// Probs below 2^-126, the smallest normal f32, are 0.
static constexpr int64_t kMinProbExponent = -126;

/// Whether that is so of any row of the block, so that all of its threads go on together.
Reg FragmentAttention::isAnyNotFinite(const RowState &state) {
  Reg zero = k.f32(0), sum = zero;
  for (Reg x : state.context)
    sum = fma(x, zero, sum);
  for (Reg x : state.total)
    sum = fma(x, zero, sum);
  Reg isOfWarp = isAny(k, isNaN(sum));
  synchronize(); // no tile is read any more
  Type i32 = k.b().getI32Type();
  k.when(at.lane == 0,
         [&] { k.store(select(isOfWarp, k.i32(1), k.i32(0)), sharedAddress(k, at.warp * 4)); });
  synchronize();
  Reg flags = k.i32(0);
  for (int64_t warp = 0; warp < threads / kLanes; ++warp)
    flags = flags | k.load(sharedAddress(k, k.i32(4 * warp)), i32);
  return isNot(flags == 0);
}

namespace {
/// A pair of values as three operands: what is finite, and ones for Inf and NaN of either sign.
struct ValueParts {
  Reg finite, positive, negative;
};
} // namespace

/// Of the element in the low 16 bits.
static ValueParts splitElement(KernelBuilder &k, Reg bits, Type element) {
  int64_t exponent = element.isF16() ? 0x7c00 : 0x7f80, one = element.isF16() ? 0x3c00 : 0x3f80;
  Reg magnitude = bits & 0x7fff, zero = k.i32(0);
  Reg isFinite = magnitude < exponent, isNaN = k.i32(exponent) < magnitude;
  Reg isNegative = isNot((bits & 0x8000) == 0);
  auto count = [&](Reg isCounted) {
    return select(isNot(isFinite) & (isNaN | isCounted), k.i32(one), zero);
  };
  return {select(isFinite, bits, zero), count(isNot(isNegative)), count(isNegative)};
}

static ValueParts splitPair(KernelBuilder &k, Reg pair, Type element) {
  Reg sixteen = k.i32(16);
  ValueParts low = splitElement(k, pair & 0xffff, element),
             high =
                 splitElement(k, Reg(k.b(), arith::ShRUIOp::create(k.b(), pair, sixteen)), element);
  auto join = [&](Reg x, Reg y) {
    return x | Reg(k.b(), arith::ShLIOp::create(k.b(), y, sixteen));
  };
  return {join(low.finite, high.finite), join(low.positive, high.positive),
          join(low.negative, high.negative)};
}

//===----------------------------------------------------------------------===//
// A group of columns
//===----------------------------------------------------------------------===//

/// Tiles of a group, and registers of each of its three parts: products of finite values, and
/// counts of visible keys whose value is Inf or NaN of either sign. Those of a tile of rows follow
/// each other; a register more for each of the lane's rows tells whether it has a score of NaN.
static constexpr int64_t kTiles = 2, kSums = kTiles * 4, kParts = 3;

/// Makes scores numerators, or probs where a prob region modifies them, and returns for each key
/// that counts 1 or -1, the sign of its factor. Notes scores of NaN. A prob that the region makes 0
/// counts as masked; where the sum is NaN all probs are.
Regs FragmentAttention::weigh(const RowState &state, Reg first, Regs &scores, Regs &sums) {
  Reg zero = k.f32(0), one = k.f32(1);
  Regs kept;
  for (auto [index, score] : llvm::enumerate(scores)) {
    int64_t r = rowOf(index, scores.size());
    Reg total = state.total[r], isNumber = isNot(isNaN(total));
    Reg exponent = score * k.f32(unit) - offsetOf(k, state.maximum[r]), factor = one;
    Reg isDropped = (score == k.minusInf()) | (isNumber & (exponent < kMinProbExponent));
    Reg &hasNaN = sums[countRowTiles() * kParts * kSums + r];
    hasNaN = select(isNaN(score), one, hasNaN);
    if (!probMod.isEmpty()) {
      factor = modifyProb(select(isNumber, one, total), first, index);
      isDropped = isDropped | (factor == zero);
      exponent = exponent - log2(k, total);
    }
    score = select(isDropped, zero, select(isNumber, exp2(k, exponent), total) * factor);
    kept.push_back(select(isDropped, zero, select(factor < 0, -one, one)));
  }
  return kept;
}

/// Left operands of 16 keys: numerators, and ones for keys whose factor is positive or negative.
SmallVector<Regs> FragmentAttention::packKept(ArrayRef<Reg> kept, int64_t depth, bool isNegative) {
  auto parts = llvm::map_to_vector(kept, [&](Reg x) { return max(isNegative ? -x : x, k.f32(0)); });
  return packNumerators(Regs(parts), depth);
}

/// Adds the products of 16 keys and the group that begins with `chunk`.
void FragmentAttention::addParts(ArrayRef<Reg> numerators, ArrayRef<Reg> kept, int64_t depth,
                                 Reg chunk, Regs &sums) {
  SmallVector<Regs> left = packNumerators(numerators, depth),
                    positive = packKept(kept, depth, false), negative = packKept(kept, depth, true);
  Regs right = valueTile.loadRight(depth, chunk);
  for (int64_t tile = 0; tile < kTiles; ++tile) {
    ValueParts low = splitPair(k, right[2 * tile], element),
               high = splitPair(k, right[2 * tile + 1], element);
    Regs infs = {low.positive, high.positive}, minusInfs = {low.negative, high.negative};
    auto add = [&](int64_t part, ArrayRef<Regs> left, ArrayRef<Reg> right) {
      for (auto [index, rows] : llvm::enumerate(left)) {
        auto sum = MutableArrayRef(sums).slice((index * kParts + part) * kSums + tile * 4, 4);
        llvm::copy(multiply(k, rows, right, sum, element), sum.begin());
      }
    };
    add(0, left, {low.finite, high.finite});
    add(1, positive, infs);
    add(2, positive, minusInfs);
    if (probMod.isEmpty())
      continue;
    add(1, negative, minusInfs);
    add(2, negative, infs);
  }
}

/// Adds the keys of a KV block. Its addresses are computed anew, to hold no registers between
/// blocks.
Regs FragmentAttention::addBlock(const RowState &state, Reg first, Reg chunk,
                                 ArrayRef<Reg> before) {
  Regs sums(before);
  readPosition(k);
  synchronize(); // all read the last tiles
  keyTile.startCopies(*keys, first, visible.high);
  valueTile.startCopies(*values, first, visible.high);
  waitForCopies(k);
  synchronize();
  Regs scores = buildScores(multiplyKeys(), first), kept = weigh(state, first, scores, sums);
  for (int64_t depth = 0; depth < sizes.kvBlock; depth += kTileDepth)
    addParts(scores, kept, depth, chunk, sums);
  return sums;
}

/// An element of the context of a tile of rows. Probs are normalised already.
Reg FragmentAttention::joinParts(ArrayRef<Reg> sums, int64_t i, Reg total) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Reg zero = k.f32(0), one = k.f32(1), noNumber = k.f32(std::numeric_limits<float>::quiet_NaN());
  Reg isPositive = sums[kSums + i] > zero, isNegative = sums[2 * kSums + i] > zero;
  Reg divisor = select((total == zero) | isNaN(total), one, total);
  Reg x = probMod.isEmpty() ? sums[i] / divisor : sums[i];
  Reg y = select(isPositive, k.f32(kInf), x);
  y = select(isNegative, select(isPositive, noNumber, k.f32(-kInf)), y);
  return select(isNaN(x), x, y);
}

void FragmentAttention::storeGroup(const RowState &state, ArrayRef<Reg> sums, Reg firstColumn) {
  Regs elements;
  for (int64_t rows = 0; rows < countRowTiles(); ++rows)
    for (int64_t i = 0; i < kSums; ++i)
      elements.push_back(joinParts(sums.slice(rows * kParts * kSums, kParts * kSums), i,
                                   state.total[2 * rows + i % 4 / 2]));
  storeElements(elements, firstColumn);
  Regs hasNaN;
  for (Reg flag : sums.drop_front(countRowTiles() * kParts * kSums))
    hasNaN.push_back(combineLanes(k, flag, &nvvm::max) > k.f32(0));
  storeStatistics(state, hasNaN);
}

/// Shares nothing with the first pass but the rows' maxima and sums, to leave it the registers, and
/// takes fewer keys at once, whose scores need fewer.
void FragmentAttention::recompute(const RowState &state) {
  int64_t kvBlock = sizes.kvBlock, mostKeys = 64 / countRowTiles();
  sizes.kvBlock = std::min(kvBlock, mostKeys);
  for (SharedTile *tile : {&keyTile, &valueTile})
    tile->limitRows(sizes.kvBlock);
  findBlock();
  findKeys();
  synchronize(); // all read the flags
  copyQuery();
  queries.clear();
  auto addGroup = [&](Reg group, ArrayRef<Reg>) -> Regs {
    Regs sums(countRowTiles() * kParts * kSums + countRows(), k.f32(0));
    sums =
        k.loop(visible.low, visible.high, sizes.kvBlock, sums, [&](Reg first, ArrayRef<Reg> regs) {
          return addBlock(state, first, group * kTiles, regs);
        });
    storeGroup(state, sums, group * (kTiles * kTileColumns));
    return {};
  };
  k.loop(k.i32(0), k.i32(sizes.valueDim / (kTiles * kTileColumns)), 1, {}, addGroup);
  sizes.kvBlock = kvBlock;
}
