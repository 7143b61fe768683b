//===- MergedSplits.cpp - results of KV splits merged ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergedSplits.h"

using namespace mlir;
using namespace mlir::attn;

/// Weight of a KV split in the merge: zero if its probabilities underflow, whatever its values,
/// else positive. A NaN sum comes from a NaN score, which the maximum does not show, and keeps its
/// weight.
static Scalar weighSplit(const Numerators &numerators, Scalar maximum, Scalar sum, Scalar top) {
  Scalar smallest = numerators.in.f32(kMinProbExponent);
  Scalar isVanishing = numerators.exponent(maximum, top) < smallest && isNumber(sum);
  return pick(!isVanishing, numerators.get(maximum, top) + kMinNumerator);
}

static constexpr StringRef kVars[] = {"x", "ii", "it", "h", "b"};

/// The sums of splits are added in a fixed order, so that results do not depend on the number of
/// threads.
MergedSplits
attn::buildMergedSplits(const QBlockMask &mask, const Numerators &numerators, const RowState &row,
                        const LseOutput &lse,
                        function_ref<Scalar(Scalar d, Scalar ii, const BlockCoords &t)> sumAt) {
  const AttentionBlocks &blocks = mask.blocks;
  MergedSplits s;
  if (!blocks.splits.isSplit())
    return s;
  PipelineBuilder &p = blocks.p;
  const AttentionInputs &in = blocks.in;
  Type f32Type = p.b().getF32Type();
  ArrayRef<StringRef> rowVars = ArrayRef(kVars).drop_front();
  Scalar splits = blocks.splits.count, sumColumn = p.i32(in.valueDim);
  auto partial = [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar sum = sumAt(min(v[0], in.valueDim - 1), v[1], t);
    return blend(v[0] == sumColumn, row.sum(v[1], t),
                 blend(v[0] > in.valueDim, row.maximum(p.i32(0), v[1], t), sum));
  };
  s.used = buildUsedSplits(mask);
  if (Value(s.used)) {
    s.ofUsed = p.func("partial_of_used", kVars, f32Type, partial);
    s.partial =
        p.func("partial", kVars, f32Type, [&](ArrayRef<Scalar>) { return undef(p.b(), f32Type); });
    // A condition is one of a reduction, here of one element.
    p.update(s.partial, kVars, {{"ru", p.i32(1)}}, [&](ArrayRef<Scalar> v, auto) -> Update {
      BlockCoords t(v);
      Scalar qBlock = clamp(t.it / splits, p.i32(0), blocks.maxQBlocks() - 1);
      return {s.ofUsed(v), {}, t.it % splits < s.used(qBlock, t.b)};
    });
  } else {
    s.partial = p.func("partial", kVars, f32Type, partial);
  }
  auto isUsed = [&](const BlockCoords &t, Scalar split) {
    return Value(s.used) ? split < s.used(t.it, t.b) : Scalar();
  };
  auto at = [&](Scalar x, const BlockCoords &t, Scalar ii, Scalar split) {
    return s.partial(x, ii, t.it * splits + split, t.h, t.b);
  };
  auto maximumOf = [&](const BlockCoords &t, Scalar ii, Scalar split) {
    return at(p.i32(in.valueDim + 1), t, ii, split);
  };
  s.top = p.func("top", rowVars, f32Type, [&](ArrayRef<Scalar>) { return in.f32(-kMaxFloat); });
  p.update(s.top, rowVars, {{"rp", splits}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    return {machineMax(s.top(v), maximumOf(BlockCoords(v), v[0], r[0])),
            {},
            isUsed(BlockCoords(v), r[0])};
  });
  s.merged = p.func("merged", kVars, f32Type, [&](ArrayRef<Scalar>) { return in.f32(0); });
  p.update(s.merged, kVars, {{"rp", splits}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar w = weighSplit(numerators, maximumOf(t, v[1], r[0]),
                                   at(sumColumn, t, v[1], r[0]), s.top(v[1], t.it, t.h, t.b));
             Scalar counts = !(bits(w) == p.i32(0));
             return {s.merged(v) + pick(counts, w * at(v[0], t, v[1], r[0])), {}, isUsed(t, r[0])};
           });
  s.inverse = p.func("merged_inverse", rowVars, f32Type, [&](ArrayRef<Scalar> v) {
    RowSum sum{s.merged(sumColumn, v[0], v[1], v[2], v[3])};
    if (!lse)
      return numerators.reciprocal(sum.total);
    RowPlace place = RowPlace::inMergedBlock(blocks, v[0], BlockCoords(v));
    sum.maximum = s.top(v);
    return lse.storeBeside(lse.reciprocal(place, sum), place, sum);
  });
  return s;
}
