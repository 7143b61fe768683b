//===- Transposed.cpp - copies with rows in the lanes ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transposed.h"

#include "Shuffles.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

TransposedFunc::TransposedFunc(PipelineBuilder &p, int64_t lanes, int64_t columns, StringRef name,
                               ArrayRef<StringRef> vars, Type type, Body element)
    : lanes(lanes) {
  if (lanes < kShuffled || !llvm::isPowerOf2_64(lanes) || columns % lanes != 0) {
    func = p.func(name, vars, type, element);
    return;
  }
  SmallVector<StringRef> squareVars = concat<StringRef>({"u", "v"}, vars.drop_front(2));
  rows = p.func((name + "_rows").str(), concat<StringRef>({"c", "r"}, squareVars), type,
                [&](ArrayRef<Scalar> v) {
                  return element(
                      concat<Scalar>({v[2] * lanes + v[1], v[3] * lanes + v[0]}, v.drop_front(4)));
                });
  quads = p.func((name + "_quads").str(), concat<StringRef>({"e", "n", "w", "q"}, squareVars), type,
                 [&](ArrayRef<Scalar> v) {
                   return rows(concat<Scalar>({v[3] * kShuffled + v[0], v[1] * kShuffled + v[2]},
                                              v.drop_front(4)));
                 });
  pairs = p.func((name + "_pairs").str(),
                 concat<StringRef>({"rw", "ce", "n", "cv", "rg", "q"}, squareVars), type,
                 [&](ArrayRef<Scalar> v) {
                   Scalar e = v[3] * 2 + v[1], w = v[4] * 2 + v[0];
                   return quads(concat<Scalar>({e, v[2], w, v[5]}, v.drop_front(6)));
                 });
  square = p.func((name + "_square").str(), concat<StringRef>({"r", "c"}, squareVars), type,
                  [&](ArrayRef<Scalar>) { return undef(p.b(), type); });
  Scalar two = p.i32(2), numQuads = p.i32(lanes / kShuffled);
  p.update(square, squareVars,
           {{"rw", two}, {"rg", two}, {"rn", numQuads}, {"re", two}, {"rv", two}, {"rq", numQuads}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar row = r[2] * kShuffled + r[1] * 2 + r[0],
                    column = r[5] * kShuffled + r[4] * 2 + r[3];
             return {pairs(concat<Scalar>({r[0], r[3], r[2], r[4], r[1], r[5]}, v)),
                     concat<Scalar>({row, column}, v)};
           });
  func = p.func(name, vars, type, [&](ArrayRef<Scalar> v) {
    return square(
        concat<Scalar>({v[0] % lanes, v[1] % lanes, v[0] / lanes, v[1] / lanes}, v.drop_front(2)));
  });
}

void TransposedFunc::schedule(PipelineBuilder &p) const {
  SmallVector<Loop> loops = p.loops(func);
  auto [squareOfRow, lane] = p.split(loops[0], lanes);
  auto [squareOfColumn, column] = p.split(loops[1], lanes, TailStrategy::round_up);
  Loop at = squareOfColumn;
  p.reorder({lane, column, at, squareOfRow});
  p.vectorize(lane);
  p.unroll(column);
  auto place = [&](Func f, ArrayRef<int64_t> extents) {
    p.computeAt(f, at);
    p.storeIn(f, MemoryType::register_);
    p.neverPartition(f);
    for (int64_t dim = 0; dim < f.getRank(); ++dim)
      p.boundExtent(f, dim, dim < int64_t(extents.size()) ? extents[dim] : 1);
  };
  int64_t numQuads = lanes / kShuffled;
  place(rows, {lanes, lanes});
  place(quads, {kShuffled, numQuads, kShuffled, numQuads});
  place(pairs, {2, 2, numQuads, 2, 2, numQuads});
  place(square, {lanes, lanes});
  StageLoops row = p.stage(rows), quad = p.stage(quads), pair = p.stage(pairs),
             update = p.stage(square, 0);
  scheduleVectors(p, {row["c"]}, {row["r"]});
  scheduleVectors(p, {quad["e"], quad["n"]}, {quad["w"], quad["q"]});
  scheduleVectors(p, {pair["rw"], pair["ce"], pair["n"]}, {pair["cv"], pair["rg"], pair["q"]});
  p.allowRaceConditions(square, 0);
  p.neverPartition(square, 0);
  scheduleVectors(p, {update["rw"], update["rg"], update["rn"]},
                  {update["re"], update["rv"], update["rq"]});
}
