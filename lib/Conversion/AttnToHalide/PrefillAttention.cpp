//===- PrefillAttention.cpp - fused attention of many rows on a CPU -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows lie in the vector lanes for scores and softmax, value dims for the context. The columns of
// one func, `acc`, hold the context (in blocks), the row's sum and its maximum; it is updated one
// chunk of keys at a time. If one chunk covers all visible keys, online rescaling is skipped, and
// `acc` is the context alone.
//
//===----------------------------------------------------------------------===//

#include "CpuSchedule.h"

#include "Rows.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
class PrefillAttention {
public:
  PrefillAttention(PipelineBuilder &p, AttentionOp op, PrefillAttr s);
  LogicalResult lower();

private:
  void buildKeys();
  void buildScores();
  void buildAccumulator();
  void buildOutput();
  bool readsWholeGroups() const;
  DotForm getDotForm() const;
  StagedReads stage(StringRef name);
  Scalar startProduct(ArrayRef<Scalar> v);

  void schedule();
  void scheduleSearch();
  void scheduleQuery();
  bool scheduleTransposed(const TransposedFunc &f, StringRef column);
  void scheduleStaged(const StagedReads &staged, Loop at);
  void scheduleInverse();
  void scheduleScores();
  void scheduleScoreTile(Func f, const DotProduct &dots);
  void scheduleAccumulators(Func partial, Func all);
  void scheduleNumerators(Func f);
  void scheduleSecondPass();

  PipelineBuilder &p;
  PrefillAttr s;
  int64_t lanes;
  AttentionInputs in;
  AttentionTile tile;
  BlockedColumns columns;
  MaskAnalysis mask;
  TileMask tileMask;
  AttentionRegions regions;
  Numerators numerators;
  LseOutput lse;
  /// Whether one chunk covers all keys that a tile of rows sees.
  bool isOneChunk;

  std::optional<KeySearch> search;
  KeyRange range;
  FullKeys full;
  Func chunks;
  std::optional<KvReader> reader;
  std::optional<ScoreSteps> steps;
  TransposedFunc query;
  Func wideKey;
  DotProduct dot;
  StagedReads staged;
  Func score;
  ChunkSoftmax softmax;
  ChunkContext chunkContext;
  Func acc, inverse;
  std::unique_ptr<RowState> row;
  SecondPass second;
  Func context;

  CpuSchedule cpu;
};
} // namespace

PrefillAttention::PrefillAttention(PipelineBuilder &p, AttentionOp op, PrefillAttr s)
    : p(p), s(s), lanes(s.getVectorWidth()), in(p, op),
      tile(in, s.getQBlock(), /*packedHeads=*/1, s.getKvBlock(), KvSplits::none(p)),
      columns(BlockedColumns::ofVectors(in.valueDim, lanes, s.getContextVectors())),
      mask(op.getMask()), tileMask(tile, mask), regions(in), numerators(in, cpuExp2),
      lse(tile, numerators), cpu(tile, columns, lanes, s.getContextRows()) {
  std::optional<int64_t> mostKeys = getMaxKeys(op, mask, tile.rows);
  isOneChunk = mostKeys && *mostKeys <= tile.chunk && !op.getSink() && op.getProbMod().empty();
}

LogicalResult attn::lowerPrefillAttention(PipelineBuilder &p, AttentionOp op, PrefillAttr s) {
  return PrefillAttention(p, op, s).lower();
}

LogicalResult PrefillAttention::lower() {
  buildKeys();
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

void PrefillAttention::buildKeys() {
  range = buildKeyRange(tileMask);
  if (!tileMask.isComplete()) {
    search = buildKeySearch(tile, regions, range, lanes);
    range = search->found;
  }
  if (tileMask.hasFullKeys())
    full = buildFullKeys(tileMask, range, s.getContextRows());
  chunks = buildChunks(tile, range);
  reader.emplace(tile, range, buildKvHead(tile), /*mayBeEmpty=*/isOneChunk);
  steps.emplace(*reader, regions, tileMask);
}

/// Whether kv_len is a multiple of the keys read at once, so that no key beyond it is read.
bool PrefillAttention::readsWholeGroups() const {
  int64_t size = in.op.getKey().getType().getDimSize(2);
  int64_t group = std::lcm(std::lcm(lanes, s.getScoreKeys()), PrefillAttr::kAccumulators);
  return tileMask.startsAtFirst() && !ShapedType::isDynamic(size) && size % group == 0 &&
         tile.chunk % group == 0;
}

StagedReads PrefillAttention::stage(StringRef name) {
  return buildStagedReads(*reader, regions, lanes, readsWholeGroups(), name);
}

/// Long dot products are blocked, if equal blocks divide head_dim.
DotForm PrefillAttention::getDotForm() const {
  constexpr int64_t kShort = 128, kSumLength = 64;
  DotForm form;
  if (in.headDim > kShort)
    form.sums = countEqualBlocks(in.headDim, kSumLength).value_or(1);
  return form;
}

void PrefillAttention::buildScores() {
  query = buildTransposedQuery(tile, lanes);
  if (in.isHalfPrecision)
    wideKey = buildWideKey(*reader);
  auto keyAt = [&](Scalar k, Scalar c, const TileCoords &t, Scalar d) {
    return Value(wideKey) ? wideKey(d, k, c, t.it, t.h, t.b) : reader->key(d, k, c, t);
  };
  dot = buildDotProduct(tile, query.func, keyAt, getDotForm(), "dot");
  staged = stage("staged");
  score = attn::buildScores(tile, *steps, dot.sum, staged, full, range, PrefillAttr::kAccumulators);
  softmax = buildChunkSoftmax(*reader, *steps, numerators, score, PrefillAttr::kAccumulators);
}

/// Returns 0; with one chunk, prefetches an element of the next row tile's query: a tile of few
/// keys takes so little time that the load would be exposed. There are about as many vectors of the
/// product as of the query.
Scalar PrefillAttention::startProduct(ArrayRef<Scalar> v) {
  if (!isOneChunk)
    return in.f32(0);
  TileCoords t(v);
  Scalar zero = in.f32(0), d = columns.dim(v[0], v[1]),
         next = min(t.it * tile.rows + tile.rows + v[2], in.numRows - 1);
  if (in.headDim < columns.numBlocks * columns.block)
    d = min(d, in.headDim - 1);
  return fetchAhead(zero, in.query(d, next, t.h, t.b));
}

void PrefillAttention::buildAccumulator() {
  chunkContext = buildChunkContext(
      *reader, columns, softmax.modified, !columns.isWhole() || in.isHalfPrecision, full,
      s.getContextRows(), [&](ArrayRef<Scalar> v) { return startProduct(v); });
  if (isOneChunk) {
    StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
    acc = p.func("acc", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
      return chunkContext.product(v[0], v[1], v[2], p.i32(0), v[3], v[4], v[5]);
    });
    row = std::make_unique<OneChunkState>(p, softmax);
    return;
  }
  acc =
      buildRowAccumulator(tile, columns, numerators, chunkContext.product, softmax, chunks, lanes);
  row = std::make_unique<OnlineState>(p, acc, columns);
}

void PrefillAttention::buildOutput() {
  inverse = buildInverse(tile, numerators, *row, lse);
  second = buildSecondPass(*reader, columns, *steps, numerators, *row, lse,
                           {query.func, acc, chunks, getDotForm(), lanes},
                           [&] { return stage("exact_staged"); });
  context = buildContext(tile, [&](Scalar d, Scalar ii, const TileCoords &t) -> Quotient {
    Scalar sum = getContextSum(second, columns, acc, d, ii, t);
    return {sum, inverse(ii, t.it, t.h, t.b)};
  });
  lse.addOutput();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

void PrefillAttention::schedule() {
  cpu.tileLoop = cpu.scheduleOutput(context);
  p.parallel(cpu.tileLoop);
  cpu.scheduleRange(range, chunks, full);
  cpu.scheduleKvHead(reader->kvHead);
  if (search)
    scheduleSearch();
  scheduleQuery();
  cpu.scheduleAccumulator(acc, chunkContext, isOneChunk);
  scheduleInverse();
  scheduleScores();
  scheduleAccumulators(softmax.partialMax, softmax.maximum);
  scheduleAccumulators(softmax.partialSum, softmax.sum);
  scheduleNumerators(softmax.numerators);
  if (!in.op.getProbMod().empty())
    scheduleNumerators(softmax.modified);
  scheduleSecondPass();
}

void PrefillAttention::scheduleSearch() {
  for (Func f : {search->before.low, search->before.high, search->edgeOfLane, search->edge}) {
    cpu.computeInTile(f);
    tile.fix(f, /*perChunk=*/false);
  }
  p.boundExtent(search->edge, "y", 2);
  p.neverPartition(search->edge, 0);
  p.boundExtent(search->edgeOfLane, "y", 2);
  cpu.splitRows(search->edgeOfLane, p.stage(search->edgeOfLane)["x"], lanes);
  StageLoops v = p.stage(search->edgeOfLane, 0);
  p.reorder({v["x"], v["y"], v["rk"], v["rr"]});
  p.vectorizeBy(v["x"], lanes, TailStrategy::automatic);
  p.unroll(v["y"]);
  for (int64_t update : {0, 1})
    p.neverPartition(search->edgeOfLane, update);
}

/// Schedules a square at a time, in registers. False if `f` is not made of squares.
bool PrefillAttention::scheduleTransposed(const TransposedFunc &f, StringRef columnName) {
  if (f.squares.empty())
    return false;
  StageLoops v = p.stage(f.func);
  auto [squareOfRow, lane] = p.split(v["ii"], lanes);
  auto [squareOfColumn, column] = p.split(v[columnName], lanes, TailStrategy::round_up);
  p.reorder({lane, column, squareOfColumn, squareOfRow});
  p.vectorize(lane);
  p.unroll(column);
  for (auto [square, ways] : f.squares) {
    p.computeAt(square, squareOfColumn);
    p.storeIn(square, MemoryType::register_);
    p.boundExtent(square, "m", lanes * lanes);
    for (int64_t dim = 1; dim < square.getRank(); ++dim)
      p.boundExtent(square, dim, 1);
    p.neverPartition(square);
    auto [vectors, elements] = p.split(p.stage(square)["m"], ways * lanes);
    p.vectorize(elements);
    p.unroll(vectors);
  }
  return true;
}

void PrefillAttention::scheduleStaged(const StagedReads &staged, Loop at) {
  for (const auto &[read, copy] : staged) {
    p.computeAt(copy.func, at);
    p.storeIn(copy.func, MemoryType::stack);
    tile.fix(copy.func, /*perChunk=*/true);
    p.boundExtent(copy.func, "ii", tile.rows);
    p.boundStorage(copy.func, "k", tile.chunk);
    if (scheduleTransposed(copy, "k"))
      continue;
    p.neverPartition(copy.func);
    StageLoops v = p.stage(copy.func);
    // Unrolled reads of 32-bit elements would become gathers, which are slow.
    if (copy.func.getElementType().getIntOrFloatBitWidth() >= 32) {
      p.reorder({v["k"], v["ii"]});
      continue;
    }
    auto [group, key] = p.split(v["k"], s.getScoreKeys(), TailStrategy::round_up);
    p.reorder({key, group, v["ii"]});
    p.unroll(key);
  }
}

void PrefillAttention::scheduleQuery() {
  cpu.computeInTile(query.func);
  tile.fix(query.func, /*perChunk=*/false);
  p.boundStorage(query.func, "d", in.headDim);
  StageLoops v = p.stage(query.func);
  p.boundExtent(query.func, "ii", tile.rows);
  if (scheduleTransposed(query, "d"))
    return;
  auto [vectors, lane] = cpu.splitRows(query.func, v["ii"], tile.rows);
  p.reorder({v["d"], lane, vectors});
  p.unroll(vectors);
}

void PrefillAttention::scheduleInverse() {
  cpu.computeInTile(inverse);
  tile.fix(inverse, /*perChunk=*/false);
  cpu.splitRows(inverse, p.stage(inverse)["ii"], tile.rows);
}

void PrefillAttention::scheduleScores() {
  scheduleStaged(staged, cpu.chunkLoop);
  if (Value(wideKey)) {
    cpu.computeInChunk(wideKey);
    p.boundExtent(wideKey, "d", in.headDim);
    p.boundStorage(wideKey, "k", tile.chunk);
    p.vectorizeBy(p.stage(wideKey)["d"], lanes);
  }
  cpu.computeInChunk(score);
  p.boundStorage(score, "k", tile.chunk);
  p.boundExtent(score, "ii", tile.rows);
  scheduleScoreTile(score, dot);
  if (!full.areKnown())
    return;
  StageLoops v = p.stage(score, 0);
  auto [vectors, lane] = p.split(v["ii"], lanes);
  p.vectorize(lane);
  p.unroll(vectors);
  p.reorder({lane, vectors, v["rk"]});
  p.neverPartition(score, 0);
}

/// Schedules dot products in register tiles of rows × keys. Both passes sum in the same order:
/// scores rounded otherwise would give numerators that do not match the first pass's sum.
void PrefillAttention::scheduleScoreTile(Func f, const DotProduct &dots) {
  int64_t rows = lanes * s.getScoreVectors(), keys = s.getScoreKeys();
  StageLoops v = p.stage(f);
  auto [keyGroup, key] = p.split(v["k"], keys, TailStrategy::round_up);
  auto [rowGroup, row] = p.split(v["ii"], rows);
  auto [vectors, lane] = p.split(row, lanes);
  p.reorder({lane, vectors, key, rowGroup, keyGroup});
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(key);
  bool hasPartialSums = bool(Value(dots.partial));
  Loop dims = cpu.scheduleRegisterTile(dots.sum, rowGroup,
                                       {"ii", rows, "k", keys, hasPartialSums ? "rj" : "rd"});
  if (hasPartialSums) {
    p.boundExtent(dots.partial, "j", 1);
    dims = cpu.scheduleRegisterTile(dots.partial, dims, {"ii", rows, "k", keys, "rd"});
  }
  // Takes fewer instructions for the same products. Not with a mask that is evaluated for every
  // key: what it reads per row would be reloaded for every few keys.
  bool readsRows = !full.areKnown() && staged.empty();
  if (constexpr int64_t kUnrolled = 4;
      in.headDim / getDotForm().sums % kUnrolled == 0 && !readsRows)
    p.unroll(p.split(dims, kUnrolled).second);
}

void PrefillAttention::scheduleAccumulators(Func partial, Func all) {
  cpu.computeInChunk(all);
  auto [vectors, lane] = cpu.splitRows(all, p.stage(all)["ii"], tile.rows);
  cpu.scheduleRegisterTile(partial, vectors, {"ii", lanes, "u", PrefillAttr::kAccumulators, "rk"});
}

void PrefillAttention::scheduleNumerators(Func f) {
  cpu.computeInChunk(f);
  p.boundStorage(f, "k", tile.chunk);
  p.unroll(cpu.splitRows(f, p.stage(f)["ii"], tile.rows).first);
}

void PrefillAttention::scheduleSecondPass() {
  Loop at = cpu.scheduleSecondContext(second);
  scheduleStaged(second.staged, at);
  SmallVector<Func> ofRows = {second.numerators, second.kept}, all = {second.numerators};
  all.append({second.score, second.kept});
  if (!in.op.getProbMod().empty()) {
    ofRows.push_back(second.modified);
    all.push_back(second.modified);
  }
  cpu.computeInSecondChunk(all, at);
  scheduleScoreTile(second.score, second.dot);
  for (Func f : ofRows)
    p.unroll(cpu.splitRows(f, p.stage(f)["ii"], tile.rows).first);
}
