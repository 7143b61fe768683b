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
#include "Rows.h"

#include "attnc/Dialect/Attn/ProbRegion.h"

#include <limits>
#include <numeric>

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

/// How many sums over a chunk's keys a value dim's is the sum of.
int64_t AttentionLowering::countParts() const {
  return onGpu ? 1 : countEqualParts(chunk, kLongestSum).value_or(1);
}

/// `sum` at `at` and the product of key k of the chunk, tile and column that `v` says.
Update AttentionLowering::addKey(Func sum, ArrayRef<Scalar> at, ArrayRef<Scalar> v, Scalar k) {
  TileCoords t(v);
  Scalar x = v[0], y = v[1], ii = v[2], c = v[3], w = modified(ii, k, c, t.it, t.h, t.b);
  if (onGpu) // weights of keys that are not there are 0
    return sum(at) + w * valueTile(valueColumn(x, y), k, c, t.it, t.h, t.b);
  Scalar element =
      Value(paddedValue)
          ? paddedValue(y * block + x, k, c, t.it, t.h, t.b)
          : wide(value(y * block + x, unsafePromiseClamped(key(k, c, t), p.i32(0), numKeys - 1),
                       kvHead(t.h), t.b));
  Scalar next = sum(at) + w * element, isVisible = c * chunk + k < visibleKeys(t);
  if (!Value(groupHigh))
    return {next, {}, isVisible};
  // A group's keys are visible ones, but bounds inference does not look into its funcs: without
  // `isVisible`, scores and weights would be computed for the whole chunk.
  Scalar g = ii / contextRows, first = groupLow(g, t.it, t.h, t.b),
         end = groupHigh(g, t.it, t.h, t.b);
  return {next, {}, isVisible && key(k, c, t) >= first && key(k, c, t) < end};
}

void AttentionLowering::buildProduct() {
  Type f32Type = p.b().getF32Type();
  StringRef chunkVars[] = {"x", "y", "ii", "c", "it", "h", "b"};
  if (onGpu)
    buildValueTile();
  else if (valueDim != numBlocks * block || (isShort && !byKeys))
    buildPaddedValue();
  product = p.func("product", chunkVars, f32Type, [&](ArrayRef<Scalar> v) {
    return isOneChunk ? fetchAhead(f32(0), nextQuery(v[0], v[1], v[2], TileCoords(v))) : f32(0);
  });
  int64_t parts = countParts(), keys = chunk / parts;
  if (parts == 1) {
    p.update(product, chunkVars, {{"rk", p.i32(chunk)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) { return addKey(product, v, v, r[0]); });
    return;
  }
  StringRef partVars[] = {"x", "y", "ii", "j", "c", "it", "h", "b"};
  productPart = p.func("product_part", partVars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(productPart, partVars, {{"rk", p.i32(keys)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) {
             return addKey(productPart, v, without(v, 3), v[3] * keys + r[0]);
           });
  p.update(product, chunkVars, {{"rj", p.i32(parts)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return {product(v) + productPart(along(v, 3, r[0])),
                     {},
                     v[3] * chunk + r[0] * keys < visibleKeys(TileCoords(v))};
           });
}

/// An element of the query that the next tile of rows reads: few keys take so little time that
/// waiting for it would be felt. Each vector of the product is one of the query's, about.
Scalar AttentionLowering::nextQuery(Scalar x, Scalar y, Scalar ii, const TileCoords &t) {
  Scalar d = y * block + x, next = min(t.it * rowTile + rowTile + ii, numRows - 1);
  return query(headDim < numBlocks * block ? min(d, headDim - 1) : d, next, t.h, t.b);
}

/// What column x of block y holds before the first key: nothing, or a sink, whose own weight is 1
/// and whose value is 0. Of several parts of a row's keys the first one has it, and of a GPU's
/// threads; but one that is no number or infinite makes NaN of each sum, and so of what every part
/// sees.
Scalar AttentionLowering::startOf(Scalar x, Scalar y, Scalar ii, const TileCoords &t) {
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
  Scalar isCounted = x == sumColumn();
  if (onGpu)
    isCounted = isCounted && y == p.i32(0);
  Scalar start = blend(x == maxColumn(), score, pick(isCounted, f32(1)));
  if (keySplits != 1)
    start = blend(t.it % parts == p.i32(0), start, nothing);
  return blend(isUsual, start, blend(x == sumColumn(), noNumber, nothing));
}

void AttentionLowering::buildContext() {
  Type f32Type = p.b().getF32Type();
  buildProduct();
  StringRef tileVars[] = {"x", "y", "ii", "it", "h", "b"};
  if (isOneChunk)
    acc = p.func("acc", tileVars, f32Type, [&](ArrayRef<Scalar> v) {
      return product(v[0], v[1], v[2], p.i32(0), v[3], v[4], v[5]);
    });
  else
    buildOnlineContext(tileVars);
  if (onGpu)
    buildRowSum();
  if (!onGpu)
    inverse = p.func("inverse", {"ii", "it", "h", "b"}, f32Type, [&](ArrayRef<Scalar> v) {
      return reciprocal(rowTotal(sumColumn(), p.i32(0), v[0], TileCoords(v)));
    });
}

void AttentionLowering::buildOnlineContext(ArrayRef<StringRef> vars) {
  acc = p.func("acc", vars, p.b().getF32Type(),
               [&](ArrayRef<Scalar> v) { return startOf(v[0], v[1], v[2], TileCoords(v)); });
  p.update(acc, {"ii", "it", "h", "b"},
           {{"rx", p.i32(block + lanes)},
            {"ry", p.i32(numBlocks)},
            {"rc", (numKeys + (chunk - 1)) / chunk}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) { return updateColumns(v, r); });
}

/// Whether a row's sum may be NaN where its context is not: of a sink beside masked keys alone,
/// and of keys whose probs a region makes zero.
bool AttentionLowering::isSumApart() { return op.getSink() || !op.getProbMod().empty(); }

/// 1 / total; 0 where no key is seen, and where NaN among probs counts as 0. Where the sum alone
/// may be NaN, 1 keeps what the exact weights made of it.
Scalar AttentionLowering::reciprocal(Scalar total) {
  Scalar inverse = strictFloat(f32(1) / total), isSum = !(total == 0);
  if (!isSumApart())
    return pick(isSum, inverse);
  if (!op.getProbMod().empty() && ProbRegion(op.getProbMod()).zeroesNaN())
    return pick(isSum && isNumber(total), inverse);
  return pick(isSum, blend(isNumber(total), inverse, f32(1)));
}

Scalar AttentionLowering::magnitude(Scalar x) { return bits(x) & p.i32(0x7fffffff); }

Scalar AttentionLowering::isNumber(Scalar x) { return magnitude(x) <= p.i32(kInfBits); }

/// Values as the threads of a GPU read them. Those of keys that are not there, and columns
/// beyond the last, are of others.
void AttentionLowering::buildValueTile() {
  StringRef vars[] = {"x", "k", "c", "it", "h", "b"};
  valueTile = p.func("value_tile", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    return wide(value(safeDim(v[0]), safeKey(v[1], v[2], t), kvHead(t.h), t.b));
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

/// The sums of a GPU's threads, and of those the sum of a row.
void AttentionLowering::buildRowSum() {
  StringRef vars[] = {"ii", "u", "it", "h", "b"};
  sumOfThread = p.func("sum_of_thread", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    return acc(p.i32(sumColumn()), v[1], v[0], v[2], v[3], v[4]);
  });
  sum = combineChains("sum", sumOfThread, plus);
}

/// The online step: with the new maximum M of a row, both the old columns and the chunk's
/// are rescaled to M and added; the last column becomes M.
Update AttentionLowering::updateColumns(ArrayRef<Scalar> v, ArrayRef<Scalar> r) {
  TileCoords t(v);
  Scalar ii = v[0], x = r[0], y = r[1], c = r[2];
  Scalar oldMax = acc(p.i32(maxColumn()), y, ii, t.it, t.h, t.b);
  Scalar chunkMax = maximum(ii, c, t.it, t.h, t.b), newMax = machineMax(oldMax, chunkMax);
  Scalar isContext = step(p.i32(block) - x), isSum = step(x - (sumColumn() - 1));
  Scalar fresh = isContext * product(min(x, block - 1), y, ii, c, t.it, t.h, t.b);
  fresh =
      fresh + isSum * (onGpu ? sumChains(ii, y, c, t.it, t.h, t.b) : sum(ii, c, t.it, t.h, t.b));
  Scalar old = acc(x, y, ii, t.it, t.h, t.b);
  Scalar scaled = old * weight(oldMax, newMax) + fresh * weight(chunkMax, newMax);
  Scalar result = blend(x == maxColumn(), newMax, scaled);
  return {result, {x, y, ii, t.it, t.h, t.b}, c < chunks(t.it, t.h, t.b)};
}

/// The largest magnitude of a tile's context, and of its sums where they may be NaN alone.
void AttentionLowering::buildWorst() {
  Type i32Type = p.b().getI32Type();
  StringRef tileOnly[] = {"it", "h", "b"};
  int64_t more = isSumApart() ? 1 : 0;
  if (onGpu) {
    StringRef vars[] = {"y", "i", "it", "h", "b"};
    worstOfLane = p.func("worst_of_thread", vars, i32Type, [&](ArrayRef<Scalar> v) {
      Scalar result = p.i32(0);
      for (int64_t ii = 0; ii < rowTile; ii += threadsY)
        for (int64_t x = 0; x < block + more; ++x)
          result = max(result, magnitude(acc(p.i32(x), v[0], v[1] + ii, v[2], v[3], v[4])));
      return result;
    });
  } else {
    StringRef vars[] = {"x", "it", "h", "b"};
    worstOfLane =
        p.func("worst_of_lane", vars, i32Type, [&](ArrayRef<Scalar>) { return p.i32(0); });
    p.update(
        worstOfLane, vars,
        {{"rx", p.i32(block / lanes + more)}, {"ry", p.i32(numBlocks)}, {"ri", p.i32(rowTile)}},
        [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
          Scalar x = acc(r[0] * lanes + v[0], r[1], r[2], v[1], v[2], v[3]);
          return max(worstOfLane(v), magnitude(x));
        });
  }
  worst = p.func("worst", tileOnly, i32Type, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(worst, tileOnly, {{"rl", p.i32(onGpu ? numBlocks * threadsY : lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar x = onGpu ? worstOfLane(r[0] % numBlocks, r[0] / numBlocks, v[0], v[1], v[2])
                              : worstOfLane(r[0], v[0], v[1], v[2]);
             return max(worst(v), x);
           });
}

/// A row's sum or maximum. On a GPU each thread has its own maximum, the one for key k as well.
Scalar AttentionLowering::rowTotal(int64_t column, Scalar k, Scalar ii, const TileCoords &t) {
  if (isOneChunk)
    return (column == sumColumn() ? sum : maximum)(ii, p.i32(0), t.it, t.h, t.b);
  if (onGpu && column == sumColumn())
    return sum(ii, t.it, t.h, t.b);
  return acc(p.i32(column), onGpu ? k % threadsX : p.i32(0), ii, t.it, t.h, t.b);
}

/// The weights once more, to the row's maximum; those of keys that are left out are 0, all
/// others are more. Values of the former are left out by all bits of `exactKept`: a sum then
/// takes one instruction more than in the first pass.
void AttentionLowering::buildExactWeights() {
  Type f32Type = p.b().getF32Type();
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  // ptxas unrolls a short loop, and takes all registers that there are to read ahead.
  std::tie(exactDot, exactDotPart) = sumOverDims(
      "exact_dot",
      [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
        return wide(key_(d, safeKey(k, c, t), kvHead(t.h), t.b));
      },
      onGpu ? std::gcd(headDim, 16) : 1);
  exactStaged = buildStaged("exact_staged");
  auto modify = [&](Scalar dot, ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar s = modifiedScore(dot, v[0], v[1], v[2], t, exactStaged);
    return visibleScore(s, v[0], v[1], v[2], t, exactStaged);
  };
  // On a CPU the dots' tile is unrolled: what the regions do is rather written once beside the
  // weight than for each of the tile's vectors.
  exactScore = p.func("exact_score", vars, f32Type, [&](ArrayRef<Scalar> v) {
    return onGpu ? modify(exactDot(v), v) : exactDot(v);
  });
  exactWeight = p.func("exact_weight", vars, f32Type, [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar s = onGpu ? exactScore(v) : modify(exactScore(v), v),
           m = rowTotal(maxColumn(), v[1], v[0], t);
    Scalar isLeftOut = bits(s) == p.i32(kMinusInfBits),
           isVanishing = exponent(s, m) < f32(kVanishing);
    // What is visible weighs something, however little, so that an infinite value counts. Beside
    // a sink all weights may be little.
    Scalar w = weight(s, m);
    w = op.getSink() ? blend(w == 0, f32(kLeastWeight), w) : w + kLeastWeight;
    Scalar prob = f32(1);
    if (isSumApart()) { // where it is NaN, so is each of the others
      Scalar total = rowTotal(sumColumn(), v[1], v[0], t);
      isVanishing = isVanishing && isNumber(total);
      w = blend(isNumber(total), w, total);
      prob = blend(isNumber(total), prob, total);
    }
    // A prob that its region makes zero is zero like a masked one. NaN times zero is NaN.
    if (!op.getProbMod().empty())
      isLeftOut = isLeftOut || magnitude(modifiedProb(prob, v[0], v[1], v[2], t)) == p.i32(0);
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
  buildWorst();
  exactChunks = p.func("exact_chunks", tileOnly, i32Type, [&](ArrayRef<Scalar> v) {
    return select(worst(v) >= p.i32(kInfBits), chunks(v), p.i32(0));
  });

  buildExactWeights();
  // On a GPU they lie as the accumulator does.
  SmallVector<StringRef> vars = {"x", "ii", "it", "h", "b"};
  if (onGpu)
    vars.insert(vars.begin() + 1, "y");
  SmallVector<StringRef> productVars = llvm::to_vector(vars);
  productVars.insert(productVars.end() - 3, "c");
  int64_t parts = countParts(), keys = chunk / parts;
  if (parts > 1)
    productVars.insert(productVars.end() - 4, "j");
  exactProduct =
      p.func("exact_product", productVars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(exactProduct, productVars, {{"rk", p.i32(keys)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar k = parts > 1 ? v[2] * keys + r[0] : r[0], c = v[v.size() - 4],
                    ii = v[onGpu ? 2 : 1];
             Scalar d = onGpu ? valueColumn(v[0], v[1]) : v[0];
             Scalar x = wide(value(onGpu ? safeDim(d) : min(d, valueDim - 1), safeKey(k, c, t),
                                   kvHead(t.h), t.b));
             Scalar kept = fromBits(bits(x) & exactKept(ii, k, c, t.it, t.h, t.b), f32Type);
             Scalar sum = exactProduct(v) + exactModified(ii, k, c, t.it, t.h, t.b) * kept;
             if (onGpu)
               return sum;
             return {sum, {}, c * chunk + k < visibleKeys(t)};
           });
  // On a GPU it takes the accumulator's place, where that is what counts: registers are few.
  exactContext = p.func("exact_context", vars, f32Type, [&](ArrayRef<Scalar> v) {
    return onGpu ? pick(!isExact(TileCoords(v)), acc(v)) : f32(0);
  });
  SmallVector<Reduction> reductions = {{"rc", (numKeys + (chunk - 1)) / chunk}};
  if (parts > 1)
    reductions.push_back({"rj", p.i32(parts)});
  p.update(exactContext, vars, reductions, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    TileCoords t(v);
    SmallVector<Scalar> coords(v);
    for (Scalar x : r) // j c it h b
      coords.insert(coords.begin() + vars.size() - 3, x);
    return {exactContext(v) + exactProduct(coords), {}, r[0] < exactChunks(t.it, t.h, t.b)};
  });
}

/// The weighted sum of the value dim d, which lies in column x of block y.
Scalar AttentionLowering::contextSum(Scalar d, Scalar x, Scalar y, Scalar ii, const TileCoords &t) {
  if (onGpu)
    return exactContext(x, y, ii, t.it, t.h, t.b);
  return blend(isExact(t), exactContext(d, ii, t.it, t.h, t.b), acc(x, y, ii, t.it, t.h, t.b));
}

/// x. Halide hands the shared memory of a func on after the last read that it finds in the
/// text, also where a loop goes back to one: what loops read is read once more behind them. No
/// sum is negative.
Scalar AttentionLowering::keepQuery(Scalar x, Scalar ii, const TileCoords &t) {
  Scalar total = rowTotal(sumColumn(), p.i32(0), ii, t);
  return blend(total < 0, queryT(ii, p.i32(0), t.it, t.h, t.b), x);
}

/// What each block leaves of its keys: the accumulator.
void AttentionLowering::buildPartialOutput() {
  StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
  partial = p.func("partial", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar context = contextSum(Scalar(), min(v[0], block - 1), v[1], v[2], t);
    Scalar last = blend(v[0] == sumColumn(), sum(v[2], t.it, t.h, t.b), acc(v));
    return keepQuery(blend(v[0] < block, context, last), v[2], t);
  });
}

/// Of the parts that blocks left, with all weights to one maximum.
AttentionLowering::Quotient AttentionLowering::mergeParts(Scalar d, Scalar ii, Scalar it, Scalar h,
                                                          Scalar b) {
  auto part = [&](int64_t s, Scalar x, Scalar y) {
    return partial(x, y, ii, it * keySplits + s, h, b);
  };
  auto last = [&](int64_t s, int64_t column) { return part(s, p.i32(column), p.i32(0)); };
  Scalar top = last(0, maxColumn()), total = f32(0), sum = f32(0);
  for (int64_t s = 1; s < keySplits; ++s)
    top = machineMax(top, last(s, maxColumn()));
  for (int64_t s = 0; s < keySplits; ++s) {
    Scalar w = weight(last(s, maxColumn()), top);
    total = total + w * last(s, sumColumn());
    sum = sum + w * part(s, columnOf(d), blockOf(d));
  }
  return {sum, reciprocal(total)};
}

/// What is left of each part of the keys: the context's sum, the weights' sum and the maximum.
void AttentionLowering::buildParts() {
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  partial = p.func("partial", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    auto last = [&](int64_t column) { return acc(p.i32(column), p.i32(0), v[1], t.it, t.h, t.b); };
    Scalar d = min(v[0], valueDim - 1), sum = contextSum(d, columnOf(d), blockOf(d), v[1], t);
    return blend(v[0] == p.i32(valueDim), last(sumColumn()),
                 blend(v[0] > valueDim, last(maxColumn()), sum));
  });
}

/// What a part counts whose maximum is `maximum`: nothing, not even what is infinite or NaN in
/// it, where its probs vanish, and else more than 0. Of a sum that is NaN some score is, which its
/// maximum does not tell.
Scalar AttentionLowering::partWeight(Scalar maximum, Scalar sum, Scalar top) {
  Scalar isVanishing = exponent(maximum, top) < f32(kVanishing) && isNumber(sum);
  return pick(!isVanishing, weight(maximum, top) + kLeastWeight);
}

/// Sums over the parts, whose number a call decides, with all weights to one maximum. They are
/// added up in order, whatever thread computed them.
void AttentionLowering::buildMerged() {
  Type f32Type = p.b().getF32Type();
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  auto at = [&](Scalar x, const TileCoords &t, Scalar ii, Scalar part) {
    return partial(x, ii, t.it * parts + part, t.h, t.b);
  };
  auto maximumOf = [&](const TileCoords &t, Scalar ii, Scalar part) {
    return at(p.i32(valueDim + 1), t, ii, part);
  };
  top = p.func("top", ArrayRef(vars).drop_front(), f32Type,
               [&](ArrayRef<Scalar>) { return f32(-kMaxFloat); });
  p.update(top, ArrayRef(vars).drop_front(), {{"rp", parts}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return machineMax(top(v), maximumOf(TileCoords(v), v[0], r[0]));
           });
  merged = p.func("merged", vars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(merged, vars, {{"rp", parts}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    TileCoords t(v);
    Scalar w = partWeight(maximumOf(t, v[1], r[0]), at(p.i32(valueDim), t, v[1], r[0]),
                          top(v[1], t.it, t.h, t.b));
    Scalar counts = !(bits(w) == p.i32(0));
    return merged(v) + pick(counts, w * at(v[0], t, v[1], r[0]));
  });
  mergedInverse =
      p.func("merged_inverse", ArrayRef(vars).drop_front(), f32Type, [&](ArrayRef<Scalar> v) {
        return reciprocal(merged(p.i32(valueDim), v[0], v[1], v[2], v[3]));
      });
}

/// Of a tile whose keys are in one part.
AttentionLowering::Quotient AttentionLowering::divideSum(Scalar d, Scalar ii, Scalar it, Scalar h,
                                                         Scalar b) {
  Scalar coords[] = {it, h, b};
  TileCoords t(coords);
  Scalar y = blockOf(d), sum = contextSum(d, columnOf(d), y, ii, t);
  if (!onGpu)
    return {sum, inverse(ii, it, h, b)};
  sum = keepQuery(sum, ii, t);
  return {sum, reciprocal(rowTotal(sumColumn(), p.i32(0), ii, t))};
}

void AttentionLowering::buildOutput() {
  if (hasParts())
    buildPartialOutput();
  bool isSplit = keySplits != 1 && !onGpu;
  if (isSplit) {
    buildParts();
    buildMerged();
  }
  Type element = op.getResult().getType().getElementType();
  context = p.func("context", {"d", "i", "h", "b"}, element, [&](ArrayRef<Scalar> v) {
    Scalar it = v[1] / rowsOfHead, ii = v[1] % rowsOfHead, h = v[2], b = v[3];
    if (sharedHeads != 1) {
      ii = ii * sharedHeads + h % sharedHeads;
      h = h / sharedHeads;
    }
    Quotient q = hasParts() ? mergeParts(v[0], ii, it, h, b)
                 : isSplit  ? Quotient{merged(v[0], ii, it, h, b), mergedInverse(ii, it, h, b)}
                            : divideSum(v[0], ii, it, h, b);
    // A row that sees no key is 0.
    return convert(pick(!(bits(q.inverse) == p.i32(0)), q.sum * q.inverse), element);
  });
  p.output(context, op.getResult().getType(), /*knownDims=*/1);
}
