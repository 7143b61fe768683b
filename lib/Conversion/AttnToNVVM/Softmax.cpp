//===- Softmax.cpp - the online softmax and the context -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

Regs RowState::pack() const {
  Regs regs(maximum);
  llvm::append_range(regs, sum);
  llvm::append_range(regs, context);
  return regs;
}

RowState RowState::unpack(ArrayRef<Reg> regs, int64_t rows) {
  return {Regs(regs.take_front(rows)), Regs(regs.slice(rows, rows)),
          Regs(regs.drop_front(2 * rows))};
}

/// The maximum of a row that has seen no key: finite, so that it can be subtracted from scores of
/// -inf.
static constexpr double kNoMaximum = std::numeric_limits<float>::lowest();

ArrayRef<Reg> FragmentAttention::elementsOf(ArrayRef<Reg> elements, int64_t row) const {
  int64_t each = elements.size() / countRowTiles();
  return elements.slice(row / 2 * each, each).drop_front(row % 2 * 2);
}

RowState FragmentAttention::startRows() {
  Reg zero = k.f32(0);
  int64_t sums = countRowTiles() * (sizes.valueDim / kTileColumns * 4);
  return {Regs(countRows(), k.f32(kNoMaximum)), Regs(countRows(), zero), Regs(sums, zero)};
}

/// Additions are in the same block of instructions, to fill the slots between exponentials.
/// Products and sums are fused, which saves a third of the instructions, where the product of the
/// largest score, rounded in `offset`, is close to the exact one: its difference is a factor of all
/// of a row's numerators.
void FragmentAttention::exponentiate(Regs &scores, Regs &sums, ArrayRef<Reg> offset) {
  constexpr double kLargest = 1 << 16;
  Reg factor = k.f32(unit), isLarge = Reg::constant(k.b(), k.b().getI1Type(), 0);
  for (Reg x : offset)
    isLarge = isLarge | (Reg(k.b(), math::AbsFOp::create(k.b(), x)) > k.f32(kLargest));
  auto transform = [&](function_ref<Reg(Reg, Reg)> exponent) {
    Regs added(sums), numerators;
    for (size_t i = 0; i < scores.size(); i += 2) {
      int64_t row = rowOf(i, scores.size());
      for (Reg score : ArrayRef(scores).slice(i, 2))
        numerators.push_back(exp2(k, exponent(score, offset[row])));
      added[row] = added[row] + (numerators[i] + numerators[i + 1]);
    }
    llvm::append_range(added, numerators);
    return added;
  };
  Regs regs = k.choose(
      isAny(k, isLarge), [&] { return transform([&](Reg x, Reg y) { return x * factor - y; }); },
      [&] { return transform([&](Reg x, Reg y) { return fma(x, factor, -y); }); });
  sums = Regs(ArrayRef(regs).take_front(sums.size()));
  scores = Regs(ArrayRef(regs).take_back(scores.size()));
}

/// A maximum follows the scores only where they are so much larger that numerators would grow too
/// large for f16: most KV blocks rescale nothing.
static Reg isAbove(KernelBuilder &k, Reg score, Reg unit, Reg maximum) {
  constexpr double kMostAbove = 8;
  return fma(score, unit, -maximum) > k.f32(kMostAbove);
}

/// Lanes need not meet to find out that no maximum moves.
Shift FragmentAttention::findLargest(const RowState &state, ArrayRef<Reg> scores) {
  Reg moves;
  Shift shift;
  for (auto [r, maximum] : llvm::enumerate(state.maximum)) {
    ArrayRef<Reg> ofRow = elementsOf(scores, r);
    Reg most = max(ofRow[0], ofRow[1]);
    for (size_t i = 4; i < ofRow.size(); i += 4)
      most = max(most, max(ofRow[i], ofRow[i + 1]));
    Reg isRowAbove = isAbove(k, most, k.f32(unit), maximum);
    moves = moves ? moves | isRowAbove : isRowAbove;
    shift.largest.push_back(most);
  }
  shift.isAny = isAny(k, moves);
  return shift;
}

/// The maxima where any of the warp moves.
Regs FragmentAttention::moveMaxima(ArrayRef<Reg> maxima, const Shift &shift) {
  Regs moved;
  for (auto [maximum, ofLane] : llvm::zip(maxima, shift.largest)) {
    Reg largest = combineLanes(k, ofLane, &nvvm::max);
    Reg moves = isAbove(k, largest, k.f32(unit), maximum);
    moved.push_back(select(moves, largest * k.f32(unit), maximum));
  }
  return moved;
}

RowState FragmentAttention::rescaleFrom(ArrayRef<Reg> before, RowState state) {
  Regs factors;
  for (auto [old, maximum] : llvm::zip(before, state.maximum))
    factors.push_back(exp2(k, old - maximum));
  return rescale(std::move(state), factors);
}

RowState FragmentAttention::addNumerators(RowState state, Regs &scores) {
  Shift shift = findLargest(state, scores);
  Regs regs = k.choose(
      shift.isAny,
      [&] {
        RowState moved = state;
        moved.maximum = moveMaxima(state.maximum, shift);
        return rescaleFrom(state.maximum, moved).pack();
      },
      [&] { return state.pack(); });
  state = RowState::unpack(regs, countRows());
  exponentiate(scores, state.sum, state.maximum);
  return state;
}

RowState FragmentAttention::rescale(RowState state, ArrayRef<Reg> factors) {
  for (auto [sum, factor] : llvm::zip(state.sum, factors))
    sum = sum * factor;
  for (auto [index, sum] : llvm::enumerate(state.context))
    sum = sum * factors[rowOf(index, state.context.size())];
  return state;
}

SmallVector<Regs> FragmentAttention::packNumerators(ArrayRef<Reg> numerators, int64_t depth) {
  SmallVector<Regs> left(countRowTiles());
  int64_t each = numerators.size() / left.size();
  for (auto [index, rows] : llvm::enumerate(left))
    for (int64_t i = 0; i < 8; i += 2) {
      ArrayRef<Reg> pair = numerators.slice(index * each + depth / kTileColumns * 4 + i, 2);
      rows.push_back(nvvm::pack(k, pair[0], pair[1], element));
    }
  return left;
}

void FragmentAttention::addContext(RowState &state, ArrayRef<Reg> numerators) {
  for (int64_t depth = 0; depth < sizes.kvBlock; depth += kTileDepth) {
    SmallVector<Regs> left = packNumerators(numerators, depth);
    for (int64_t column = 0; column < sizes.valueDim; column += 2 * kTileColumns)
      addProducts(state.context, left, valueTile.loadRight(depth, column), column / kTileColumns);
  }
}

static Reg add(Reg x, Reg y) { return x + y; }

void FragmentAttention::reduceSums(RowState &state) {
  bool hasSink = op.getSink() && sizes.kvSplits == 1;
  for (int64_t r = 0; r < countRows(); ++r) {
    Reg sum = state.sum[r] = combineLanes(k, state.sum[r], &add), &maximum = state.maximum[r];
    Reg sawNone = (maximum == k.f32(kNoMaximum)) & isNot(sum > k.f32(0));
    maximum = select(sawNone, k.minusInf(), maximum);
    Regs row = {at.batch, at.head[r], at.safeRow[r]};
    state.total.push_back(hasSink ? sum + readSink(k, op, row, maximum) : sum);
  }
}
