//===- DecodeAttention.cpp - fused attention of few rows on a CPU ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few rows, keys lie in the lanes, dot products are sums over lanes of dims, and the query
// heads that share a key/value head are rows of one tile, so that keys and values are read once.
// Keys may be split: each KV split is a parallel task, and the splits of a row are merged
// afterwards.
//
//===----------------------------------------------------------------------===//

#include "CpuSchedule.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
class DecodeAttention {
public:
  DecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr s);
  LogicalResult lower();

private:
  void buildScores();
  void buildAccumulator();
  void buildOutput();
  void buildSplits();
  void buildMerged();
  Scalar weighSplit(Scalar maximum, Scalar sum, Scalar top);
  DotForm getDotForm() const { return {lanes, /*isInterleaved=*/true}; }

  void schedule();
  void scheduleSplits(Loop merging);
  void scheduleQuery();
  void scheduleScores();
  void scheduleLaneSums(Func f, Loop at, int64_t rows, int64_t keys);
  void layOutByKeys(Func f);
  void scheduleByKeys(Func f);
  void scheduleAccumulators(Func partial, Func all);
  void scheduleSecondPass();

  PipelineBuilder &p;
  DecodeAttr s;
  int64_t lanes;
  AttentionInputs in;
  AttentionTile tile;
  BlockedColumns columns;
  MaskAnalysis mask;
  TileMask tileMask;
  AttentionRegions regions;
  Numerators numerators;
  LseOutput lse;

  KeyRange range;
  Func chunks;
  std::optional<KvReader> reader;
  std::optional<ScoreSteps> steps;
  Func query;
  DotProduct dot;
  Func score;
  ChunkSoftmax softmax;
  ChunkContext chunkContext;
  Func acc, inverse;
  std::unique_ptr<RowState> row;
  SecondPass second;
  /// The partial result of each KV split, the maximum over a row's splits, and their merged sums.
  /// Null without splits.
  Func partial, top, merged, mergedInverse;
  Func context;

  CpuSchedule cpu;
};
} // namespace

DecodeAttention::DecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr s)
    : p(p), s(s), lanes(s.getVectorWidth()), in(p, op),
      tile(in, s.getQBlock(), s.getPackedHeads(), s.getKvBlock(),
           KvSplits::byLength(in, s.getKvSplits(), s.getMinSplitKeys())),
      columns(BlockedColumns::ofVectors(in.valueDim, lanes, s.getContextVectors())),
      mask(op.getMask()), tileMask(tile, mask), regions(in), numerators(in, cpuExp2),
      lse(tile, numerators), cpu(tile, columns, lanes, s.getContextRows()) {}

LogicalResult attn::lowerDecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr s) {
  return DecodeAttention(p, op, s).lower();
}

LogicalResult DecodeAttention::lower() {
  range = buildKeyRange(tileMask);
  chunks = buildChunks(tile, range);
  reader.emplace(tile, range, buildKvHead(tile), /*mayBeEmpty=*/false);
  steps.emplace(*reader, regions, tileMask);
  buildScores();
  buildAccumulator();
  buildOutput();
  if (regions.hasFailed())
    return failure();
  schedule();
  return success();
}

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

void DecodeAttention::buildScores() {
  query = buildQuery(tile);
  auto keyAt = [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
    return reader->key(d, k, c, t);
  };
  dot = buildDotProduct(tile, query, keyAt, getDotForm(), "dot");
  score = attn::buildScores(tile, *steps, dot.sum, /*staged=*/{}, /*keys=*/{}, range, lanes);
  softmax = buildChunkSoftmax(*reader, *steps, numerators, score, lanes);
}

void DecodeAttention::buildAccumulator() {
  chunkContext = buildChunkContext(*reader, columns, softmax.modified, !columns.isWhole(),
                                   /*keys=*/{}, s.getContextRows(),
                                   [&](ArrayRef<Scalar>) { return in.f32(0); });
  acc =
      buildRowAccumulator(tile, columns, numerators, chunkContext.product, softmax, chunks, lanes);
  row = std::make_unique<OnlineState>(p, acc, columns);
}

void DecodeAttention::buildOutput() {
  inverse = buildInverse(tile, numerators, *row, lse);
  second = buildSecondPass(*reader, columns, *steps, numerators, *row, lse,
                           {query, acc, chunks, getDotForm(), lanes}, [] { return StagedReads(); });
  if (tile.splits.isSplit()) {
    buildSplits();
    buildMerged();
  }
  context = buildContext(tile, [&](Scalar d, Scalar ii, const TileCoords &t) -> Quotient {
    if (tile.splits.isSplit())
      return {merged(d, ii, t.it, t.h, t.b), mergedInverse(ii, t.it, t.h, t.b)};
    Scalar sum = getContextSum(second, columns, acc, d, ii, t);
    return {sum, inverse(ii, t.it, t.h, t.b)};
  });
  lse.addOutput();
}

/// The partial result of each KV split: weighted sum of values, sum of numerators, maximum.
void DecodeAttention::buildSplits() {
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  partial = p.func("partial", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar d = min(v[0], in.valueDim - 1), sum = getContextSum(second, columns, acc, d, v[1], t);
    return blend(v[0] == p.i32(in.valueDim), row->sum(v[1], t),
                 blend(v[0] > in.valueDim, row->maximum(p.i32(0), v[1], t), sum));
  });
}

/// Weight of a KV split in the merge: zero if its probabilities underflow, whatever its values,
/// else positive. A NaN sum comes from a NaN score, which the maximum does not show, and keeps its
/// weight.
Scalar DecodeAttention::weighSplit(Scalar maximum, Scalar sum, Scalar top) {
  Scalar isVanishing =
      numerators.exponent(maximum, top) < in.f32(kMinProbExponent) && isNumber(sum);
  return pick(!isVanishing, numerators.get(maximum, top) + kMinNumerator);
}

/// Sums over the KV splits, rescaled to one maximum, in a fixed order, so that results do not
/// depend on the number of threads.
void DecodeAttention::buildMerged() {
  Type f32Type = p.b().getF32Type();
  StringRef vars[] = {"x", "ii", "it", "h", "b"};
  ArrayRef<StringRef> rowVars = ArrayRef(vars).drop_front();
  Scalar splits = tile.splits.count;
  auto at = [&](Scalar x, const TileCoords &t, Scalar ii, Scalar split) {
    return partial(x, ii, t.it * splits + split, t.h, t.b);
  };
  auto maximumOf = [&](const TileCoords &t, Scalar ii, Scalar split) {
    return at(p.i32(in.valueDim + 1), t, ii, split);
  };
  top = p.func("top", rowVars, f32Type, [&](ArrayRef<Scalar>) { return in.f32(-kMaxFloat); });
  p.update(top, rowVars, {{"rp", splits}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    return machineMax(top(v), maximumOf(TileCoords(v), v[0], r[0]));
  });
  merged = p.func("merged", vars, f32Type, [&](ArrayRef<Scalar>) { return in.f32(0); });
  p.update(merged, vars, {{"rp", splits}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    TileCoords t(v);
    Scalar w = weighSplit(maximumOf(t, v[1], r[0]), at(p.i32(in.valueDim), t, v[1], r[0]),
                          top(v[1], t.it, t.h, t.b));
    Scalar counts = !(bits(w) == p.i32(0));
    return merged(v) + pick(counts, w * at(v[0], t, v[1], r[0]));
  });
  mergedInverse = p.func("merged_inverse", rowVars, f32Type, [&](ArrayRef<Scalar> v) {
    RowSum sum{merged(p.i32(in.valueDim), v[0], v[1], v[2], v[3])};
    if (!lse)
      return numerators.reciprocal(sum.total);
    RowPlace place = RowPlace::inMergedTile(tile, v[0], TileCoords(v));
    sum.maximum = top(v);
    return lse.storeBeside(lse.reciprocal(place, sum), place, sum);
  });
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

void DecodeAttention::schedule() {
  Loop tiles = cpu.scheduleOutput(context);
  if (tile.splits.isSplit()) {
    scheduleSplits(tiles);
  } else {
    cpu.tileLoop = tiles;
    p.parallel(cpu.tileLoop);
  }
  cpu.scheduleRange(range, chunks, /*full=*/{});
  cpu.scheduleKvHead(reader->kvHead);
  scheduleQuery();
  cpu.scheduleAccumulator(acc, chunkContext, /*isOneChunk=*/false);
  cpu.computeInTile(inverse);
  tile.fix(inverse, /*perChunk=*/false);
  p.boundExtent(inverse, "ii", tile.rows);
  scheduleScores();
  scheduleAccumulators(softmax.partialMax, softmax.maximum);
  scheduleAccumulators(softmax.partialSum, softmax.sum);
  scheduleByKeys(softmax.numerators);
  if (!in.op.getProbMod().empty())
    scheduleByKeys(softmax.modified);
  scheduleSecondPass();
}

/// One task per KV split of a tile; the merge is too little work for tasks.
void DecodeAttention::scheduleSplits(Loop merging) {
  p.computeRoot(partial);
  p.boundExtent(partial, "ii", tile.rows);
  StageLoops v = p.stage(partial);
  p.vectorizeBy(v["x"], lanes);
  auto [kvSplit, one] = p.split(v["it"], 1, TailStrategy::round_up);
  cpu.tileLoop = p.fuse(p.fuse(kvSplit, v["h"]), v["b"]);
  p.parallel(cpu.tileLoop);
  p.neverPartition(partial);

  for (Func f : {top, merged, mergedInverse}) {
    p.computeAt(f, merging);
    p.storeIn(f, MemoryType::stack);
    tile.fix(f, /*perChunk=*/false);
    p.boundExtent(f, "ii", tile.rows);
    p.neverPartition(f);
  }
  StageLoops ofTop = p.stage(top, 0);
  p.reorder({ofTop["ii"], ofTop["rp"], ofTop["it"], ofTop["h"], ofTop["b"]});
  p.neverPartition(top, 0);
  StageLoops sums = p.stage(merged, 0);
  p.reorder({sums["x"], sums["ii"], sums["rp"], sums["it"], sums["h"], sums["b"]});
  p.neverPartition(merged, 0);
  p.boundExtent(merged, "x", in.valueDim + 1);
  p.vectorizeBy(p.stage(merged)["x"], lanes);
  p.vectorizeBy(p.stage(merged, 0)["x"], lanes);
}

void DecodeAttention::scheduleQuery() {
  cpu.computeInTile(query);
  tile.fix(query, /*perChunk=*/false);
  p.boundStorage(query, "d", in.headDim);
  StageLoops v = p.stage(query);
  p.boundExtent(query, "ii", tile.rows);
  p.boundExtent(query, "d", in.headDim);
  p.reorderStorage(query, {1, 0, 2, 3, 4});
  auto [vectors, lane] = p.split(v["d"], lanes);
  p.reorder({lane, vectors, v["ii"]});
  p.vectorize(lane);
}

/// Keys are innermost in memory and stored in whole chunks: all extents are constant.
void DecodeAttention::layOutByKeys(Func f) {
  cpu.computeInChunk(f);
  p.boundExtent(f, "ii", tile.rows);
  p.boundExtent(f, "k", tile.chunk);
  p.reorderStorage(f, {1, 0, 2, 3, 4, 5});
}

void DecodeAttention::scheduleByKeys(Func f) {
  layOutByKeys(f);
  StageLoops v = p.stage(f);
  auto [vectors, lane] = p.split(v["k"], lanes);
  p.reorder({lane, vectors, v["ii"]});
  p.vectorize(lane);
}

void DecodeAttention::scheduleScores() {
  scheduleByKeys(score);
  scheduleByKeys(dot.sum);
  StageLoops v = p.stage(dot.sum, 0);
  auto [rowGroup, row] = p.split(v["ii"], s.getScoreRows());
  auto [keyGroup, key] = p.split(v["k"], s.getScoreKeys());
  p.reorder({v["rj"], row, key, rowGroup, keyGroup});
  p.atomic(dot.sum, 0);
  p.vectorize(v["rj"]);
  p.unroll(row);
  p.unroll(key);
  p.neverPartition(dot.sum, 0);
  scheduleLaneSums(dot.partial, rowGroup, s.getScoreRows(), s.getScoreKeys());
}

/// Schedules partial sums over every lanes-th dim, in registers, for a tile of `rows` × `keys`.
void DecodeAttention::scheduleLaneSums(Func f, Loop at, int64_t rows, int64_t keys) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  tile.fix(f, /*perChunk=*/true);
  p.boundExtent(f, "ii", rows);
  p.boundExtent(f, "k", keys);
  cpu.splitRows(f, p.stage(f)["j"], lanes);
  StageLoops sum = p.stage(f, 0);
  p.reorder({sum["j"], sum["ii"], sum["k"], sum["rd"]});
  p.vectorizeBy(sum["j"], lanes, TailStrategy::automatic);
  StageLoops zero = p.stage(f);
  p.unroll(zero["ii"]);
  p.unroll(zero["k"]);
  p.neverPartition(f);
  p.unroll(sum["ii"]);
  p.unroll(sum["k"]);
  p.neverPartition(f, 0);
}

void DecodeAttention::scheduleAccumulators(Func partial, Func all) {
  cpu.computeInChunk(all);
  p.boundExtent(all, "ii", tile.rows);
  p.computeAt(partial, p.stage(all)["ii"]);
  p.storeIn(partial, MemoryType::stack);
  tile.fix(partial, /*perChunk=*/true);
  p.boundExtent(partial, "ii", 1);
  p.boundExtent(partial, "u", lanes);
  p.vectorize(p.stage(partial)["u"]);
  StageLoops v = p.stage(partial, 0);
  p.reorder({v["u"], v["ii"], v["rk"]});
  p.vectorizeBy(v["u"], lanes, TailStrategy::automatic);
  p.neverPartition(partial, 0);
}

/// All scores of the second pass are in one func. They are summed as in the first pass: large
/// scores rounded otherwise would give other numerators.
void DecodeAttention::scheduleSecondPass() {
  Loop at = cpu.scheduleSecondContext(second);
  cpu.computeInSecondChunk({second.numerators}, at);
  Func dots = second.dot.sum;
  p.computeAt(dots, p.stage(second.numerators)["ii"]);
  p.storeIn(dots, MemoryType::register_);
  tile.fix(dots, /*perChunk=*/true);
  p.neverPartition(dots, 0);
  StageLoops v = p.stage(dots, 0);
  p.boundExtent(dots, "ii", 1);
  p.atomic(dots, 0);
  p.vectorize(v["rj"]);
  scheduleLaneSums(second.dot.partial, v["ii"], /*rows=*/1, /*keys=*/1);
}
