//===- Softmax.cpp - the online softmax and the context -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

Regs RowState::pack() const {
  Regs regs = {maximum[0], maximum[1], sum[0], sum[1]};
  llvm::append_range(regs, context);
  return regs;
}

RowState RowState::unpack(ArrayRef<Reg> regs) {
  return {{regs[0], regs[1]}, {regs[2], regs[3]}, Regs(regs.drop_front(4))};
}

RowState FragmentAttention::startRows() {
  Reg zero = k.f32(0), lowest = k.minusInf();
  return {{lowest, lowest}, {zero, zero}, Regs(sizes.valueDim / kTileColumns * 4, zero)};
}

/// Makes scores numerators. Products and sums are fused, which saves a third of the instructions,
/// where the product of the largest score, rounded in `offset`, is close to the exact one: its
/// difference is a factor of all of a row's numerators.
void FragmentAttention::exponentiate(Regs &scores, const Reg (&offset)[2]) {
  constexpr double kLargest = 1 << 16;
  Reg factor = k.f32(unit), isLarge = Reg::constant(k.b(), k.b().getI1Type(), 0);
  for (Reg x : offset)
    isLarge = isLarge | (x > k.f32(kLargest)) | (x < k.f32(-kLargest));
  auto transform = [&](function_ref<Reg(Reg, Reg)> exponent) {
    Regs numerators;
    for (auto [index, score] : llvm::enumerate(scores))
      numerators.push_back(exp2(k, exponent(score, offset[index % 4 / 2])));
    return numerators;
  };
  scores = k.choose(
      isAny(k, isLarge), [&] { return transform([&](Reg x, Reg y) { return x * factor - y; }); },
      [&] { return transform([&](Reg x, Reg y) { return fma(x, factor, -y); }); });
}

/// A maximum follows the scores only where they are so much larger that numerators would grow too
/// large for f16: most KV blocks rescale nothing.
Shift FragmentAttention::moveMaxima(RowState &state, ArrayRef<Reg> scores) {
  constexpr double kMostAbove = 8;
  Shift shift;
  for (int64_t r : {0, 1}) {
    Reg most = scores[2 * r], before = state.maximum[r];
    for (size_t i = 0; i < scores.size(); i += 4)
      most = max(max(most, scores[i + 2 * r]), scores[i + 2 * r + 1]);
    most = combineLanes(k, most, &nvvm::max) * k.f32(unit);
    Reg hasMoved = most > before + k.f32(kMostAbove);
    shift.hasMoved = r == 0 ? hasMoved : shift.hasMoved | hasMoved;
    shift.before[r] = before;
    state.maximum[r] = select(hasMoved, most, before);
    shift.offset[r] = offsetOf(k, state.maximum[r]);
  }
  return shift;
}

/// Sums and context in units of the maxima now.
RowState FragmentAttention::rescaleMoved(const RowState &state, const Shift &shift) {
  auto rescaled = k.choose(
      isAny(k, shift.hasMoved),
      [&] {
        Regs factors;
        for (int64_t r : {0, 1})
          factors.push_back(exp2(k, shift.before[r] - shift.offset[r]));
        return rescale(state, factors).pack();
      },
      [&] { return state.pack(); });
  return RowState::unpack(rescaled);
}

void FragmentAttention::addSums(RowState &state, ArrayRef<Reg> numerators) {
  for (int64_t r : {0, 1})
    for (size_t i = 0; i < numerators.size(); i += 4)
      state.sum[r] = state.sum[r] + (numerators[i + 2 * r] + numerators[i + 2 * r + 1]);
}

RowState FragmentAttention::addNumerators(RowState state, Regs &scores) {
  Shift shift = moveMaxima(state, scores);
  exponentiate(scores, shift.offset);
  state = rescaleMoved(state, shift);
  addSums(state, scores);
  return state;
}

RowState FragmentAttention::rescale(RowState state, ArrayRef<Reg> factors) {
  for (int64_t r : {0, 1})
    state.sum[r] = state.sum[r] * factors[r];
  for (auto [index, sum] : llvm::enumerate(state.context))
    sum = sum * factors[index % 4 / 2];
  return state;
}

Regs FragmentAttention::packNumerators(ArrayRef<Reg> numerators, int64_t depth) {
  Regs left;
  for (int64_t i = 0; i < 8; i += 2) {
    ArrayRef<Reg> pair = numerators.slice(depth / kTileColumns * 4 + i, 2);
    left.push_back(nvvm::pack(k, pair[0], pair[1], element));
  }
  return left;
}

void FragmentAttention::addContext(RowState &state, ArrayRef<Reg> numerators) {
  for (int64_t depth = 0; depth < sizes.kvBlock; depth += kTileDepth) {
    Regs left = packNumerators(numerators, depth);
    for (int64_t column = 0; column < sizes.valueDim; column += 2 * kTileColumns) {
      Regs right = valueTile.loadRight(depth, column);
      for (int64_t half : {0, 1}) {
        auto tile = MutableArrayRef(state.context).slice((column / kTileColumns + half) * 4, 4);
        llvm::copy(multiply(k, left, ArrayRef(right).slice(2 * half, 2), tile, element),
                   tile.begin());
      }
    }
  }
}

static Reg add(Reg x, Reg y) { return x + y; }

void FragmentAttention::reduceSums(RowState &state) {
  for (int64_t r : {0, 1}) {
    Reg sum = state.sum[r] = combineLanes(k, state.sum[r], &add), maximum = state.maximum[r];
    bool hasSink = op.getSink() && sizes.kvSplits == 1;
    state.total[r] =
        hasSink ? sum + readSink(k, op, {at.batch, at.head[r], at.safeRow[r]}, maximum) : sum;
  }
}
