//===- Softmax.cpp - the online softmax and the context -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaAttention.h"

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

RowState MmaAttention::startRows() {
  Reg zero = k.f32(0), lowest = k.minusInf();
  return {{lowest, lowest}, {zero, zero}, Regs(sizes.valueDim / kTileColumns * 4, zero)};
}

/// What is subtracted from scores: 0 for a row that saw no key, whose scores are all -inf.
Reg MmaAttention::offsetOf(Reg maximum) {
  return select(maximum == k.minusInf(), k.f32(0), maximum);
}

RowState MmaAttention::addNumerators(const RowState &state, Regs &scores) {
  RowState next = state;
  Reg offset[2];
  Regs factors;
  for (int64_t r : {0, 1}) {
    Reg most = scores[2 * r];
    for (size_t i = 0; i < scores.size(); i += 4)
      most = max(max(most, scores[i + 2 * r]), scores[i + 2 * r + 1]);
    next.maximum[r] = max(state.maximum[r], combineLanes(k, most, &nvvm::max));
    offset[r] = offsetOf(next.maximum[r]);
    factors.push_back(exp2(k, state.maximum[r] - offset[r]));
  }
  for (auto [index, score] : llvm::enumerate(scores))
    score = exp2(k, score - offset[index % 4 / 2]);
  Reg hasMoved = (next.maximum[0] > state.maximum[0]) | (next.maximum[1] > state.maximum[1]);
  auto rescaled = k.choose(
      isAny(k, hasMoved), [&] { return rescale(next, factors).pack(); },
      [&] { return next.pack(); });
  next = RowState::unpack(rescaled);
  for (int64_t r : {0, 1})
    for (size_t i = 0; i < scores.size(); i += 4)
      next.sum[r] = next.sum[r] + (scores[i + 2 * r] + scores[i + 2 * r + 1]);
  return next;
}

RowState MmaAttention::rescale(RowState state, ArrayRef<Reg> factors) {
  for (int64_t r : {0, 1})
    state.sum[r] = state.sum[r] * factors[r];
  for (auto [index, sum] : llvm::enumerate(state.context))
    sum = sum * factors[index % 4 / 2];
  return state;
}

Regs MmaAttention::packNumerators(ArrayRef<Reg> numerators, int64_t depth) {
  Regs left;
  for (int64_t i = 0; i < 8; i += 2) {
    ArrayRef<Reg> pair = numerators.slice(depth / kTileColumns * 4 + i, 2);
    left.push_back(nvvm::pack(k, pair[0], pair[1], element));
  }
  return left;
}

void MmaAttention::addContext(RowState &state, ArrayRef<Reg> numerators) {
  for (int64_t depth = 0; depth < sizes.kvBlock; depth += kTileDepth) {
    Regs left = packNumerators(numerators, depth);
    for (int64_t column = 0; column < sizes.valueDim; column += 2 * kTileColumns) {
      Regs right = valueTile.loadRight(depth, k.i32(column / kTileColumns));
      for (int64_t half : {0, 1}) {
        auto tile = MutableArrayRef(state.context).slice((column / kTileColumns + half) * 4, 4);
        llvm::copy(multiply(k, left, ArrayRef(right).slice(2 * half, 2), tile, element),
                   tile.begin());
      }
    }
  }
}

static Reg add(Reg x, Reg y) { return x + y; }

void MmaAttention::reduceSums(RowState &state) {
  for (Reg &sum : state.sum)
    sum = combineLanes(k, sum, &add);
}
