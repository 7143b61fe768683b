//===- AttentionContext.cpp - the weighted sum of values ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The online step from chunk to chunk, what is computed once more where the sum is not finite,
// and the output: the sum divided by the sum of weights.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"

#include "attnc/Dialect/Attn/ProbRegion.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A prob of less than 2^kVanishing, f32's smallest normal number, is 0.
constexpr double kVanishing = -126;
/// Less than any other weight that is not 0, and no denormal.
constexpr double kLeastWeight = std::numeric_limits<float>::min();
} // namespace

/// 1 where x > 0, else 0, for integer x: as arithmetic, which Halide does not take for
/// a condition of the chunk loop.
static Scalar step(Scalar x) {
  return convert(clamp(x, x.constant(0), x.constant(1)), x.b().getF32Type());
}

void AttentionLowering::buildProduct() {
  Type f32Type = p.b().getF32Type();
  StringRef chunkVars[] = {"x", "y", "ii", "c", "it", "h", "b"};
  if (onGpu)
    buildValueTile();
  else if (valueDim != numBlocks * block || (isShort && !byKeys))
    buildPaddedValue();
  product = p.func("product", chunkVars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  if (onGpu)
    return addProductByTwos();
  p.update(product, chunkVars, {{"rk", p.i32(chunk)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar k = r[0], c = v[3];
             Scalar x = Value(paddedValue)
                            ? paddedValue(v[1] * block + v[0], k, c, t.it, t.h, t.b)
                            : wide(value(v[1] * block + v[0],
                                         unsafePromiseClamped(key(k, c, t), p.i32(0), numKeys - 1),
                                         kvHead(t.h), t.b));
             return {product(v) + modified(v[2], k, c, t.it, t.h, t.b) * x,
                     {},
                     c * chunk + k < visibleKeys(t)};
           });
}

/// As for the scores: keys in pairs. Weights of those that are not there are 0.
void AttentionLowering::addProductByTwos() {
  StringRef vars[] = {"x", "y", "ii", "c", "it", "h", "b"};
  p.update(product, vars, {{"rk", p.i32(chunk / 2)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             auto term = [&](int64_t i) {
               Scalar k = r[0] * 2 + i, c = v[3];
               return modified(v[2], k, c, t.it, t.h, t.b) *
                      valueTile(valueColumn(v[0], v[1]), k, c, t.it, t.h, t.b);
             };
             return product(v) + (term(0) + term(1));
           });
}

/// What a column holds before the first key: nothing, or a sink, whose own weight is 1 and whose
/// value is 0; of one that is no number or infinite nothing is one, also where no key is seen. Of
/// several blocks that share a row's keys the first one has it.
Scalar AttentionLowering::startOf(Scalar x, Scalar ii, const TileCoords &t) {
  Scalar nothing = select(x == maxColumn(), f32(-kMaxFloat), f32(0));
  if (!op.getSink())
    return nothing;
  Func sink = p.input("sink", op.getSink());
  SmallVector<Scalar> place = {row(ii, t), head(ii, t), t.b};
  for (auto [at, size] : llvm::zip(place, llvm::reverse(op.getSink().getType().getShape())))
    if (size == 1)
      at = p.i32(0);
  Scalar score = wide(sink(place));
  Scalar isUsual = magnitude(score) < p.i32(kInfBits) || bits(score) == p.i32(kMinusInfBits);
  Scalar noNumber = fromBits(p.i32(kNaNBits), p.b().getF32Type());
  Scalar start =
      blend(x == maxColumn(), score, blend(isUsual, pick(x == sumColumn(), f32(1)), noNumber));
  return keySplits == 1 ? start : blend(t.it % keySplits == 0, start, nothing);
}

void AttentionLowering::buildContext() {
  Type f32Type = p.b().getF32Type();
  buildProduct();
  StringRef tileVars[] = {"x", "y", "ii", "it", "h", "b"};
  acc = p.func("acc", tileVars, f32Type,
               [&](ArrayRef<Scalar> v) { return startOf(v[0], v[2], TileCoords(v)); });
  p.update(acc, {"ii", "it", "h", "b"},
           {{"rx", p.i32(block + lanes)},
            {"ry", p.i32(numBlocks)},
            {"rc", (numKeys + (chunk - 1)) / chunk}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) { return updateColumns(v, r); });
  inverse = p.func("inverse", {"ii", "it", "h", "b"}, f32Type, [&](ArrayRef<Scalar> v) {
    Scalar total = acc(p.i32(sumColumn()), p.i32(0), v[0], v[1], v[2], v[3]);
    return reciprocal(total);
  });
}

/// 1 / total; 0 where no key is seen, and where NaN among probs counts as 0. A prob region may
/// make all of a row's NaN zero: 1 keeps what the exact weights made of them.
Scalar AttentionLowering::reciprocal(Scalar total) {
  Scalar inverse = strictFloat(f32(1) / total), isSum = !(total == 0);
  if (op.getProbMod().empty())
    return pick(isSum, inverse);
  if (ProbRegion(op.getProbMod()).zeroesNaN())
    return pick(isSum && isNumber(total), inverse);
  return pick(isSum, blend(isNumber(total), inverse, f32(1)));
}

Scalar AttentionLowering::magnitude(Scalar x) { return bits(x) & p.i32(0x7fffffff); }

Scalar AttentionLowering::isNumber(Scalar x) { return magnitude(x) <= p.i32(kInfBits); }

/// Values as the threads of a GPU read them. Those of keys that are not there, and columns
/// beyond the last, are 0.
void AttentionLowering::buildValueTile() {
  StringRef vars[] = {"x", "k", "c", "it", "h", "b"};
  valueTile = p.func("value_tile", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar exists = key(v[1], v[2], t) < high(t.it, t.h, t.b);
    if (valueDim != numBlocks * block)
      exists = exists && v[0] < valueDim;
    Scalar x = value(min(v[0], valueDim - 1), safeKey(v[1], v[2], t), kvHead(t.h), t.b);
    return pick(exists, wide(x));
  });
}

/// Value dims that fill no whole block are copied beside zeros; those of short elements are
/// made f32 once for all rows of a tile.
void AttentionLowering::buildPaddedValue() {
  StringRef vars[] = {"x", "k", "c", "it", "h", "b"};
  paddedValue =
      p.func("padded_value", vars, p.b().getF32Type(), [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(paddedValue, ArrayRef(vars).drop_front(), {{"rv", p.i32(valueDim)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             return {wide(value(r[0], safeKey(v[0], v[1], t), kvHead(t.h), t.b)), at};
           });
}

/// The online step: with the new maximum M of a row, both the old columns and the chunk's
/// are rescaled to M and added; the last column becomes M.
Update AttentionLowering::updateColumns(ArrayRef<Scalar> v, ArrayRef<Scalar> r) {
  TileCoords t(v);
  Scalar ii = v[0], x = r[0], y = r[1], c = r[2];
  Scalar oldMax = acc(p.i32(maxColumn()), y, ii, t.it, t.h, t.b);
  Scalar chunkMax = maximum(ii, c, t.it, t.h, t.b), newMax = machineMax(oldMax, chunkMax);
  Scalar isContext = step(p.i32(block) - x), isSum = step(x - (sumColumn() - 1));
  Scalar fresh = isContext * product(min(x, block - 1), y, ii, c, t.it, t.h, t.b) +
                 isSum * sum(ii, c, t.it, t.h, t.b);
  Scalar old = acc(x, y, ii, t.it, t.h, t.b);
  Scalar scaled = old * weight(oldMax, newMax) + fresh * weight(chunkMax, newMax);
  Scalar result = blend(x == maxColumn(), newMax, scaled);
  return {result, {x, y, ii, t.it, t.h, t.b}, c < chunks(t.it, t.h, t.b)};
}

/// The weights once more, to the row's maximum; those of keys that are left out are 0, all
/// others are more. Values of the former are left out by all bits of `exactKept`: a sum then
/// takes one instruction more than in the first pass.
void AttentionLowering::buildExactWeights() {
  Type f32Type = p.b().getF32Type();
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  std::tie(exactDot, exactDotPart) =
      sumOverDims("exact_dot", [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
        return wide(key_(d, safeKey(k, c, t), kvHead(t.h), t.b));
      });
  exactStaged = buildStaged("exact_staged");
  exactScore = p.func("exact_score", vars, f32Type, [&](ArrayRef<Scalar> v) {
    return modifiedScore(exactDot(v), v[0], v[1], v[2], TileCoords(v), exactStaged);
  });
  exactWeight = p.func("exact_weight", vars, f32Type, [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar s = exactScore(v), m = acc(p.i32(maxColumn()), p.i32(0), v[0], t.it, t.h, t.b);
    Scalar isLeftOut = bits(s) == p.i32(kMinusInfBits),
           isVanishing = exponent(s, m) < f32(kVanishing);
    // What is visible weighs something, however little, so that an infinite value counts.
    Scalar w = weight(s, m) + kLeastWeight;
    if (!op.getProbMod().empty()) {
      // A prob that its region makes zero is zero like a masked one. Where the row's sum is NaN,
      // so is each of the others.
      Scalar total = acc(p.i32(sumColumn()), p.i32(0), v[0], t.it, t.h, t.b);
      isLeftOut = isLeftOut || magnitude(modifiedProb(f32(1), v[0], v[1], v[2], t)) == p.i32(0);
      isVanishing = isVanishing && isNumber(total);
      w = blend(isNumber(total), w, total);
    }
    return pick(!(isLeftOut || isVanishing), w);
  });
  auto isKept = [&](ArrayRef<Scalar> v) { return !(bits(exactWeight(v)) == p.i32(0)); };
  exactKept = p.func("exact_kept", vars, p.b().getI32Type(),
                     [&](ArrayRef<Scalar> v) { return -convert(isKept(v), p.b().getI32Type()); });
  exactModified = exactWeight;
  if (!op.getProbMod().empty())
    exactModified = p.func("exact_modified", vars, f32Type, [&](ArrayRef<Scalar> v) {
      return pick(isKept(v), modifiedProb(exactWeight(v), v[0], v[1], v[2], TileCoords(v)));
    });
}

/// For a tile whose context is not finite: once more, without the masked keys. The row
/// maxima and sums are right already.
void AttentionLowering::buildExactContext() {
  Type f32Type = p.b().getF32Type(), i32Type = p.b().getI32Type();
  StringRef tileOnly[] = {"it", "h", "b"};
  worstOfLane = p.func("worst_of_lane", {"x", "it", "h", "b"}, i32Type,
                       [&](ArrayRef<Scalar>) { return p.i32(0); });
  // Lanes are those of a column, on a GPU rows. With a prob region the sum counts as well: it
  // may be NaN where the region leaves none in the context.
  int64_t columns = onGpu ? block : block / lanes, rows = onGpu ? 1 : rowTile;
  if (!op.getProbMod().empty())
    ++columns;
  p.update(worstOfLane, {"x", "it", "h", "b"},
           {{"rx", p.i32(columns)}, {"ry", p.i32(numBlocks)}, {"ri", p.i32(rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar x = onGpu ? acc(r[0], r[1], v[0], v[1], v[2], v[3])
                              : acc(r[0] * lanes + v[0], r[1], r[2], v[1], v[2], v[3]);
             return max(worstOfLane(v), magnitude(x));
           });
  worst = p.func("worst", tileOnly, i32Type, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(worst, tileOnly, {{"rl", p.i32(onGpu ? rowTile : lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return max(worst(v), worstOfLane(r[0], v[0], v[1], v[2]));
           });
  exactChunks = p.func("exact_chunks", tileOnly, i32Type, [&](ArrayRef<Scalar> v) {
    return select(worst(v) >= p.i32(kInfBits), chunks(v), p.i32(0));
  });

  buildExactWeights();
  StringRef productVars[] = {"x", "ii", "c", "it", "h", "b"};
  exactProduct =
      p.func("exact_product", productVars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(exactProduct, productVars, {{"rk", p.i32(chunk)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar k = r[0], c = v[2];
             Scalar x = wide(value(min(v[0], valueDim - 1), safeKey(k, c, t), kvHead(t.h), t.b));
             Scalar kept = fromBits(bits(x) & exactKept(v[1], k, c, t.it, t.h, t.b), f32Type);
             Scalar sum = exactProduct(v) + exactModified(v[1], k, c, t.it, t.h, t.b) * kept;
             if (onGpu)
               return sum;
             return {sum, {}, c * chunk + k < visibleKeys(t)};
           });
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  exactContext = p.func("exact_context", vars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(exactContext, vars, {{"rc", (numKeys + (chunk - 1)) / chunk}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             return {exactContext(v) + exactProduct(v[0], v[1], r[0], t.it, t.h, t.b),
                     {},
                     r[0] < exactChunks(t.it, t.h, t.b)};
           });
}

/// The weighted sum of a value dim.
Scalar AttentionLowering::contextSum(Scalar d, Scalar ii, const TileCoords &t) {
  Scalar isExact = exactChunks(t.it, t.h, t.b) > p.i32(0);
  return blend(isExact, exactContext(d, ii, t.it, t.h, t.b), accumulated(d, ii, t));
}

/// x. Halide hands the shared memory of a func on after the last read that it finds in the
/// text, also where a loop goes back to one: what loops read is read once more behind them. No
/// sum is negative.
Scalar AttentionLowering::keepQuery(Scalar x, Scalar ii, const TileCoords &t) {
  Scalar total = acc(p.i32(sumColumn()), p.i32(0), ii, t.it, t.h, t.b);
  return blend(total < 0, queryT(ii, p.i32(0), t.it, t.h, t.b), x);
}

/// What each block leaves of its keys: the context's sum, the weights' sum and the maximum.
void AttentionLowering::buildPartialOutput() {
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  partial = p.func("partial", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    auto last = [&](int64_t column) { return acc(p.i32(column), p.i32(0), v[1], t.it, t.h, t.b); };
    Scalar sum = contextSum(min(v[0], valueDim - 1), v[1], t);
    Scalar result = blend(v[0] == p.i32(valueDim), last(sumColumn()),
                          blend(v[0] > valueDim, last(maxColumn()), sum));
    return keepQuery(result, v[1], t);
  });
}

/// Of the parts that blocks left, with all weights to one maximum.
Scalar AttentionLowering::mergedContext(Scalar d, Scalar ii, Scalar it, Scalar h, Scalar b) {
  auto part = [&](int64_t s, Scalar x) { return partial(x, ii, it * keySplits + s, h, b); };
  Scalar top = part(0, p.i32(valueDim + 1)), total = f32(0), sum = f32(0);
  for (int64_t s = 1; s < keySplits; ++s)
    top = machineMax(top, part(s, p.i32(valueDim + 1)));
  for (int64_t s = 0; s < keySplits; ++s) {
    Scalar w = weight(part(s, p.i32(valueDim + 1)), top);
    total = total + w * part(s, p.i32(valueDim));
    sum = sum + w * part(s, d);
  }
  Scalar inverse = reciprocal(total);
  return pick(!(bits(inverse) == p.i32(0)), sum * inverse);
}

void AttentionLowering::buildOutput() {
  if (keySplits != 1)
    buildPartialOutput();
  Type element = op.getResult().getType().getElementType();
  context = p.func("context", {"d", "i", "h", "b"}, element, [&](ArrayRef<Scalar> v) {
    Scalar it = v[1] / rowsOfHead, ii = v[1] % rowsOfHead, h = v[2], b = v[3];
    if (sharedHeads != 1) {
      ii = ii * sharedHeads + h % sharedHeads;
      h = h / sharedHeads;
    }
    if (keySplits != 1)
      return convert(mergedContext(v[0], ii, it, h, b), element);
    Scalar coords[] = {it, h, b};
    TileCoords t(coords);
    Scalar sum = contextSum(v[0], ii, t), total = inverse(ii, it, h, b);
    if (onGpu)
      sum = keepQuery(sum, ii, t);
    // A row that sees no key is 0.
    return convert(pick(!(bits(total) == p.i32(0)), sum * total), element);
  });
  p.output(context, op.getResult().getType(), /*knownDims=*/1);
}
