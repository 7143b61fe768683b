//===- Attention.cpp - the fused attention kernel -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FlashAttention-2's online softmax (Dao 2023, algorithm 1), for one tile of query rows
// at a time. Rows lie in the vector lanes for scores and softmax, value dims in the
// lanes for the context. One func, `acc`, holds in its columns the context (in blocks),
// the row sum l and the row maximum m, and is updated a chunk of keys at a time.
//
// Names: ii row in the tile, k key in the chunk, c chunk, it row tile, h head, b batch,
// x column in a context block, y context block.
//
// With few rows (`#attn.decode`), lanes hold keys instead, dot products are sums over
// lanes of dims, and the query heads that share a head of key and value are rows of one
// tile: all that is read of memory is read once.
//
// What must stay as it is:
// - Nothing inside the chunk loops selects on a func's value: Halide would then run the
//   loop over all chunks, visible or not. Bit masks give the same instructions.
// - A weight is exactly 0 where the key is masked and NaN where the score is. Zero times
//   Inf or NaN is NaN: a tile whose context is not finite is computed once more with
//   masked keys left out (`exact…`); for all others that loop has no iterations.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"
#include "MaskBounds.h"
#include "Rows.h"

#include "attnc/Dialect/Attn/ProbRegion.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
constexpr double kLog2e = 1.4426950408889634;
constexpr double kMaxFloat = std::numeric_limits<float>::max();
/// Weights below 2^kSmallest are 0: products with denormals are slow, and lost anyway.
constexpr double kSmallest = -80;
constexpr int64_t kInfBits = 0x7f800000, kMinusInfBits = int32_t(0xff800000);
/// Stands for the weight of a key that is left out: no weight is as large.
constexpr double kMasked = -kMaxFloat;
/// A prob of less than 2^kVanishing is 0 in f32.
constexpr double kVanishing = -149;
/// Less than any other weight that is not 0, and no denormal.
constexpr double kLeastWeight = std::numeric_limits<float>::min();

} // namespace

AttentionLowering::AttentionLowering(PipelineBuilder &p, AttentionOp op, Attribute schedule)
    : p(p), op(op), isShort(!op.getQuery().getType().getElementType().isF32()),
      scale(op.getScale().convertToDouble()), isScaled(!op.getScoreMod().empty()),
      log2Scale(isScaled ? kLog2e : std::max(std::abs(scale) * kLog2e, 1e-30)) {
  if (auto decode = dyn_cast<DecodeAttr>(schedule))
    readSchedule(decode);
  else if (auto gpu = dyn_cast<GpuAttr>(schedule))
    readSchedule(gpu);
  else
    readSchedule(cast<PrefillAttr>(schedule));
  headDim = op.getQuery().getType().getDimSize(3);
  valueDim = op.getValue().getType().getDimSize(3);
  contextVectors = std::min(contextVectors, llvm::divideCeilSigned(valueDim, lanes));
  block = lanes * contextVectors;
  numBlocks = llvm::divideCeilSigned(valueDim, block);

  // One kernel for all lengths, batches and heads: Halide proves the tile's bounds more
  // easily of sizes it does not know, and nothing is gained from those it does.
  query = p.input("query", op.getQuery(), /*knownDims=*/1);
  key_ = p.input("key", op.getKey(), /*knownDims=*/1);
  value = p.input("value", op.getValue(), /*knownDims=*/1);
  numRows = p.extent(query, 1);
  numKeys = p.extent(key_, 1);
}

void AttentionLowering::readSchedule(PrefillAttr s) {
  rowTile = rowsOfHead = s.getRowTile();
  sharedHeads = 1;
  chunk = s.getKeyChunk();
  lanes = s.getVectorWidth();
  scoreRows = s.getScoreVectors();
  scoreKeys = s.getScoreKeys();
  numChains = 4;
  contextRows = s.getContextRows();
  contextVectors = s.getContextVectors();
}

void AttentionLowering::readSchedule(DecodeAttr s) {
  byKeys = true;
  rowTile = s.getRowTile();
  sharedHeads = s.getSharedHeads();
  rowsOfHead = rowTile / sharedHeads;
  chunk = s.getKeyChunk();
  lanes = numChains = s.getVectorWidth();
  scoreRows = s.getScoreRows();
  scoreKeys = s.getScoreKeys();
  contextRows = s.getContextRows();
  contextVectors = s.getContextVectors();
}

/// Each thread has a row tile and a column tile of scores, and of the context. The columns
/// behind the context's are the sum and the maximum.
void AttentionLowering::readSchedule(GpuAttr s) {
  onGpu = true;
  rowTile = s.getRowTile();
  sharedHeads = s.getSharedHeads();
  rowsOfHead = rowTile / sharedHeads;
  chunk = s.getKeyChunk();
  keySplits = s.getKeySplits();
  threadsX = numChains = s.getThreadsX();
  threadsY = s.getThreadsY();
  lanes = 2;
  scoreRows = contextRows = rowTile / threadsY;
  scoreKeys = chunk / threadsX;
  contextVectors = s.getContextColumns() / lanes;
}

LogicalResult AttentionLowering::lower() {
  buildBounds();
  buildScores();
  buildWeights();
  buildContext();
  buildExactContext();
  buildOutput();
  if (failedRegion)
    return failure();
  if (onGpu) {
    scheduleOnGpu();
    return success();
  }
  scheduleOutput();
  scheduleTile();
  scheduleContext();
  scheduleScores();
  scheduleWeights();
  scheduleExactContext();
  return success();
}

LogicalResult attn::lowerAttention(PipelineBuilder &p, AttentionOp op, Attribute schedule) {
  return AttentionLowering(p, op, schedule).lower();
}

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

/// c ? x : 0, as bits.
static Scalar pick(Scalar c, Scalar x) {
  Scalar b = bits(x);
  return fromBits(b & -convert(c, b.getType()), x.getType());
}

/// c ? x : y, as bits.
static Scalar blend(Scalar c, Scalar x, Scalar y) {
  Scalar b = bits(x), ones = -convert(c, b.getType());
  return fromBits((b & ones) | (bits(y) & (ones.constant(-1) - ones)), x.getType());
}

/// Query heads for each head of key and value.
Scalar AttentionLowering::group() {
  int64_t qHeads = op.getQuery().getType().getDimSize(1);
  int64_t kvHeads = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(qHeads) || ShapedType::isDynamic(kvHeads))
    return p.extent(query, 2) / p.extent(key_, 2);
  return p.i32(kvHeads == 0 ? 1 : qHeads / kvHeads);
}

void AttentionLowering::buildBounds() {
  bool isComplete = true;
  auto bounds = [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar first = tile(t) * rowsOfHead, last = min(first + (rowsOfHead - 1), numRows - 1);
    // Bounds that differ between the heads of a tile are not looked for.
    if (sharedHeads != 1 && !op.getMask().empty() && !op.getMask().getArgument(1).use_empty())
      return KeyBounds();
    KeyBounds known = buildKeyBounds(p, op.getMask(), {t.b, t.h, first, last});
    isComplete = op.getMask().empty() || known.isComplete;
    return known;
  };
  StringRef vars[] = {"it", "h", "b"};
  Type i32 = p.b().getI32Type();
  auto lowest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).low;
    return known ? clamp(*known, p.i32(0), numKeys) : p.i32(0);
  };
  auto highest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).high;
    return known ? clamp(*known, p.i32(0), numKeys) : numKeys;
  };
  // The part of a block is whole chunks.
  auto part = [&](ArrayRef<Scalar> v) {
    Scalar chunks = (max(highest(v) - lowest(v), 0) + (chunk - 1)) / chunk;
    return (chunks + (keySplits - 1)) / keySplits * chunk;
  };
  low = p.func("low", vars, i32, [&](ArrayRef<Scalar> v) {
    return keySplits == 1 ? lowest(v) : lowest(v) + v[0] % keySplits * part(v);
  });
  high = p.func("high", vars, i32, [&](ArrayRef<Scalar> v) {
    return keySplits == 1 ? highest(v) : min(highest(v), low(v) + part(v));
  });
  if (!isComplete && !byKeys && !onGpu)
    buildSearch();
  chunks = p.func("chunks", vars, i32, [&](ArrayRef<Scalar> v) {
    return (max(high(v) - low(v), 0) + (chunk - 1)) / chunk;
  });
  kvHead = p.func("kv_head", {"h"}, i32, [&](ArrayRef<Scalar> v) {
    return unsafePromiseClamped(v[0] * sharedHeads / group(), p.i32(0), p.extent(key_, 2) - 1);
  });
}

/// Looks at the mask of every row of a tile, for the keys between the bounds so far. That
/// reads what the kernel reads anyway, and saves the products of all keys outside.
void AttentionLowering::buildSearch() {
  Type i32 = p.b().getI32Type();
  searchLow = low;
  searchHigh = high;
  Scalar wholeVectors = numKeys / lanes;
  StringRef vars[] = {"x", "y", "it", "h", "b"};
  auto nothing = [&](Scalar y) { return select(y == p.i32(0), p.i32(0) - numKeys, p.i32(0)); };
  edgeOfLane = p.func("edge_of_lane", vars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[1]); });
  auto seenEdge = [&](Scalar k, Scalar row, Scalar y, const TileCoords &t) {
    Scalar q = min(t.it * rowTile + row, numRows - 1);
    Scalar seen = inlined(op.getMask(), {t.b, t.h, q, k}, Scalar());
    return Value(seen) ? select(seen, select(y == p.i32(0), p.i32(0) - k, k + 1), nothing(y))
                       : nothing(y);
  };
  p.update(edgeOfLane, vars, {{"rk", wholeVectors}, {"rr", p.i32(rowTile)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar first = r[0] * lanes;
             return {max(edgeOfLane(v), seenEdge(first + v[0], r[1], v[1], t)),
                     {},
                     first < searchHigh(t.it, t.h, t.b) &&
                         first + lanes > searchLow(t.it, t.h, t.b)};
           });
  p.update(edgeOfLane, ArrayRef(vars).drop_front(),
           {{"rk", numKeys % lanes}, {"rr", p.i32(rowTile)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             Scalar k = wholeVectors * lanes + r[0];
             return {max(edgeOfLane(at), seenEdge(k, r[1], v[0], t)), at};
           });
  StringRef edgeVars[] = {"y", "it", "h", "b"};
  edge = p.func("edge", edgeVars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[0]); });
  p.update(edge, edgeVars, {{"rl", p.i32(lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             return max(edge(v), edgeOfLane(at));
           });
  StringRef tileVars[] = {"it", "h", "b"};
  low = p.func("first_seen", tileVars, i32,
               [&](ArrayRef<Scalar> v) { return p.i32(0) - edge(p.i32(0), v[0], v[1], v[2]); });
  high = p.func("end_seen", tileVars, i32,
                [&](ArrayRef<Scalar> v) { return edge(p.i32(1), v[0], v[1], v[2]); });
}

/// Reads of tensors whose last coordinate is the key: rows lie in the lanes, and a row of the
/// tensor is somewhere else in memory for each. They are copied first, a chunk at a time, but
/// for regions that might select on them.
void AttentionLowering::buildStaged(Region &region) {
  if (region.empty() || byKeys || onGpu || !region.getOps<arith::SelectOp>().empty())
    return;
  Value q = *std::prev(region.args_end(), 2), k = region.getArguments().back();
  region.walk([&](tensor::ExtractOp read) {
    auto indices = read.getIndices();
    bool isOfPlaces = llvm::all_of(indices, [](Value index) {
      return isa<BlockArgument>(index) || matchPattern(index, m_Constant());
    });
    if (!isOfPlaces || indices.empty() || indices.back() != k || !llvm::is_contained(indices, q))
      return;
    StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
    Type type = isa<FloatType>(read.getType()) ? accumulatorType(read.getType()) : read.getType();
    std::string name = "staged" + std::to_string(staged.size());
    Func copy = p.func(name, vars, type, [&](ArrayRef<Scalar> v) {
      TileCoords t(v);
      SmallVector<Scalar> args = {t.b, t.h, row(v[0], t), safeKey(v[1], v[2], t)};
      if (&region == &op.getScoreMod())
        args.insert(args.begin(), f32(0));
      FailureOr<Scalar> element = p.inlineRegionValue(region, read.getResult(), args);
      failedRegion |= failed(element);
      return failed(element) ? p.constant(type, 0) : *element;
    });
    staged.push_back({read.getResult(), copy});
  });
}

/// What a region yields for `args`; `otherwise` where there is no region.
Scalar AttentionLowering::inlined(Region &region, ArrayRef<Scalar> args, Scalar otherwise,
                                  ArrayRef<std::pair<Value, Scalar>> known) {
  if (region.empty())
    return otherwise;
  FailureOr<Scalar> result = p.inlineRegion(region, args, known);
  failedRegion |= failed(result);
  return failed(result) ? otherwise : *result;
}

/// The score of a row and key from query·key, -inf where the key is not there or masked. Built from
/// bits: an infinity that float rules may touch is not safe.
Scalar AttentionLowering::modifiedScore(Scalar dot, Scalar ii, Scalar k, Scalar c,
                                        const TileCoords &t, bool useStaged) {
  Scalar h = head(ii, t), q = row(ii, t), j = safeKey(k, c, t);
  Scalar visible = key(k, c, t) < high(t.it, t.h, t.b);
  if (isScaled)
    dot = strictFloat(dot * std::abs(scale));
  SmallVector<std::pair<Value, Scalar>> copies;
  if (useStaged)
    for (auto [read, copy] : staged)
      copies.push_back({read, copy(ii, k, c, t.it, t.h, t.b)});
  Scalar score = inlined(op.getScoreMod(), {dot, t.b, h, q, j}, dot, copies);
  Scalar seen = inlined(op.getMask(), {t.b, h, q, j}, Scalar(), copies);
  // A copy is a func: no condition of a select may read it.
  bool isOfCopies = !copies.empty();
  if (Value(seen) && !isOfCopies)
    visible = visible && seen;
  Scalar b = bits(isScaled ? strictFloat(score) : score);
  Scalar result = fromBits(select(visible, b, b.constant(kMinusInfBits)), score.getType());
  Scalar hidden = fromBits(b.constant(kMinusInfBits), score.getType());
  return Value(seen) && isOfCopies ? blend(seen, result, hidden) : result;
}

void AttentionLowering::buildScores() {
  Type f32Type = p.b().getF32Type();
  queryT = p.func("query_t", {"ii", "d", "it", "h", "b"}, f32Type, [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar x = wide(query(v[1], row(v[0], t), head(v[0], t), t.b));
    return scale < 0 ? -x : x;
  });
  if ((isShort && !byKeys) || onGpu)
    buildWideKey();
  buildDot();
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  buildStaged(op.getScoreMod());
  buildStaged(op.getMask());
  score = p.func("score", vars, f32Type, [&](ArrayRef<Scalar> v) {
    return modifiedScore(dot(v), v[0], v[1], v[2], TileCoords(v), /*useStaged=*/true);
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

/// How many equal parts a long sum is made of, for its error grows with the length; 1 where
/// it is short or has no such parts.
static int64_t countParts(int64_t dims) {
  constexpr int64_t kShort = 128, kPart = 64;
  int64_t fewest = dims <= kShort ? 1 : llvm::divideCeil(dims, kPart);
  for (int64_t parts = fewest; parts <= 2 * fewest; ++parts)
    if (dims % parts == 0)
      return parts;
  return 1;
}

/// query·key, and the parts that it is the sum of, where it has several: with keys in the
/// lanes, sums over every lanes-th dim.
std::pair<Func, Func> AttentionLowering::sumOverDims(StringRef name, KeyElement keyAt) {
  int64_t parts = onGpu ? 1 : byKeys ? lanes : countParts(headDim), dims = headDim / parts;
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  auto zero = [&](ArrayRef<Scalar>) { return f32(0); };
  auto term = [&](ArrayRef<Scalar> v, Scalar d) {
    TileCoords t(v);
    return queryT(v[0], d, t.it, t.h, t.b) * keyAt(v[1], v[2], t, d);
  };
  Func sum = p.func(name, vars, p.b().getF32Type(), zero), part;
  if (onGpu && headDim % 4 == 0) {
    // Four products are added up before their sum is: a quarter as many roundings in a row.
    p.update(sum, vars, {{"rd", p.i32(dims / 4)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
               auto at = [&](int64_t i) { return term(v, r[0] * 4 + i); };
               return sum(v) + ((at(0) + at(1)) + (at(2) + at(3)));
             });
    return {sum, part};
  }
  if (parts == 1) {
    p.update(
        sum, vars, {{"rd", p.i32(dims)}},
        [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update { return sum(v) + term(v, r[0]); });
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
  std::tie(dot, dotPart) =
      sumOverDims("dot", [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
        return Value(wideKey) ? wideKey(d, k, c, t.it, t.h, t.b)
                              : wide(key_(d, safeKey(k, c, t), kvHead(t.h), t.b));
      });
}

/// A value for each row of a chunk that combines the row's values of `f`, in independent
/// chains.
std::pair<Func, Func> AttentionLowering::combineKeys(StringRef name, Func f, double init,
                                                     Scalar (*combine)(Scalar, Scalar)) {
  StringRef vars[] = {"ii", "u", "c", "it", "h", "b"};
  Type f32Type = p.b().getF32Type();
  Func chains =
      p.func((name + "_chains").str(), vars, f32Type, [&](ArrayRef<Scalar>) { return f32(init); });
  p.update(chains, vars, {{"rk", p.i32(chunk / numChains)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar k = r[0] * numChains;
             Scalar next = f(v[0], k + v[1], v[2], t.it, t.h, t.b);
             if (onGpu) // what a key adds that is not there changes nothing
               return combine(chains(v), next);
             return {combine(chains(v), next), {}, v[2] * chunk + k < visibleKeys(t)};
           });
  Func all = p.func(name, {"ii", "c", "it", "h", "b"}, f32Type, [&](ArrayRef<Scalar> v) {
    auto chain = [&](int64_t u) { return chains(v[0], p.i32(u), v[1], v[2], v[3], v[4]); };
    SmallVector<Scalar> parts;
    for (int64_t u = 0; u < numChains; ++u)
      parts.push_back(chain(u));
    for (; parts.size() > 1; parts.truncate(llvm::divideCeil(parts.size(), 2)))
      for (size_t u = 0, half = llvm::divideCeil(parts.size(), 2); half + u < parts.size(); ++u)
        parts[u] = combine(parts[u], parts[half + u]);
    return parts.front();
  });
  return {chains, all};
}

static Scalar plus(Scalar x, Scalar y) { return x + y; }

/// 2^x: exactly 0 below 2^kSmallest and for -inf, exact for whole numbers, NaN for NaN.
static Scalar powerOfTwo(Scalar x) { return pick(!(x < kSmallest), boundedExp2(x)); }

/// The difference to the maximum is taken first, as exact as it can be, however large
/// both are: the maximum's own weight is 1.
/// What the power of two is taken of.
Scalar AttentionLowering::exponent(Scalar score, Scalar maximum) {
  return strictFloat(strictFloat(score - maximum) * log2Scale);
}

Scalar AttentionLowering::weight(Scalar score, Scalar maximum) {
  return powerOfTwo(exponent(score, maximum));
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
  std::tie(maxChains, maximum) = combineKeys("max", score, -kMaxFloat, machineMax);
  StringRef vars[] = {"ii", "k", "c", "it", "h", "b"};
  weights = p.func("weight", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    return weight(score(v), maximum(v[0], v[2], t.it, t.h, t.b));
  });
  std::tie(sumChains, sum) = combineKeys("sum", weights, 0, plus);
  modified = weights;
  if (!op.getProbMod().empty())
    modified = p.func("modified_weight", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
      return modifiedProb(weights(v), v[0], v[1], v[2], TileCoords(v));
    });
}

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

void AttentionLowering::buildContext() {
  Type f32Type = p.b().getF32Type();
  buildProduct();
  StringRef tileVars[] = {"x", "y", "ii", "it", "h", "b"};
  acc = p.func("acc", tileVars, f32Type, [&](ArrayRef<Scalar> v) {
    return select(v[0] == maxColumn(), f32(-kMaxFloat), f32(0));
  });
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

/// 1 / total; 0 where no key is seen, and where NaN among probs counts as 0.
Scalar AttentionLowering::reciprocal(Scalar total) {
  Scalar isSum = !(total == 0);
  if (!op.getProbMod().empty() && ProbRegion(op.getProbMod()).zeroesNaN())
    isSum = isSum && (bits(total) & p.i32(0x7fffffff)) <= p.i32(kInfBits);
  return pick(isSum, strictFloat(f32(1) / total));
}

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

/// For a tile whose context is not finite: once more, without the masked keys. The row
/// maxima and sums are right already.
void AttentionLowering::buildExactContext() {
  Type f32Type = p.b().getF32Type(), i32Type = p.b().getI32Type();
  StringRef tileOnly[] = {"it", "h", "b"}, chunkVars[] = {"ii", "k", "c", "it", "h", "b"};
  worstOfLane = p.func("worst_of_lane", {"x", "it", "h", "b"}, i32Type,
                       [&](ArrayRef<Scalar>) { return p.i32(0); });
  // Lanes are those of a column, on a GPU rows.
  int64_t columns = onGpu ? block : block / lanes, rows = onGpu ? 1 : rowTile;
  p.update(worstOfLane, {"x", "it", "h", "b"},
           {{"rx", p.i32(columns)}, {"ry", p.i32(numBlocks)}, {"ri", p.i32(rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar x = onGpu ? acc(r[0], r[1], v[0], v[1], v[2], v[3])
                              : acc(r[0] * lanes + v[0], r[1], r[2], v[1], v[2], v[3]);
             return max(worstOfLane(v), bits(x) & p.i32(0x7fffffff));
           });
  worst = p.func("worst", tileOnly, i32Type, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(worst, tileOnly, {{"rl", p.i32(onGpu ? rowTile : lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return max(worst(v), worstOfLane(r[0], v[0], v[1], v[2]));
           });
  exactChunks = p.func("exact_chunks", tileOnly, i32Type, [&](ArrayRef<Scalar> v) {
    return select(worst(v) >= p.i32(kInfBits), chunks(v), p.i32(0));
  });

  std::tie(exactDot, exactDotPart) =
      sumOverDims("exact_dot", [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
        return wide(key_(d, safeKey(k, c, t), kvHead(t.h), t.b));
      });
  exactWeight = p.func("exact_weight", chunkVars, f32Type, [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar s = modifiedScore(exactDot(v), v[0], v[1], v[2], t);
    Scalar m = acc(p.i32(maxColumn()), p.i32(0), v[0], t.it, t.h, t.b);
    Scalar isLeftOut = bits(s) == p.i32(kMinusInfBits) || exponent(s, m) < f32(kVanishing);
    // A prob that its region makes zero is zero like a masked one.
    if (!op.getProbMod().empty())
      isLeftOut = isLeftOut ||
                  (bits(modifiedProb(f32(1), v[0], v[1], v[2], t)) & p.i32(0x7fffffff)) == p.i32(0);
    // What is visible weighs something, however little, so that an infinite value counts.
    return blend(isLeftOut, f32(kMasked), weight(s, m) + kLeastWeight);
  });
  StringRef productVars[] = {"x", "ii", "c", "it", "h", "b"};
  exactProduct =
      p.func("exact_product", productVars, f32Type, [&](ArrayRef<Scalar>) { return f32(0); });
  p.update(exactProduct, productVars, {{"rk", p.i32(chunk)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar k = r[0], c = v[2], w = exactWeight(v[1], k, c, t.it, t.h, t.b);
             Scalar x = wide(value(min(v[0], valueDim - 1), safeKey(k, c, t), kvHead(t.h), t.b));
             Scalar isMasked = bits(w) == bits(f32(kMasked));
             Scalar sum = exactProduct(v) + pick(!isMasked, modifiedProb(w, v[1], k, c, t) * x);
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

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Extents of 1 along the tile, and along the chunk where there is one, so that storage
/// and loops are of known size.
void AttentionLowering::fixTile(Func f, bool perChunk) {
  int64_t rank = f.getRank();
  for (int64_t dim = rank - (perChunk ? 4 : 3); dim < rank; ++dim)
    p.boundExtent(f, dim, 1);
}

void AttentionLowering::computeInTile(Func f) {
  p.computeAt(f, tileLoop);
  p.storeIn(f, MemoryType::stack);
  p.neverPartition(f);
}

void AttentionLowering::computeInChunk(Func f) {
  p.computeAt(f, chunkLoop);
  p.storeIn(f, MemoryType::stack);
  fixTile(f, /*perChunk=*/true);
  p.neverPartition(f);
}

/// Vectors along dimension 0, `rows` elements in all; what to do with the loop over vectors
/// and the other loops is the caller's.
std::pair<Loop, Loop> AttentionLowering::splitRows(Func f, Loop loop, int64_t rows) {
  p.boundExtent(f, 0, rows);
  auto [vectors, lane] = p.split(loop, lanes);
  p.vectorize(lane);
  return {vectors, lane};
}

void AttentionLowering::scheduleOutput() {
  SmallVector<Loop> v = p.loops(context);
  auto [tile, row] = p.split(v[1], rowsOfHead, TailStrategy::guard_with_if);
  auto [vectors, lane] = p.split(v[0], lanes, TailStrategy::guard_with_if);
  Loop heads = v[2];
  if (sharedHeads == 1) {
    p.reorder({lane, vectors, row, tile, heads, v[3]});
  } else {
    auto [outer, shared] = p.split(heads, sharedHeads, TailStrategy::guard_with_if);
    p.reorder({lane, vectors, shared, row, tile, outer, v[3]});
    heads = outer;
  }
  p.vectorize(lane);
  p.unroll(vectors);
  tileLoop = p.fuse(p.fuse(tile, heads), v[3]);
  p.parallel(tileLoop);
  p.neverPartition(context);
}

void AttentionLowering::scheduleTile() {
  for (Func f : {low, high, chunks}) {
    computeInTile(f);
    fixTile(f, /*perChunk=*/false);
  }
  computeInTile(kvHead);
  p.boundExtent(kvHead, 0, 1);
  if (Value(edge))
    scheduleSearch();
  scheduleQuery();
}

void AttentionLowering::scheduleSearch() {
  for (Func f : {searchLow, searchHigh, edgeOfLane, edge}) {
    computeInTile(f);
    fixTile(f, /*perChunk=*/false);
  }
  p.boundExtent(edge, 0, 2);
  p.neverPartition(edge, 0);
  p.boundExtent(edgeOfLane, 1, 2);
  splitRows(edgeOfLane, p.loops(edgeOfLane)[0], lanes);
  SmallVector<Loop> v = p.loops(edgeOfLane, 0); // x y it h b rk rr
  p.reorder({v[0], v[1], v[5], v[6]});
  p.vectorizeBy(v[0], lanes, TailStrategy::automatic);
  p.unroll(v[1]);
  for (int64_t update : {0, 1})
    p.neverPartition(edgeOfLane, update);
}

void AttentionLowering::scheduleStaged() {
  for (auto [read, copy] : staged) {
    computeInChunk(copy);
    p.boundExtent(copy, 0, rowTile);
    p.boundStorage(copy, 1, chunk);
    SmallVector<Loop> v = p.loops(copy);
    // Unrolled reads of whole words would become gathers, which are slow.
    if (copy.getElementType().getIntOrFloatBitWidth() >= 32) {
      p.reorder({v[1], v[0]});
      continue;
    }
    auto [group, key] = p.split(v[1], scoreKeys, TailStrategy::round_up);
    p.reorder({key, group, v[0]});
    p.unroll(key);
  }
}

void AttentionLowering::scheduleQuery() {
  computeInTile(queryT);
  fixTile(queryT, false);
  p.boundStorage(queryT, 1, headDim);
  SmallVector<Loop> v = p.loops(queryT);
  if (byKeys) {
    p.boundExtent(queryT, 0, rowTile);
    p.boundExtent(queryT, 1, headDim);
    p.reorderStorage(queryT, {1, 0, 2, 3, 4});
    auto [vectors, lane] = p.split(v[1], lanes);
    p.reorder({lane, vectors, v[0]});
    p.vectorize(lane);
    return;
  }
  auto [vectors, lane] = splitRows(queryT, v[0], rowTile);
  p.reorder({v[1], lane, vectors});
  p.unroll(vectors);
}

/// A tile in registers, computed at `at`: vectors along dimension 0, everything unrolled;
/// in the update the reduction is outermost, and returned.
Loop AttentionLowering::scheduleRegisterTile(Func f, Loop at, int64_t extent, int64_t otherDim,
                                             int64_t otherExtent) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, /*perChunk=*/true);
  p.boundExtent(f, otherDim, otherExtent);
  Loop reduction;
  for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    SmallVector<Loop> v = p.loops(f, update);
    reduction = v.back();
    auto [vectors, lane] = update ? p.split(v[0], lanes) : splitRows(f, v[0], extent);
    if (update) {
      p.vectorize(lane);
      p.reorder({lane, vectors, v[otherDim], v.back()});
    }
    p.unroll(vectors);
    p.unroll(v[otherDim]);
    p.neverPartition(f, update);
  }
  return reduction;
}

void AttentionLowering::scheduleContext() {
  computeInTile(acc);
  fixTile(acc, /*perChunk=*/false);
  p.boundExtent(acc, 1, numBlocks);
  p.boundExtent(acc, 2, rowTile);
  p.unroll(splitRows(acc, p.loops(acc)[0], block + lanes).first);

  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  SmallVector<Loop> v = p.loops(acc, 0); // ii it h b rx ry rc
  auto [group, row] = p.split(v[0], contextRows);
  auto [columns, lane] = p.split(v[4], lanes);
  p.reorder({lane, columns, row, group, v[5], v[1], v[6], v[2], v[3]});
  p.vectorize(lane);
  p.unroll(columns);
  p.unroll(row);
  chunkLoop = v[1];

  scheduleRegisterTile(product, group, block, /*otherDim=*/2, contextRows);
  p.boundExtent(product, 1, 1);
  if (Value(paddedValue))
    schedulePaddedValue();
  computeInTile(inverse);
  fixTile(inverse, /*perChunk=*/false);
  if (byKeys)
    p.boundExtent(inverse, 0, rowTile);
  else
    splitRows(inverse, p.loops(inverse)[0], rowTile);
}

void AttentionLowering::schedulePaddedValue() {
  computeInChunk(paddedValue);
  p.boundStorage(paddedValue, 1, chunk);
  splitRows(paddedValue, p.loops(paddedValue)[0], numBlocks * block);
  p.vectorizeBy(p.loops(paddedValue, 0).back(), lanes);
  p.neverPartition(paddedValue, 0);
}

void AttentionLowering::scheduleWideKey() {
  computeInChunk(wideKey);
  p.boundExtent(wideKey, 0, headDim);
  p.boundStorage(wideKey, 1, chunk);
  p.vectorizeBy(p.loops(wideKey)[0], lanes);
}

/// Keys innermost in memory, and always a whole chunk of them: all extents are constant.
void AttentionLowering::layOutByKeys(Func f) {
  computeInChunk(f);
  p.boundExtent(f, 0, rowTile);
  p.boundExtent(f, 1, chunk);
  p.reorderStorage(f, {1, 0, 2, 3, 4, 5});
}

void AttentionLowering::scheduleScoresByKeys() {
  for (Func f : {score, dot}) {
    layOutByKeys(f);
    SmallVector<Loop> v = p.loops(f);
    auto [vectors, lane] = p.split(v[1], lanes);
    p.reorder({lane, vectors, v[0]});
    p.vectorize(lane);
  }
  SmallVector<Loop> v = p.loops(dot, 0); // ii k c it h b rl
  auto [rowGroup, row] = p.split(v[0], scoreRows);
  auto [keyGroup, key] = p.split(v[1], scoreKeys);
  p.reorder({v.back(), row, key, rowGroup, keyGroup});
  p.atomic(dot, 0);
  p.vectorize(v.back());
  p.unroll(row);
  p.unroll(key);
  p.neverPartition(dot, 0);
  scheduleLaneParts(dotPart, rowGroup, scoreRows, scoreKeys);
}

/// Sums over every lanes-th dim, in registers, for `rows` and `keys`.
void AttentionLowering::scheduleLaneParts(Func f, Loop at, int64_t rows, int64_t keys) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, /*perChunk=*/true);
  p.boundExtent(f, 1, rows);
  p.boundExtent(f, 2, keys);
  splitRows(f, p.loops(f)[0], lanes);
  SmallVector<Loop> v = p.loops(f, 0); // j ii k c it h b rd
  p.reorder({v[0], v[1], v[2], v.back()});
  p.vectorizeBy(v[0], lanes, TailStrategy::automatic);
  for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    SmallVector<Loop> loops = update ? v : p.loops(f);
    p.unroll(loops[1]);
    p.unroll(loops[2]);
    p.neverPartition(f, update);
  }
}

void AttentionLowering::scheduleScores() {
  if (byKeys)
    return scheduleScoresByKeys();
  scheduleStaged();
  if (Value(wideKey))
    scheduleWideKey();
  computeInChunk(score);
  p.boundStorage(score, 1, chunk);
  p.boundExtent(score, 0, rowTile);
  SmallVector<Loop> v = p.loops(score);
  auto [keyGroup, key] = p.split(v[1], scoreKeys, TailStrategy::round_up);
  auto [rowGroup, row] = p.split(v[0], lanes * scoreRows);
  auto [vectors, lane] = p.split(row, lanes);
  p.reorder({lane, vectors, key, rowGroup, keyGroup});
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(key);
  Loop parts = scheduleRegisterTile(dot, rowGroup, lanes * scoreRows, /*otherDim=*/1, scoreKeys);
  if (Value(dotPart)) {
    scheduleRegisterTile(dotPart, parts, lanes * scoreRows, /*otherDim=*/1, scoreKeys);
    p.boundExtent(dotPart, 2, 1);
  }
}

void AttentionLowering::scheduleWeights() {
  scheduleChains(maxChains, maximum);
  scheduleChains(sumChains, sum);
  scheduleWeightsOf(weights);
  if (!op.getProbMod().empty())
    scheduleWeightsOf(modified);
}

void AttentionLowering::scheduleChains(Func chains, Func all) {
  computeInChunk(all);
  if (!byKeys) {
    auto [vectors, lane] = splitRows(all, p.loops(all)[0], rowTile);
    scheduleRegisterTile(chains, vectors, lanes, /*otherDim=*/1, numChains);
    return;
  }
  p.boundExtent(all, 0, rowTile);
  p.computeAt(chains, p.loops(all)[0]);
  p.storeIn(chains, MemoryType::stack);
  fixTile(chains, /*perChunk=*/true);
  p.boundExtent(chains, 0, 1);
  p.boundExtent(chains, 1, numChains);
  p.vectorize(p.loops(chains)[1]);
  SmallVector<Loop> v = p.loops(chains, 0); // ii u c it h b rk
  p.reorder({v[1], v[0], v.back()});
  p.vectorizeBy(v[1], lanes, TailStrategy::automatic);
  p.neverPartition(chains, 0);
}

void AttentionLowering::scheduleWeightsOf(Func f) {
  if (byKeys) {
    layOutByKeys(f);
    SmallVector<Loop> v = p.loops(f);
    auto [vectors, lane] = p.split(v[1], lanes);
    p.reorder({lane, vectors, v[0]});
    return p.vectorize(lane);
  }
  computeInChunk(f);
  p.boundStorage(f, 1, chunk);
  p.unroll(splitRows(f, p.loops(f)[0], rowTile).first);
}

void AttentionLowering::scheduleExactContext() {
  for (Func f : {worst, exactChunks, worstOfLane, exactContext}) {
    computeInTile(f);
    fixTile(f, /*perChunk=*/false);
  }
  p.neverPartition(worst, 0);
  splitRows(worstOfLane, p.loops(worstOfLane)[0], lanes);
  SmallVector<Loop> w = p.loops(worstOfLane, 0); // x it h b rx ry ri
  auto [worstVectors, worstLane] = p.split(w[0], lanes);
  p.vectorize(worstLane);
  p.reorder({worstLane, worstVectors, w[4], w[5], w[6]});

  p.boundExtent(exactContext, 1, rowTile);
  splitRows(exactContext, p.loops(exactContext)[0], numBlocks * block);
  SmallVector<Loop> v = p.loops(exactContext, 0); // x ii it h b rc
  auto [columns, lane] = p.split(v[0], lanes);
  p.vectorize(lane);
  p.reorder({lane, columns, v[1], v[2], v[5], v[3], v[4]});
  p.neverPartition(exactContext, 0);

  p.computeAt(exactProduct, columns);
  p.storeIn(exactProduct, MemoryType::register_);
  fixTile(exactProduct, /*perChunk=*/true);
  p.boundExtent(exactProduct, 1, 1);
  splitRows(exactProduct, p.loops(exactProduct)[0], lanes);
  p.vectorizeBy(p.loops(exactProduct, 0)[0], lanes, TailStrategy::automatic);
  p.neverPartition(exactProduct, 0);

  scheduleExactWeight(v[2]);
}

void AttentionLowering::scheduleExactWeight(Loop at) {
  p.computeAt(exactWeight, at);
  p.storeIn(exactWeight, MemoryType::stack);
  fixTile(exactWeight, /*perChunk=*/true);
  p.boundStorage(exactWeight, 1, chunk);
  p.neverPartition(exactWeight);
  p.boundExtent(exactWeight, 0, rowTile);
  Loop rows = p.loops(exactWeight)[0];
  if (!byKeys)
    rows = p.vectorizeBy(rows, lanes, TailStrategy::automatic);

  scheduleExactDot(rows);
}

/// Sums as the scores did: other roundings of large scores would give other weights.
void AttentionLowering::scheduleExactDot(Loop at) {
  p.computeAt(exactDot, at);
  p.storeIn(exactDot, MemoryType::register_);
  fixTile(exactDot, /*perChunk=*/true);
  p.neverPartition(exactDot, 0);
  SmallVector<Loop> v = p.loops(exactDot, 0); // ii k c it h b, then parts or dims
  if (byKeys) {
    p.boundExtent(exactDot, 0, 1);
    p.atomic(exactDot, 0);
    p.vectorize(v.back());
    return scheduleLaneParts(exactDotPart, v[0], /*rows=*/1, /*keys=*/1);
  }
  splitRows(exactDot, p.loops(exactDot)[0], lanes);
  auto [vectors, lane] = p.split(v[0], lanes);
  p.vectorize(lane);
  if (!Value(exactDotPart))
    return;
  p.reorder({lane, vectors, v.back()});
  scheduleRegisterTile(exactDotPart, v.back(), lanes, /*otherDim=*/1, /*otherExtent=*/1);
  p.boundExtent(exactDotPart, 2, 1);
}
