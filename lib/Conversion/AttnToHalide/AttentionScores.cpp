//===- AttentionScores.cpp - scores of a KV block -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a KV block: query·key, then scale, score region and mask.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "Rows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Tensors read by row
//===----------------------------------------------------------------------===//

/// Whether `extract` reads an element of a row, at a place that arguments of its region and
/// constants name. With rows in the lanes, reading it directly would be a gather.
static bool readsRow(tensor::ExtractOp extract, Value q) {
  auto indices = extract.getIndices();
  bool isOfPlaces = llvm::all_of(indices, [](Value index) {
    return isa<BlockArgument>(index) || matchPattern(index, m_Constant());
  });
  return isOfPlaces && llvm::is_contained(indices, q);
}

/// The element type of a copy: a byte for an i1, as there are no vectors of bits in memory.
static Type getStagedType(Type type) {
  if (isa<FloatType>(type))
    return accumulatorType(type);
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

/// Builds the copy of what is read, of `type`.
using Copy = function_ref<TransposedFunc(
    Type type, function_ref<Scalar(Scalar ii, Scalar k, const BlockCoords &t)> read)>;

/// Copies what the regions before the softmax read by row, along the keys or whatever the key.
static void stageReads(const AttentionBlocks &blocks, AttentionRegions &regions, bool alongKeys,
                       StagedReads &staged, Copy copy) {
  AttentionOp op = blocks.in.op;
  for (Region *region : {&op.getScoreMod(), &op.getMask()}) {
    if (region->empty())
      continue;
    Value q = *std::prev(region->args_end(), 2), k = region->getArguments().back();
    region->walk([&](tensor::ExtractOp extract) {
      auto indices = extract.getIndices();
      if (!readsRow(extract, q) ||
          (alongKeys ? indices.back() != k : llvm::is_contained(indices, k)))
        return;
      Type type = getStagedType(extract.getType());
      auto read = [&](Scalar ii, Scalar k, const BlockCoords &t) {
        SmallVector<Scalar> args = {blocks.batch(t), blocks.head(ii, t), blocks.row(ii, t), k};
        if (region == &op.getScoreMod())
          args.insert(args.begin(), blocks.in.f32(0));
        return regions.inlinedValue(*region, extract.getResult(), args, type);
      };
      staged.push_back({extract.getResult(), copy(type, read)});
    });
  }
}

StagedReads attn::buildRowReads(const AttentionBlocks &blocks, AttentionRegions &regions) {
  StagedReads staged;
  stageReads(blocks, regions, /*alongKeys=*/false, staged, [&](Type type, auto read) {
    StringRef vars[] = {"ii", "it", "h", "b"};
    return TransposedFunc(blocks.p.func(
        "row_read" + std::to_string(staged.size()), vars, type,
        [&](ArrayRef<Scalar> v) { return read(v[0], blocks.p.i32(0), BlockCoords(v)); }));
  });
  return staged;
}

/// `x`, and a prefetch of what `later` reads, if that is an input's element, widened or not.
static Scalar fetchLater(Scalar x, Scalar later) {
  Value element = later;
  if (Operation *cast = element.getDefiningOp();
      isa_and_nonnull<arith::ExtFOp, arith::ExtUIOp>(cast))
    element = cast->getOperand(0);
  auto at = element.getDefiningOp<halide::AtOp>();
  bool isOfInput = at && at.getFunc().getDefiningOp<halide::InputOp>();
  return isOfInput ? fetchAhead(x, {x.b(), element}) : x;
}

StagedReads attn::buildStagedReads(const KvReader &reader, AttentionRegions &regions, int64_t lanes,
                                   bool readsWholeGroups, StringRef prefix,
                                   const StagedReads &rowReads) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  StagedReads staged = rowReads;
  stageReads(blocks, regions, /*alongKeys=*/true, staged, [&](Type type, auto read) {
    std::string name = (prefix + Twine(staged.size())).str();
    auto element = [&](ArrayRef<Scalar> v) {
      BlockCoords t(v);
      auto readAt = [&](Scalar k) {
        return read(v[0], unsafePromiseClamped(k, p.i32(0), blocks.in.numKeys - 1), t);
      };
      // Keys past the last visible one are read too; their scores are masked.
      Scalar k = reader.number(v[1], v[2], t);
      Scalar last = blocks.in.numKeys - 1;
      return fetchLater(readAt(readsWholeGroups ? k : min(likely(k), last)),
                        readAt(k + blocks.kvBlock));
    };
    return TransposedFunc(p, lanes, blocks.kvBlock, name, kScoreVars, type, element);
  });
  return staged;
}

/// Values of the staged reads, taken from their copies.
static SmallVector<std::pair<Value, Scalar>>
readStaged(Scalar ii, Scalar k, Scalar c, const BlockCoords &t, const StagedReads &staged) {
  SmallVector<std::pair<Value, Scalar>> known;
  for (const StagedRead &read : staged) {
    Func copy = read.copy.func;
    Scalar element = read.isOfRows() ? copy(ii, t.it, t.h, t.b) : copy(ii, k, c, t.it, t.h, t.b);
    known.push_back({read.read, read.read.getType().isInteger(1) ? !(element == 0) : element});
  }
  return known;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Scalar ScoreSteps::modify(Scalar dot, Scalar ii, Scalar k, Scalar c, const BlockCoords &t,
                          const StagedReads &staged) const {
  const AttentionBlocks &blocks = reader.blocks;
  const AttentionInputs &in = blocks.in;
  if (in.isScaled)
    dot = strictFloat(dot * std::abs(in.scale));
  Scalar score = regions.inlined(
      in.op.getScoreMod(),
      {dot, blocks.batch(t), blocks.head(ii, t), blocks.row(ii, t), reader.visibleNumber(k, c, t)},
      dot, readStaged(ii, k, c, t, staged));
  return in.isScaled ? strictFloat(score) : score;
}

/// Built from bits: an infinity that float rules may touch is not safe.
Scalar ScoreSteps::hide(Scalar score, Scalar ii, Scalar k, Scalar c, const BlockCoords &t,
                        const StagedReads &staged) const {
  const AttentionBlocks &blocks = reader.blocks;
  Scalar visible = reader.number(k, c, t) < reader.range.highAt(t);
  Scalar seen = regions.inlined(
      blocks.in.op.getMask(),
      {blocks.batch(t), blocks.head(ii, t), blocks.row(ii, t), reader.visibleNumber(k, c, t)},
      Scalar(), readStaged(ii, k, c, t, staged));
  // A copy is a func, which no condition of a select may read. Halide finds no bounds for a
  // disjunction with a repeated term, and refuses its select.
  bool isBlended = !staged.empty() || !mask.isConjunction();
  if (Value(seen) && !isBlended)
    visible = visible && seen;
  Scalar b = bits(score);
  Scalar result = fromBits(select(visible, b, b.constant(kMinusInfBits)), score.getType());
  Scalar hidden = fromBits(b.constant(kMinusInfBits), score.getType());
  return Value(seen) && isBlended ? blend(seen, result, hidden) : result;
}

Scalar ScoreSteps::modifyProb(Scalar numerator, Scalar ii, Scalar k, Scalar c,
                              const BlockCoords &t) const {
  const AttentionBlocks &blocks = reader.blocks;
  Region &region = blocks.in.op.getProbMod();
  if (region.empty())
    return numerator;
  Scalar h = blocks.head(ii, t), q = blocks.row(ii, t), j = reader.visibleNumber(k, c, t);
  return strictFloat(regions.inlined(region, {numerator, blocks.batch(t), h, q, j}, numerator));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static constexpr StringRef kQueryVars[] = {"ii", "d", "it", "h", "b"};

static Scalar readQuery(const AttentionBlocks &blocks, ArrayRef<Scalar> v) {
  BlockCoords t(v);
  Scalar x = widenFactor(
      blocks.in.query(v[1], blocks.storedRow(v[0], blocks.qBlock(t)), blocks.head(v[0], t), t.b));
  return blocks.in.scale < 0 ? -x : x;
}

/// The scale's sign is that of both elements of a pair.
static Scalar readQueryPair(const AttentionBlocks &blocks, ArrayRef<Scalar> v) {
  BlockCoords t(v);
  auto read = [&](Scalar d) {
    return blocks.in.query(d, blocks.storedRow(v[0], blocks.qBlock(t)), blocks.head(v[0], t), t.b);
  };
  Scalar pair = pairOf(read(v[1] * 2), read(v[1] * 2 + 1));
  if (blocks.in.scale >= 0)
    return pair;
  constexpr int64_t kSigns = int32_t(0x80008000);
  return {pair.b(), arith::XOrIOp::create(pair.b(), pair, pair.constant(kSigns))};
}

Func attn::buildQuery(const AttentionBlocks &blocks, bool inPairs) {
  Type type = inPairs ? Type(blocks.p.b().getI32Type()) : blocks.p.b().getF32Type();
  return blocks.p.func("query_t", kQueryVars, type, [&](ArrayRef<Scalar> v) {
    return inPairs ? readQueryPair(blocks, v) : readQuery(blocks, v);
  });
}

TransposedFunc attn::buildTransposedQuery(const AttentionBlocks &blocks, int64_t lanes) {
  return TransposedFunc(blocks.p, lanes, blocks.in.headDim, "query_t", kQueryVars,
                        blocks.p.b().getF32Type(),
                        [&](ArrayRef<Scalar> v) { return readQuery(blocks, v); });
}

TransposedFunc attn::buildTransposedQueryPairs(const AttentionBlocks &blocks, int64_t lanes,
                                               int64_t pairs) {
  PipelineBuilder &p = blocks.p;
  Type i32 = p.b().getI32Type();
  int64_t known = blocks.in.headDim / 2;
  auto pair = [&](ArrayRef<Scalar> v) {
    if (pairs == known)
      return readQueryPair(blocks, v);
    SmallVector<Scalar> at(v);
    at[1] = min(v[1], known - 1);
    return select(v[1] < p.i32(known), readQueryPair(blocks, at), p.i32(0));
  };
  return TransposedFunc(p, lanes, blocks.in.headDim / 2, "query_t", kQueryVars, i32, pair);
}

Func attn::buildWideKey(const KvReader &reader) {
  PipelineBuilder &p = reader.blocks.p;
  StringRef vars[] = {"d", "k", "c", "it", "h", "b"};
  return p.func("wide_key", vars, p.b().getF32Type(),
                [&](ArrayRef<Scalar> v) { return reader.key(v[0], v[1], v[2], BlockCoords(v)); });
}

Func attn::buildKeyPairs(const KvReader &reader) {
  PipelineBuilder &p = reader.blocks.p;
  StringRef vars[] = {"d", "k", "c", "it", "h", "b"};
  return p.func("key_pairs", vars, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    return reader.keyPair(v[0], v[1], v[2], BlockCoords(v));
  });
}

static constexpr StringRef kTileVars[] = {"m", "u", "w", "c", "it", "h", "b"};

/// Adds up the lanes of a tile's partial sums, key by key in each row: in each step the halves of
/// what is left of a sum. Vectors hold several sums then: one of them takes two shuffles and an
/// addition.
static Func buildLaneSums(PipelineBuilder &p, DotProduct &dot, const DotForm &form,
                          StringRef name) {
  int64_t lanes = form.sums, rows = form.tileRows, keys = form.tileKeys, left = lanes;
  auto add = [&](StringRef suffix, int64_t size, Body element) {
    Func step = p.func((name + suffix).str(), kTileVars, p.b().getF32Type(), element);
    dot.laneSums.push_back({step, rows * keys, size});
    return step;
  };
  auto along = [](ArrayRef<Scalar> v, Scalar m) {
    SmallVector<Scalar> at(v);
    at[0] = m;
    return at;
  };
  Func partial = dot.partial;
  Func last = add("_lanes", lanes, [&](ArrayRef<Scalar> v) {
    Scalar sum = v[0] / lanes;
    SmallVector<Scalar> at = {v[0] % lanes, v[1] * rows + sum / keys, v[2] * keys + sum % keys};
    llvm::append_range(at, v.drop_front(3));
    return partial(at);
  });
  for (; left % 2 == 0; left /= 2) {
    Func before = last;
    int64_t half = left / 2;
    last = add("_lanes" + std::to_string(half), half, [&](ArrayRef<Scalar> v) {
      Scalar first = v[0] / half * left + v[0] % half;
      return before(along(v, first)) + before(along(v, first + half));
    });
  }
  if (left == 1)
    return last;
  return p.func((name + "_rest").str(), kTileVars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    Scalar sum = last(along(v, v[0] * left));
    for (int64_t lane = 1; lane < left; ++lane)
      sum = sum + last(along(v, v[0] * left + lane));
    return sum;
  });
}

/// The sums of all tiles, by row and key.
static Func addUpLanes(PipelineBuilder &p, DotProduct &dot, const DotForm &form, StringRef name) {
  int64_t rows = form.tileRows, keys = form.tileKeys;
  Func sums = buildLaneSums(p, dot, form, name);
  return p.func(name, kScoreVars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> at = {v[0] % rows * keys + v[1] % keys, v[0] / rows, v[1] / keys};
    llvm::append_range(at, v.drop_front(2));
    return sums(at);
  });
}

DotProduct attn::buildDotProduct(const AttentionBlocks &blocks, Func query, KeyElement keyAt,
                                 DotForm form, StringRef name) {
  PipelineBuilder &p = blocks.p;
  int64_t dims = blocks.in.headDim / form.sums / (form.inPairs ? 2 : 1);
  auto zero = [&](ArrayRef<Scalar>) { return blocks.in.f32(0); };
  auto term = [&](ArrayRef<Scalar> v, Scalar d) {
    BlockCoords t(v);
    return query(v[0], d, t.it, t.h, t.b) * keyAt(v[1], v[2], t, d);
  };
  auto add = [&](Scalar acc, ArrayRef<Scalar> v, Scalar d) {
    BlockCoords t(v);
    return form.inPairs ? dotBF16Pair(acc, query(v[0], d, t.it, t.h, t.b), keyAt(v[1], v[2], t, d))
                        : acc + term(v, d);
  };
  Func sum, partial;
  if (!form.isInterleaved)
    sum = p.func(name, kScoreVars, p.b().getF32Type(), zero);
  bool isOneSum = form.sums == 1 && !form.isInterleaved;
  if (isOneSum && form.inPairs) {
    p.update(sum, kScoreVars, {{"rd", p.i32(dims)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) { return add(sum(v), v, r[0]); });
    return {sum, partial, {}, {}};
  }
  if (isOneSum) {
    p.update(sum, kScoreVars, {{"rd", p.i32(dims / form.terms)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
               Scalar terms = term(v, r[0] * form.terms);
               for (int64_t i = 1; i < form.terms; ++i)
                 terms = terms + term(v, r[0] * form.terms + i);
               return sum(v) + terms;
             });
    return {sum, partial, {}, {}};
  }
  int64_t blockDim = form.isInterleaved ? 0 : 2;
  SmallVector<StringRef> partialVars = llvm::to_vector(ArrayRef(kScoreVars));
  partialVars.insert(partialVars.begin() + blockDim, "j");
  partial = p.func((name + "_partial").str(), partialVars, p.b().getF32Type(), zero);
  p.update(partial, partialVars, {{"rd", p.i32(dims)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar d =
                 form.isInterleaved ? r[0] * form.sums + v[blockDim] : v[blockDim] * dims + r[0];
             return add(partial(v), without(v, blockDim), d);
           });
  if (form.isInterleaved) {
    DotProduct dot{Func(), partial, {}, {}};
    if (form.inSquares) {
      dot.square = LaneSquare(p, partial, form.sums, name);
      dot.sum = p.func(name, kScoreVars, p.b().getF32Type(),
                       [&](ArrayRef<Scalar> v) { return dot.square.sum(v); });
    } else {
      dot.sum = addUpLanes(p, dot, form, name);
    }
    return dot;
  }
  p.update(sum, kScoreVars, {{"rj", p.i32(form.sums)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return sum(v) + partial(along(v, blockDim, r[0]));
           });
  return {sum, partial, {}, {}};
}

DotProduct attn::buildTileProduct(const KvReader &reader, Func query, KeyElement keyAt,
                                  StringRef name) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  Type f32 = p.b().getF32Type();
  Func sum = p.func(name, kScoreVars, f32, [&](ArrayRef<Scalar>) { return undef(p.b(), f32); });
  p.update(sum, kScoreVars, {{"rd", p.i32(blocks.in.headDim / 2)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             return dotBF16Tiles(blocks.in.f32(0), keyAt(v[1], v[2], t, r[0]),
                                 query(v[0], r[0], t.it, t.h, t.b),
                                 reader.countVisible(v[1], v[2], t), p.i32(blocks.in.headDim));
           });
  return {sum, Func(), {}, {}};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Masks scores on either side of the keys that all rows see, and past the last key up to the end
/// of a step of the maximum's accumulators.
static void hideEdges(const KvReader &reader, const ScoreSteps &steps, Func score,
                      const StagedReads &staged, const FullKeys &keys, int64_t numAccumulators) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  auto within = [&](Scalar key, Scalar c, const BlockCoords &t, Scalar end) {
    return clamp(key - reader.number(p.i32(0), c, t), p.i32(0), end);
  };
  auto edges = [&](Scalar c, const BlockCoords &t) {
    Scalar end = within(reader.range.endOf(c, t), c, t, p.i32(blocks.kvBlock));
    end = (end + (numAccumulators - 1)) / numAccumulators * numAccumulators;
    Scalar first = within(keys.first(t.it, t.h, t.b), c, t, end);
    Scalar last = within(keys.endIn(c, t), c, t, end);
    return std::array<Scalar, 3>{first, max(last, first), end};
  };
  StringRef vars[] = {"ii", "c", "it", "h", "b"};
  p.update(score, vars, {{"rk", p.i32(blocks.kvBlock)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             auto [first, last, end] = edges(v[1], t);
             Scalar k = r[0] + select(r[0] < first, p.i32(0), last - first);
             k = unsafePromiseClamped(k, p.i32(0), end - 1);
             Scalar old = score(v[0], k, v[1], t.it, t.h, t.b);
             return {steps.hide(old, v[0], k, v[1], t, staged),
                     {v[0], k, v[1], t.it, t.h, t.b},
                     r[0] < end - (last - first)};
           });
}

Func attn::buildOfKeys(const KvReader &reader, StringRef name, Type type,
                       const ComputedKeys &computed, Body element) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  if (computed.areAll())
    return p.func(name, kScoreVars, type, element);
  int64_t tile = computed.tile, keysOfStep = computed.step * computed.keysOfElement,
          tiles = blocks.kvBlock / (tile * computed.keysOfElement);
  Func f = p.func(name, kScoreVars, type, [&](ArrayRef<Scalar>) { return undef(p.b(), type); });
  StringRef others[] = {"ii", "c", "it", "h", "b"};
  p.update(f, others, {{kTileElement, p.i32(tile)}, {kTileLoop, p.i32(tiles)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             SmallVector<Scalar> at = along(v, 1, r[1] * tile + r[0]);
             Scalar visible = reader.countVisible(p.i32(0), v[1], BlockCoords(v));
             Scalar steps = (visible + (keysOfStep - 1)) / keysOfStep;
             return {element(at), at, r[1] < steps * (computed.step / tile)};
           });
  return f;
}

bool attn::maskProducts(const KvReader &reader, const ScoreSteps &steps, Func dot,
                        const StagedReads &staged, const FullKeys &keys, int64_t numAccumulators) {
  if (!keys.areKnown() || reader.blocks.in.isScaled)
    return false;
  hideEdges(reader, steps, dot, staged, keys, numAccumulators);
  return true;
}

Func attn::buildScores(const KvReader &reader, const ScoreSteps &steps, Func dot,
                       const StagedReads &staged, const FullKeys &keys, int64_t numAccumulators,
                       const ComputedKeys &computed) {
  PipelineBuilder &p = reader.blocks.p;
  Func score = buildOfKeys(reader, "score", p.b().getF32Type(), computed, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar s = steps.modify(dot(v), v[0], v[1], v[2], t, staged);
    return keys.areKnown() ? s : steps.hide(s, v[0], v[1], v[2], t, staged);
  });
  if (keys.areKnown())
    hideEdges(reader, steps, score, staged, keys, numAccumulators);
  return score;
}
