//===- SecondPass.cpp - contexts that are not finite ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The non-finite fallback. A masked key's numerator is exactly 0, but zero times a value of Inf or
// NaN is NaN: a query block whose context is not finite is recomputed without the masked keys.
//
//===----------------------------------------------------------------------===//

#include "AttentionContext.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

Func attn::buildSecondKvBlocks(const AttentionBlocks &blocks, Func largest, Func kvBlocks) {
  PipelineBuilder &p = blocks.p;
  return p.func("fallback_kv_blocks", kQBlockVars, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    return select(largest(v) >= p.i32(kInfBits), kvBlocks(v), p.i32(0));
  });
}

/// The numerator of score `s`, 0 if the key is masked.
static Scalar getSecondNumerator(const AttentionBlocks &blocks, const ScoreSteps &steps,
                                 const Numerators &numerators, const RowState &row, Scalar s,
                                 ArrayRef<Scalar> v) {
  PipelineBuilder &p = blocks.p;
  const AttentionInputs &in = blocks.in;
  BlockCoords t(v);
  Scalar m = row.maximum(v[1], v[0], t);
  Scalar isMasked = bits(s) == p.i32(kMinusInfBits),
         isVanishing = numerators.exponent(s, m) < in.f32(kMinProbExponent);
  // A visible key's numerator is positive, so that an infinite value counts. With a sink all
  // numerators may be small.
  Scalar w = numerators.ofScore(s, m);
  w = in.op.getSink() ? blend(w == 0, in.f32(kMinNumerator), w) : w + kMinNumerator;
  Scalar prob = in.f32(1);
  if (numerators.mayHaveNaNSum()) { // a NaN sum makes all probs of the row NaN
    Scalar total = getSumWithSink(blocks, row, v[0], t);
    isVanishing = isVanishing && isNumber(total);
    w = blend(isNumber(total), w, total);
    prob = blend(isNumber(total), prob, total);
  }
  // A prob that the prob region zeroes counts as masked. NaN times zero is NaN.
  if (!in.op.getProbMod().empty())
    isMasked = isMasked || magnitude(steps.modifyProb(prob, v[0], v[1], v[2], t)) == p.i32(0);
  return pick(!(isMasked || isVanishing), w);
}

void attn::buildSecondNumerators(SecondPass &pass, const AttentionBlocks &blocks,
                                 const ScoreSteps &steps, const Numerators &numerators,
                                 const RowState &row, const LseOutput &lse, Body scoreAt) {
  PipelineBuilder &p = blocks.p;
  Type f32Type = p.b().getF32Type();
  Func all = pass.numerators =
      p.func("fallback_weight", kScoreVars, f32Type, [&](ArrayRef<Scalar> v) {
        Scalar s = scoreAt(v), w = getSecondNumerator(blocks, steps, numerators, row, s, v);
        return lse ? lse.markNaN(w, RowPlace::inBlock(blocks, v[0], BlockCoords(v)), s) : w;
      });
  auto isKept = [&](ArrayRef<Scalar> v) { return !(bits(all(v)) == p.i32(0)); };
  pass.kept = p.func("fallback_kept", kScoreVars, p.b().getI32Type(),
                     [&](ArrayRef<Scalar> v) { return -convert(isKept(v), p.b().getI32Type()); });
  pass.modified = all;
  if (!blocks.in.op.getProbMod().empty())
    pass.modified = p.func("fallback_modified", kScoreVars, f32Type, [&](ArrayRef<Scalar> v) {
      return pick(isKept(v), steps.modifyProb(all(v), v[0], v[1], v[2], BlockCoords(v)));
    });
}

Scalar attn::keepValue(const SecondPass &pass, Scalar value, Scalar ii, Scalar k, Scalar c,
                       const BlockCoords &t) {
  return fromBits(bits(value) & pass.kept(ii, k, c, t.it, t.h, t.b), value.getType());
}

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

/// The largest magnitude of a query block's context, and of its state if sums alone may be NaN.
static void buildLargest(SecondPass &pass, const AttentionBlocks &blocks,
                         const BlockedColumns &columns, Func acc, int64_t lanes,
                         bool mayHaveNaNSum) {
  PipelineBuilder &p = blocks.p;
  Type i32Type = p.b().getI32Type();
  StringRef vars[] = {"x", "it", "h", "b"};
  auto zero = [&](ArrayRef<Scalar>) { return p.i32(0); };
  Func ofLane = pass.largestOfLane = p.func("largest_of_lane", vars, i32Type, zero);
  p.update(ofLane, vars,
           {{"rx", p.i32((mayHaveNaNSum ? columns.width() : columns.block) / lanes)},
            {"ry", p.i32(columns.numBlocks)},
            {"ri", p.i32(mayHaveNaNSum ? columns.countRows(blocks.rows) : blocks.rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar row = mayHaveNaNSum ? r[2] : columns.contextRow(r[2]);
             Scalar x = acc(r[0] * lanes + v[0], r[1], row, v[1], v[2], v[3]);
             return max(ofLane(v), magnitude(x));
           });
  Func largest = pass.largest = p.func("largest", kQBlockVars, i32Type, zero);
  p.update(largest, kQBlockVars, {{"rl", p.i32(lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar x = ofLane(r[0], v[0], v[1], v[2]);
             return max(largest(v), x);
           });
}

/// Sums of numerator·value over a KV block's keys.
static Func buildProduct(const SecondPass &pass, const KvReader &reader) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  int64_t sums = countKeySums(blocks), keys = blocks.kvBlock / sums;
  SmallVector<StringRef> vars = {"x", "ii", "c", "it", "h", "b"};
  if (sums > 1)
    vars.insert(vars.begin() + 2, "j");
  Func product = p.func("fallback_product", vars, p.b().getF32Type(),
                        [&](ArrayRef<Scalar>) { return blocks.in.f32(0); });
  p.update(product, vars, {{"rk", p.i32(keys)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar k = sums > 1 ? v[2] * keys + r[0] : r[0], c = v[v.size() - 4], ii = v[1];
             Scalar x = reader.value(min(v[0], blocks.in.valueDim - 1), k, c, t);
             Scalar kept = keepValue(pass, x, ii, k, c, t);
             return {product(v) + pass.modified(ii, k, c, t.it, t.h, t.b) * kept,
                     {},
                     reader.isVisible(k, c, t)};
           });
  return product;
}

static Func buildSecondContext(const SecondPass &pass, const AttentionBlocks &blocks) {
  PipelineBuilder &p = blocks.p;
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  Func context = p.func("fallback_context", vars, p.b().getF32Type(),
                        [&](ArrayRef<Scalar>) { return blocks.in.f32(0); });
  SmallVector<Reduction> reductions = {{"rc", blocks.maxKvBlocks()}};
  if (int64_t sums = countKeySums(blocks); sums > 1)
    reductions.push_back({"rj", p.i32(sums)});
  p.update(context, vars, reductions, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    BlockCoords t(v);
    SmallVector<Scalar> coords(v);
    for (Scalar x : r) // j c it h b
      coords.insert(coords.begin() + std::size(vars) - 3, x);
    return {context(v) + pass.product(coords), {}, r[0] < pass.kvBlocks(t.it, t.h, t.b)};
  });
  return context;
}

/// The tile of dot products is unrolled: regions are inlined once at the numerator instead of in
/// each of the tile's vectors.
SecondPass attn::buildSecondPass(const KvReader &reader, const BlockedColumns &columns,
                                 const ScoreSteps &steps, const Numerators &numerators,
                                 const RowState &row, const LseOutput &lse, const FirstPass &first,
                                 function_ref<StagedReads()> stage) {
  const AttentionBlocks &blocks = reader.blocks;
  // Its loops over KV blocks are others.
  const KvReader own = reader.withoutLookUps();
  SecondPass pass;
  buildLargest(pass, blocks, columns, first.acc, first.lanes, numerators.mayHaveNaNSum());
  pass.kvBlocks = buildSecondKvBlocks(blocks, pass.largest, first.kvBlocks);
  pass.dot = buildDotProduct(
      blocks, first.query,
      [&](Scalar k, Scalar c, const BlockCoords &t, Scalar d) {
        if (first.dotForm.inPairs)
          return own.keyPair(d, k, c, t);
        return first.scalesDots ? own.unscaledKey(d, k, c, t) : own.key(d, k, c, t);
      },
      first.dotForm, "fallback_dot");
  pass.staged = stage();
  pass.score = blocks.p.func(
      "fallback_score", kScoreVars, blocks.p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
        Scalar dot = pass.dot.sum(v);
        return first.scalesDots ? own.scaledDot(dot, v[1], v[2], BlockCoords(v)) : dot;
      });
  buildSecondNumerators(pass, blocks, steps, numerators, row, lse, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar s = steps.modify(pass.score(v), v[0], v[1], v[2], t, pass.staged);
    return steps.hide(s, v[0], v[1], v[2], t, pass.staged);
  });
  pass.product = buildProduct(pass, own);
  pass.context = buildSecondContext(pass, blocks);
  return pass;
}

Scalar attn::getContextSum(const SecondPass &pass, const ContextColumns &columns, Func acc,
                           Scalar d, Scalar ii, const BlockCoords &t) {
  Scalar y = columns.blockOf(d), x = columns.column(d);
  return blend(pass.isNeeded(t), pass.context(d, ii, t.it, t.h, t.b),
               acc(x, y, columns.contextRow(ii), t.it, t.h, t.b));
}
