//===- AttentionScores.cpp - scores and their weights ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a chunk of keys: query·key, what the score region and the mask make of it, the maximum of
// each row, the weights (powers of two of the differences to it) and their sum.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"
#include "Rows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// Weights below 2^kSmallest are 0: products with denormals are slow, and lost anyway. Beside a
/// sink all weights may be small, and only what is no normal number is lost.
static constexpr double kSmallest = -80, kSmallestBesideSink = -126;

/// Whether `extent` elements of a row are turned around in squares of vectors.
bool AttentionLowering::isTransposed(int64_t extent) const {
  return llvm::isPowerOf2_64(lanes) && lanes > 1 && extent % lanes == 0;
}

/// A func of rows and what lies next to each other in memory, from `element` of the same
/// coordinates: rows come into the lanes. In squares of lanes × lanes elements, which are all
/// moved together: interleaving the first half of a square with the second one rotates the bits
/// of an element's place by one, and after as many times as a lane has bits, row and column have
/// changed places. A vector is read at once, and no instruction other than two per two vectors
/// and round is needed; reading columns would be gathers. Two rounds at a time are one func, which
/// interleaves four parts: a func costs Halide more than the instructions.
Func AttentionLowering::buildTransposed(StringRef name, ArrayRef<StringRef> vars, Type type,
                                        Body element) {
  bool isFloat = isa<FloatType>(type);
  // Bits are moved: a select of floats is arithmetic.
  Type moved = isFloat ? p.b().getIntegerType(type.getIntOrFloatBitWidth()) : type;
  Transposed result;
  SmallVector<StringRef> squareVars = {"m", "u", "v"};
  llvm::append_range(squareVars, vars.drop_front(2));
  auto at = [](Scalar m, Scalar u, Scalar v, ArrayRef<Scalar> rest) {
    SmallVector<Scalar> coords = {m, u, v};
    llvm::append_range(coords, rest);
    return coords;
  };
  auto readRows = [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> coords = {v[1] * lanes + v[0] / lanes, v[2] * lanes + v[0] % lanes};
    llvm::append_range(coords, v.drop_front(3));
    return isFloat ? bits(element(coords)) : element(coords);
  };
  Func square = p.func((name + "_rows").str(), squareVars, moved, readRows);
  result.squares.push_back({square, 1});
  for (int64_t left = lanes, i = 0; left > 1; ++i) {
    int64_t ways = std::min<int64_t>(left, 4);
    left /= ways;
    auto interleave = [&](ArrayRef<Scalar> v) {
      auto part = [&](int64_t way) {
        return square(at(v[0] / ways + way * (lanes * lanes / ways), v[1], v[2], v.drop_front(3)));
      };
      Scalar result = part(ways - 1);
      for (int64_t way = ways - 2; way >= 0; --way)
        result = select(v[0] % ways == way, part(way), result);
      return result;
    };
    square = p.func((name + "_round" + Twine(i)).str(), squareVars, moved, interleave);
    result.squares.push_back({square, ways});
  }
  result.func = p.func(name, vars, type, [&](ArrayRef<Scalar> v) {
    Scalar x = square(
        at(v[1] % lanes * lanes + v[0] % lanes, v[0] / lanes, v[1] / lanes, v.drop_front(2)));
    return isFloat ? fromBits(x, type) : x;
  });
  transposed.push_back(result);
  return result.func;
}

/// Whether all keys are whole groups of those that are read at once, so that none is read that
/// does not exist.
bool AttentionLowering::isWholeGroups() {
  int64_t size = op.getKey().getType().getDimSize(2);
  int64_t group = std::lcm(std::lcm(lanes, scoreKeys), numChains);
  return startsAtFirst && !ShapedType::isDynamic(size) && size % group == 0 && chunk % group == 0;
}

/// Reads of tensors whose last coordinate is the key: rows lie in the lanes, and a row of the
/// tensor is somewhere else in memory for each. They are copied first, a chunk at a time, but
/// for regions that might select on them.
AttentionLowering::Copies AttentionLowering::buildStaged(StringRef name) {
  Copies copies;
  buildStaged(op.getScoreMod(), name, copies);
  buildStaged(op.getMask(), name, copies);
  return copies;
}

void AttentionLowering::buildStaged(Region &region, StringRef prefix, Copies &copies) {
  if (region.empty() || !hasRowsInLanes() || !region.getOps<arith::SelectOp>().empty())
    return;
  Value q = *std::prev(region.args_end(), 2), k = region.getArguments().back();
  region.walk([&](tensor::ExtractOp extract) {
    auto indices = extract.getIndices();
    bool isOfPlaces = llvm::all_of(indices, [](Value index) {
      return isa<BlockArgument>(index) || matchPattern(index, m_Constant());
    });
    if (!isOfPlaces || indices.empty() || indices.back() != k || !llvm::is_contained(indices, q))
      return;
    StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
    Type type = extract.getType();
    if (isa<FloatType>(type))
      type = accumulatorType(type);
    else if (type.isInteger(1)) // a byte in memory: vectors of bits are not
      type = p.b().getI8Type();
    std::string name = (prefix + Twine(copies.size())).str();
    auto read = [&](ArrayRef<Scalar> v) {
      TileCoords t(v);
      // Keys past the last visible one are read like others: what they give is masked.
      Scalar k = key(v[1], v[2], t);
      if (!isWholeGroups())
        k = min(likely(k), numKeys - 1);
      k = unsafePromiseClamped(k, p.i32(0), numKeys - 1);
      SmallVector<Scalar> args = {t.b, t.h, row(v[0], t), k};
      if (&region == &op.getScoreMod())
        args.insert(args.begin(), f32(0));
      FailureOr<Scalar> element = p.inlineRegionValue(region, extract.getResult(), args);
      failedRegion |= failed(element);
      return failed(element) ? p.constant(type, 0) : convert(*element, type);
    };
    Func copy = isTransposed(chunk) ? buildTransposed(name, vars, type, read)
                                    : p.func(name, vars, type, read);
    copies.push_back({extract.getResult(), copy});
  });
}

/// The score of a row and key from query·key.
Scalar AttentionLowering::modifiedScore(Scalar dot, Scalar ii, Scalar k, Scalar c,
                                        const TileCoords &t, const Copies &copies) {
  if (isScaled)
    dot = strictFloat(dot * std::abs(scale));
  Scalar score = inlined(op.getScoreMod(), {dot, t.b, head(ii, t), row(ii, t), safeKey(k, c, t)},
                         dot, knownReads(ii, k, c, t, copies));
  return isScaled ? strictFloat(score) : score;
}

/// `score`, or -inf where the key is not there or masked. Built from bits: an infinity that float
/// rules may touch is not safe.
Scalar AttentionLowering::visibleScore(Scalar score, Scalar ii, Scalar k, Scalar c,
                                       const TileCoords &t, const Copies &copies) {
  Scalar visible = key(k, c, t) < high(t.it, t.h, t.b);
  Scalar seen = inlined(op.getMask(), {t.b, head(ii, t), row(ii, t), safeKey(k, c, t)}, Scalar(),
                        knownReads(ii, k, c, t, copies));
  // A copy is a func: no condition of a select may read it. Of alternatives Halide finds no bounds
  // where a part of them stands twice, and refuses a select.
  bool isBlended = !copies.empty() || !mask.isConjunction();
  if (Value(seen) && !isBlended)
    visible = visible && seen;
  Scalar b = bits(score);
  Scalar result = fromBits(select(visible, b, b.constant(kMinusInfBits)), score.getType());
  Scalar hidden = fromBits(b.constant(kMinusInfBits), score.getType());
  return Value(seen) && isBlended ? blend(seen, result, hidden) : result;
}

/// What regions read along the keys, from their copies.
SmallVector<std::pair<Value, Scalar>> AttentionLowering::knownReads(Scalar ii, Scalar k, Scalar c,
                                                                    const TileCoords &t,
                                                                    const Copies &copies) {
  SmallVector<std::pair<Value, Scalar>> known;
  for (auto [read, copy] : copies) {
    Scalar element = copy(ii, k, c, t.it, t.h, t.b);
    known.push_back({read, read.getType().isInteger(1) ? !(element == 0) : element});
  }
  return known;
}

void AttentionLowering::buildScores() {
  Type f32Type = p.b().getF32Type();
  StringRef queryVars[] = {"ii", "d", "it", "h", "b"};
  auto signedQuery = [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar x = wide(query(v[1], row(v[0], t), head(v[0], t), t.b));
    return scale < 0 ? -x : x;
  };
  queryT = hasRowsInLanes() && isTransposed(headDim)
               ? buildTransposed("query_t", queryVars, f32Type, signedQuery)
               : p.func("query_t", queryVars, f32Type, signedQuery);
  if ((isShort && !byKeys) || onGpu)
    buildWideKey();
  buildDot();
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  staged = buildStaged("staged");
  score = p.func("score", vars, f32Type, [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar s = modifiedScore(dot(v), v[0], v[1], v[2], t, staged);
    return Value(endFull) ? s : visibleScore(s, v[0], v[1], v[2], t, staged);
  });
  if (Value(endFull))
    hideEdges();
}

/// Scores on either side of the keys that all rows see, and behind the last key as far as a step
/// of the maximum's chains reads.
void AttentionLowering::hideEdges() {
  auto within = [&](Scalar key, Scalar c, const TileCoords &t, Scalar end) {
    return clamp(key - low(t.it, t.h, t.b) - c * chunk, p.i32(0), end);
  };
  auto edges = [&](Scalar c, const TileCoords &t) {
    Scalar end = within(high(t.it, t.h, t.b), c, t, p.i32(chunk));
    end = (end + (numChains - 1)) / numChains * numChains;
    Scalar first = within(firstFull(t.it, t.h, t.b), c, t, end);
    return std::array<Scalar, 3>{first, max(within(endFull(t.it, t.h, t.b), c, t, end), first),
                                 end};
  };
  StringRef vars[] = {"ii", "c", "it", "h", "b"};
  p.update(score, vars, {{"rk", p.i32(chunk)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             auto [first, last, end] = edges(v[1], t);
             Scalar k = r[0] + select(r[0] < first, p.i32(0), last - first);
             k = unsafePromiseClamped(k, p.i32(0), end - 1);
             Scalar old = score(v[0], k, v[1], t.it, t.h, t.b);
             return {visibleScore(old, v[0], k, v[1], t, staged),
                     {v[0], k, v[1], t.it, t.h, t.b},
                     r[0] < end - (last - first)};
           });
}

/// Keys of short elements, made f32 once for all rows of a tile; on a GPU read once for all.
void AttentionLowering::buildWideKey() {
  StringRef vars[] = {"d", "k", "c", "it", "h", "b"};
  wideKey = p.func("wide_key", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    return wide(key_(v[0], safeKey(v[1], v[2], t), kvHead(t.h), t.b));
  });
}

/// How many sums in registers a query·key is the sum of, for the error of one grows with its
/// length; 1 where it is short or has no equal parts.
int64_t AttentionLowering::countSums() const {
  constexpr int64_t kShort = 128, kPart = 64;
  if (byKeys)
    return lanes;
  return onGpu || headDim <= kShort ? 1 : countEqualParts(headDim, kPart).value_or(1);
}

/// How many products are added up before their sum is, which makes long sums of fewer roundings. A
/// GPU's thread reads ahead as many dims, for as many registers as its tile of scores leaves.
int64_t AttentionLowering::countTerms() const {
  constexpr int64_t kSmallTile = 24;
  return onGpu ? std::gcd(headDim, scoreRows * scoreKeys <= kSmallTile ? 16 : 8) : 1;
}

/// query·key, and the parts that it is the sum of, where it has several: with keys in the
/// lanes, sums over every lanes-th dim. `few` products are added up before their sum is.
std::pair<Func, Func> AttentionLowering::sumOverDims(StringRef name, KeyElement keyAt,
                                                     int64_t few) {
  int64_t parts = countSums(), dims = headDim / parts;
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  auto zero = [&](ArrayRef<Scalar>) { return f32(0); };
  auto term = [&](ArrayRef<Scalar> v, Scalar d) {
    TileCoords t(v);
    return queryT(v[0], d, t.it, t.h, t.b) * keyAt(v[1], v[2], t, d);
  };
  Func sum = p.func(name, vars, p.b().getF32Type(), zero), part;
  if (parts == 1) {
    p.update(sum, vars, {{"rd", p.i32(dims / few)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
               Scalar terms = term(v, r[0] * few);
               for (int64_t i = 1; i < few; ++i)
                 terms = terms + term(v, r[0] * few + i);
               return sum(v) + terms;
             });
    return {sum, part};
  }
  int64_t partDim = byKeys ? 0 : 2;
  SmallVector<StringRef> partVars = llvm::to_vector(ArrayRef(vars));
  partVars.insert(partVars.begin() + partDim, "j");
  part = p.func((name + "_part").str(), partVars, p.b().getF32Type(), zero);
  p.update(part, partVars, {{"rd", p.i32(dims)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar d = byKeys ? r[0] * parts + v[partDim] : v[partDim] * dims + r[0];
             return part(v) + term(without(v, partDim), d);
           });
  p.update(sum, vars, {{"rj", p.i32(parts)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return sum(v) + part(along(v, partDim, r[0]));
           });
  return {sum, part};
}

void AttentionLowering::buildDot() {
  std::tie(dot, dotPart) = sumOverDims(
      "dot",
      [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
        return Value(wideKey) ? wideKey(d, k, c, t.it, t.h, t.b)
                              : wide(key_(d, safeKey(k, c, t), kvHead(t.h), t.b));
      },
      countTerms());
}

/// What the keys of a chunk make of each row, in independent chains.
Func AttentionLowering::combineKeys(StringRef name, Func f, double init, Combine combine) {
  StringRef vars[] = {"ii", "u", "c", "it", "h", "b"};
  Func chains = p.func(name, vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    Scalar result = f32(init);
    // On a GPU a chain is a thread's own keys; one that is not there changes nothing.
    for (int64_t k = 0; onGpu && k < chunk; k += numChains)
      result = combine(result, f(v[0], v[1] + k, v[2], v[3], v[4], v[5]));
    return result;
  });
  if (!onGpu)
    p.update(chains, vars, {{"rk", p.i32(chunk / numChains)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
               TileCoords t(v);
               Scalar k = r[0] * numChains;
               Scalar next = f(v[0], k + v[1], v[2], t.it, t.h, t.b);
               return {combine(chains(v), next), {}, v[2] * chunk + k < visibleKeys(t)};
             });
  return chains;
}

/// What the chains of each row make.
Func AttentionLowering::combineChains(StringRef name, Func chains, Combine combine,
                                      function_ref<Scalar(Scalar, ArrayRef<Scalar>)> finish) {
  SmallVector<StringRef> vars = {"ii", "c", "it", "h", "b"};
  if (chains.getRank() == 5)
    vars.erase(vars.begin() + 1);
  return p.func(name, vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> parts;
    for (int64_t u = 0; u < numChains; ++u) {
      SmallVector<Scalar> at(v);
      at.insert(at.begin() + 1, p.i32(u));
      parts.push_back(chains(at));
    }
    for (; parts.size() > 1; parts.truncate(llvm::divideCeil(parts.size(), 2)))
      for (size_t u = 0, half = llvm::divideCeil(parts.size(), 2); half + u < parts.size(); ++u)
        parts[u] = combine(parts[u], parts[half + u]);
    return finish ? finish(parts.front(), v) : parts.front();
  });
}

/// What the power of two is taken of. The difference to the maximum is taken first, as exact
/// as it can be, however large both are: the maximum's own weight is 1.
Scalar AttentionLowering::exponent(Scalar score, Scalar maximum) {
  return strictFloat(strictFloat(score - maximum) * log2Scale);
}

/// 2^x of an exponent x: exactly 0 for small ones and for -inf, exact for whole numbers, NaN for
/// NaN.
Scalar AttentionLowering::weight(Scalar score, Scalar maximum) {
  Scalar x = exponent(score, maximum);
  if (onGpu)
    return deviceExp2(x);
  return pick(!(x < (op.getSink() ? kSmallestBesideSink : kSmallest)), boundedExp2(x));
}

/// The prob region is linear in the prob, so that it may come before the division by the
/// row's sum.
Scalar AttentionLowering::modifiedProb(Scalar weight, Scalar ii, Scalar k, Scalar c,
                                       const TileCoords &t) {
  if (op.getProbMod().empty())
    return weight;
  Scalar h = head(ii, t), q = row(ii, t), j = safeKey(k, c, t);
  return strictFloat(inlined(op.getProbMod(), {weight, t.b, h, q, j}, weight));
}

void AttentionLowering::buildWeights() {
  // On a GPU the keys are read once more, for a maximum that there is not: so what is made of the
  // maximum is not where they were, and the weights or the values may be.
  auto keepKeys = [&](Scalar x, ArrayRef<Scalar> v) {
    return onGpu ? blend(x < -kMaxFloat, wideKey(p.i32(0), p.i32(0), v[1], v[2], v[3], v[4]), x)
                 : x;
  };
  maxChains = combineKeys("max_chains", score, -kMaxFloat, machineMax);
  maximum = combineChains("max", maxChains, machineMax, keepKeys);
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  weights = p.func("weight", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    return weight(score(v), maximum(v[0], v[2], t.it, t.h, t.b));
  });
  sumChains = combineKeys("sum_chains", weights, 0, plus);
  if (!onGpu)
    sum = combineChains("sum", sumChains, plus);
  modified = weights;
  // The threads of a GPU keep the weights to themselves; these are for all of them.
  if (onGpu || !op.getProbMod().empty())
    modified = p.func("modified_weight", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
      return modifiedProb(weights(v), v[0], v[1], v[2], TileCoords(v));
    });
}
