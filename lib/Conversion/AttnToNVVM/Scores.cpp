//===- Scores.cpp - scores of a KV block ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

void FragmentAttention::addProducts(Regs &sums, ArrayRef<Regs> left, ArrayRef<Reg> right,
                                    int64_t tile) {
  int64_t each = sums.size() / left.size();
  for (int64_t half : {0, 1})
    for (auto [index, rows] : llvm::enumerate(left)) {
      auto sum = MutableArrayRef(sums).slice(index * each + (tile + half) * 4, 4);
      llvm::copy(multiply(k, rows, right.slice(2 * half, 2), sum, element), sum.begin());
    }
}

Regs FragmentAttention::multiplyKeys() {
  Regs sums(countRowTiles() * (sizes.kvBlock / kTileColumns * 4), k.f32(0));
  for (int64_t depth = 0; depth < sizes.headDim; depth += kTileDepth) {
    SmallVector<Regs> left = queries.empty() ? loadQuery(depth) : queries[depth / kTileDepth];
    for (int64_t row = 0; row < sizes.kvBlock; row += kTileRows)
      addProducts(sums, left, keyTile.loadTransposedRight(k.i32(0), row, depth),
                  row / kTileColumns);
  }
  return sums;
}

/// Element 4 j + i of a tile of rows is of tile j, of the lane's row i / 2 of these and of its
/// column i % 2.
Reg FragmentAttention::keyOf(Reg first, int64_t element) const {
  int64_t column = element / 4 * kTileColumns % sizes.kvBlock + element % 2;
  return first + at.column + column;
}

Reg FragmentAttention::modify(Reg dot, Reg key, int64_t r) {
  if (unit != kLog2E)
    return dot;
  Reg score = dot * k.f32(op.getScale().convertToDouble());
  if (scoreMod.isEmpty())
    return score;
  return scoreMod.inlined({score, at.batch, at.head[r], at.safeRow[r], min(key, kvLen - 1)});
}

/// Hides masked keys and those beyond the visible ones.
Regs FragmentAttention::hide(ArrayRef<Reg> scores, Reg first) {
  Regs result(scores);
  for (auto [index, score] : llvm::enumerate(result)) {
    int64_t r = rowOf(index, result.size());
    Reg key = keyOf(first, index), isSeen = key < visible.high;
    if (!mask.isEmpty())
      isSeen = isSeen & mask.inlined({at.batch, at.head[r], at.safeRow[r], min(key, kvLen - 1)});
    score = select(isSeen, score, k.minusInf());
  }
  return result;
}

/// Of the element `index` of a block's numerators.
Reg FragmentAttention::modifyProb(Reg prob, Reg first, int64_t index) {
  int64_t r = rowOf(index, countRowTiles() * (sizes.kvBlock / kTileColumns * 4));
  Reg key = min(keyOf(first, index), kvLen - 1);
  return probMod.inlined({prob, at.batch, at.head[r], at.safeRow[r], key});
}

/// The prob region multiplies, so that it may run before normalisation.
void FragmentAttention::modifyNumerators(Regs &numerators, Reg first) {
  if (!probMod.isEmpty())
    for (auto [index, numerator] : llvm::enumerate(numerators))
      numerator = modifyProb(numerator, first, index);
}

Regs FragmentAttention::buildScores(Regs scores, Reg first) {
  for (auto [index, score] : llvm::enumerate(scores))
    score = modify(score, keyOf(first, index), rowOf(index, scores.size()));
  Reg isFull = (first >= full.low) & (first + sizes.kvBlock <= full.high);
  return k.choose(isFull, [&] { return scores; }, [&] { return hide(scores, first); });
}
