//===- Output.cpp - context and lse of a query block ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

void FragmentAttention::addOutputs() {
  context = k.output("context", partialTypes.empty() ? op.getResult().getType() : partialTypes[0]);
  if (!partialTypes.empty())
    statistics = k.output("statistics", partialTypes[1]);
  else if (op.getLse())
    lse = k.output("lse", op.getLse().getType());
}

Regs FragmentAttention::placeOf(int64_t r) {
  bool isOfBatch = !sequences || (statistics && served.limit);
  Regs place = isOfBatch ? Regs{at.batch, at.head[r], at.row[r]}
                         : Regs{k.i32(0), at.head[r], at.start + at.row[r]};
  if (statistics)
    place.insert(place.begin(), at.split);
  return place;
}

/// Pairs of each of the lane's rows, of each tile of columns in turn.
void FragmentAttention::storeElements(ArrayRef<Reg> elements, Reg firstColumn) {
  int64_t columns = op.getResult().getType().getDimSize(3);
  Regs pairs;
  if (!statistics)
    for (size_t i = 0; i < elements.size(); i += 2)
      pairs.push_back(nvvm::pack(k, elements[i], elements[i + 1], element));
  int64_t each = elements.size() / countRowTiles() / 2;
  for (int64_t r = 0; r < countRows(); ++r)
    k.when(at.isRow[r], [&] {
      for (int64_t pair = r % 2; pair < each; pair += 2) {
        int64_t i = r / 2 * each + pair;
        Reg column = firstColumn + at.column + pair / 2 * kTileColumns;
        Reg count = columns == sizes.valueDim ? k.i32(2) : k.i32(columns) - column;
        Regs place = placeOf(r);
        place.push_back(column);
        if (!statistics) {
          k.storePair(pairs[i], context->at(place), count);
          continue;
        }
        k.when(count >= 1, [&] { k.store(elements[2 * i], context->at(place)); });
        place.back() = column + 1;
        k.when(count >= 2, [&] { k.store(elements[2 * i + 1], context->at(place)); });
      }
    });
}

/// A row without visible keys has the context 0. Sums are at least 1, for which a fast division
/// suffices.
void FragmentAttention::storeContext(const RowState &state) {
  Regs inverse, elements;
  Reg zero = k.f32(0), one = k.f32(1);
  for (Reg total : state.total)
    inverse.push_back(select(total == zero, zero, divideFast(k, one, total)));
  for (auto [index, sum] : llvm::enumerate(state.context))
    elements.push_back(sum * inverse[rowOf(index, state.context.size())]);
  storeElements(elements, k.i32(0));
  storeStatistics(state, Regs(countRows(), Reg::constant(k.b(), k.b().getI1Type(), 0)));
}

/// The lse, or what the merge of splits needs.
void FragmentAttention::storeStatistics(const RowState &state, ArrayRef<Reg> isOfNaN) {
  Reg noNumber = k.f32(std::numeric_limits<float>::quiet_NaN());
  if (lse || statistics)
    for (int64_t r = 0; r < countRows(); ++r)
      k.when((at.lane % 4 == 0) & at.isRow[r], [&] {
        if (lse) {
          Reg x = buildLse(k, state.maximum[r], state.sum[r], isOfNaN[r]);
          k.store(convert(x, lse->element), lse->at(placeOf(r)));
          return;
        }
        Reg maximum = select(isOfNaN[r], noNumber, state.maximum[r]);
        for (auto [index, x] : llvm::enumerate(Regs{maximum, state.sum[r]})) {
          Regs place = placeOf(r);
          place.push_back(k.i32(index));
          k.store(x, statistics->at(place));
        }
      });
}
