//===- LaneSquare.cpp - sums of lanes, as many at a time ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneSquare.h"

#include "Shuffles.h"

using namespace mlir;
using namespace mlir::attn;

/// Row, number of the square, and block.
static constexpr StringRef kSquareVars[] = {"ii", "u", "c", "it", "h", "b"};

LaneSquare::LaneSquare(PipelineBuilder &p, Func partial, int64_t lanes, StringRef name)
    : lanes(lanes) {
  Type f32 = p.b().getF32Type();
  stored = p.func((name + "_stored").str(), {"j", "ii", "k", "c", "it", "h", "b"}, f32,
                  [&](ArrayRef<Scalar> v) { return partial(v); });
  auto add = [&](Scalar e, Scalar n, Scalar w, int64_t half, ArrayRef<Scalar> square) {
    auto read = [&](Scalar element) {
      if (!halves.empty())
        return halves.back()(concat<Scalar>({element, n, w}, square));
      Scalar k = square[1] * lanes + n * kShuffled + w;
      return stored(concat<Scalar>({element, square[0], k}, square.drop_front(2)));
    };
    return read(e) + read(e + half);
  };
  for (int64_t half = lanes / 2; half >= kShuffled; half /= 2)
    halves.push_back(p.func(
        (name + "_lanes" + Twine(half)).str(), concat<StringRef>({"e", "n", "w"}, kSquareVars), f32,
        [&](ArrayRef<Scalar> v) { return add(v[0], v[1], v[2], half, v.drop_front(3)); }));
  pairs = p.func((name + "_pairs").str(), concat<StringRef>({"e", "v", "n", "g"}, kSquareVars), f32,
                 [&](ArrayRef<Scalar> v) {
                   return add(v[0], v[2], v[3] * 2 + v[1], /*half=*/2, v.drop_front(4));
                 });
  sums = p.func((name + "_sums").str(), concat<StringRef>({"m"}, kSquareVars), f32,
                [&](ArrayRef<Scalar>) { return undef(p.b(), f32); });
  p.update(sums, kSquareVars,
           {{"rv", p.i32(2)}, {"rg", p.i32(2)}, {"rn", p.i32(lanes / kShuffled)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             auto element = [&](int64_t e) {
               return pairs(concat<Scalar>({p.i32(e), r[0], r[2], r[1]}, v));
             };
             Scalar m = r[2] * kShuffled + r[1] * 2 + r[0];
             return {element(0) + element(1), concat<Scalar>({m}, v)};
           });
}

Scalar LaneSquare::sum(ArrayRef<Scalar> v) const {
  return sums(concat<Scalar>({v[1] % lanes, v[0], v[1] / lanes}, v.drop_front(2)));
}

void LaneSquare::schedule(const AttentionBlocks &blocks, Loop at) const {
  PipelineBuilder &p = blocks.p;
  auto place = [&](Func f, ArrayRef<std::pair<StringRef, int64_t>> extents) {
    blocks.computeInRegisters(f, at);
    for (auto [var, extent] : extents)
      p.boundExtent(f, var, extent);
    p.boundExtent(f, "ii", 1);
    p.boundExtent(f, "u", 1);
  };
  int64_t groups = lanes / kShuffled, left = lanes;
  for (Func f : halves) {
    left /= 2;
    place(f, {{"e", left}, {"n", groups}, {"w", kShuffled}});
    StageLoops v = p.stage(f);
    auto [vectors, sum] = p.split(v["n"], lanes / left);
    scheduleVectors(p, {v["e"], sum}, {vectors, v["w"]});
  }
  place(pairs, {{"e", 2}, {"v", 2}, {"n", groups}, {"g", 2}});
  StageLoops pair = p.stage(pairs);
  scheduleVectors(p, {pair["e"], pair["v"], pair["n"]}, {pair["g"]});
  place(sums, {{"m", lanes}});
  p.allowRaceConditions(sums, 0);
  p.neverPartition(sums, 0);
  StageLoops sum = p.stage(sums, 0);
  scheduleVectors(p, {sum["rv"], sum["rg"], sum["rn"]}, {});
}
