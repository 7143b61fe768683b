//===- DecodeAttention.cpp - fused attention of few rows on a CPU ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few rows, keys lie in the lanes, dot products are sums over lanes of dims, and the query
// heads that share a key/value head are rows of one query block, so that keys and values are read
// once. Keys may be split: each KV split is a parallel task, and the splits of a row are merged
// afterwards.
//
//===----------------------------------------------------------------------===//

#include "CpuSchedule.h"

#include <numeric>

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
  void buildReader();
  void buildScores();
  void buildAccumulator();
  void buildOutput();
  DotForm getDotForm(int64_t rows, int64_t keys, bool inSquares) const {
    return {lanes, /*isInterleaved=*/true, inSquares, rows, keys, /*terms=*/1, inPairs};
  }

  void schedule();
  void scheduleQuery();
  void scheduleScores();
  void scheduleSquares();
  void scheduleLaneSums(const DotProduct &dots, Loop at);
  void schedulePartialDots(Func f, Loop at, int64_t rows, int64_t keys);
  void layOutByKeys(Func f, int64_t keysOfElement = 1);
  void scheduleByKeys(Func f, int64_t keysOfElement = 1);
  void scheduleScaledNumerators();
  void scheduleAccumulators(Func partial, Func all, int64_t number);
  void scheduleSecondPass();

  PipelineBuilder &p;
  DecodeAttr s;
  int64_t lanes;
  AttentionInputs in;
  AttentionBlocks blocks;
  BlockedColumns columns;
  MaskAnalysis mask;
  QBlockMask qBlockMask;
  AttentionRegions regions;
  Numerators numerators;
  LseOutput lse;
  /// Whether products take pairs of bf16.
  bool inPairs;

  KeyRange range;
  Func kvBlocks, kvHead, kvStart;
  /// kvBlocks, of interleaved heads that see the same keys at head 0.
  Func visitedBlocks;
  std::optional<KvReader> reader;
  std::optional<ScoreSteps> steps;
  Func query;
  DotProduct dot;
  Func score;
  KvBlockSoftmax softmax;
  KvBlockContext kvBlockContext;
  Func acc, inverse;
  std::unique_ptr<RowState> row;
  SecondPass second;
  MergedSplits merged;
  Func context;

  CpuSchedule cpu;
};
} // namespace

DecodeAttention::DecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr s)
    : p(p), s(s), lanes(s.getVectorWidth()), in(p, op),
      blocks(in, s, s.getQBlock(), s.getPackedHeads(), s.getKvBlock(),
             KvSplits::byLength(in, s.getKvSplits(), s.getMinSplitKeys()), s.getInterleavedHeads()),
      columns(in, lanes, s.getContextVectors(), s.getContextRows()), mask(op.getMask()),
      qBlockMask(blocks, mask), regions(in), numerators(in, cpuExp2), lse(blocks, numerators),
      inPairs(s.getProducts() == Products::bf16_pairs),
      cpu(blocks, columns, lanes, s.getContextRows()) {}

LogicalResult attn::lowerDecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr s) {
  return DecodeAttention(p, op, s).lower();
}

LogicalResult DecodeAttention::lower() {
  buildReader();
  steps.emplace(*reader, regions, qBlockMask);
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

void DecodeAttention::buildReader() {
  range = buildCpuKeyRange(qBlockMask);
  if (!blocks.splits.isSplit())
    findGap(qBlockMask, range);
  kvBlocks = buildKvBlocks(blocks, range);
  kvHead = buildKvHead(blocks);
  kvStart = buildKvStart(blocks);
  bool areInterleaved = blocks.interleavedHeads != 1;
  range.isShared = areInterleaved && !mask.dependsOnHead();
  visitedBlocks = range.isShared ? shareHeads(p, "shared_kv_blocks", kvBlocks) : kvBlocks;
  reader.emplace(blocks, range.isShared ? shareHeads(blocks, range) : range, kvHead,
                 areInterleaved ? shareHeads(p, "shared_start", kvStart) : kvStart);
  bool areRuns =
      qBlockMask.startsWithKvBlock() && !range.hasGap() && !inPairs && s.getFetchBlocks() == 0;
  reader->lookUpPages(areRuns, /*ofAllHeads=*/range.isShared);
  reader->lookUpScales();
  reader->fetchAhead(s.getFetchAhead(), s.getFetches(), s.getFetchLocality(), s.getFetchBlocks());
  cpu.keysOfRun = std::max(reader->countKeysOfRun(), reader->keysOfPageRun);
}

void DecodeAttention::buildScores() {
  query = buildQuery(blocks, inPairs);
  auto keyAt = [&](Scalar k, Scalar c, const BlockCoords &t, Scalar d) {
    return inPairs ? reader->keyPair(d, k, c, t) : reader->unscaledKey(d, k, c, t);
  };
  // Partial sums that pass through memory cost kernels that wait for their keys more than they
  // save: up to 7 % on Zen 3, where they take a tenth from those that wait for instructions. Of 16
  // lanes they were not measured: beside half as many products they are twice as large.
  bool inSquares = lanes == 8 && in.kv.areWidened() && blocks.interleavedHeads == 1;
  dot = buildDotProduct(blocks, query, keyAt,
                        getDotForm(s.getScoreRows(), s.getScoreKeys(), inSquares), "dot");
  Func scaled = p.func("scaled_dot", kScoreVars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    return reader->scaledDot(dot.sum(v), v[1], v[2], BlockCoords(v));
  });
  score = attn::buildScores(*reader, *steps, scaled, /*staged=*/{}, /*keys=*/{}, lanes);
  softmax = buildKvBlockSoftmax(*reader, *steps, numerators, score, lanes, s.getProducts(),
                                /*endsWithVisible=*/false);
}

void DecodeAttention::buildAccumulator() {
  ValueForm form = inPairs ? (columns.isWhole() ? ValueForm::pairsInPlace : ValueForm::inPairs)
                           : (columns.isWhole() ? ValueForm::inPlace : ValueForm::copied);
  kvBlockContext = buildKvBlockContext(*reader, columns, inPairs ? softmax.pairs : softmax.modified,
                                       form, /*keys=*/{}, s.getContextRows(),
                                       [&](ArrayRef<Scalar>) { return in.f32(0); });
  acc = buildRowAccumulator(blocks, columns, numerators, kvBlockContext.product, softmax,
                            visitedBlocks);
  row = std::make_unique<OnlineState>(acc, columns);
}

void DecodeAttention::buildOutput() {
  inverse = buildInverse(blocks, numerators, *row, lse);
  second = buildSecondPass(*reader, columns, *steps, numerators, *row, lse,
                           {query, acc, visitedBlocks,
                            getDotForm(/*rows=*/1, /*keys=*/1, /*inSquares=*/false), lanes,
                            /*scalesDots=*/true},
                           [] { return StagedReads(); });
  auto sumAt = [&](Scalar d, Scalar ii, const BlockCoords &t) {
    return getContextSum(second, columns, acc, d, ii, t);
  };
  merged = buildMergedSplits(qBlockMask, numerators, *row, lse, sumAt);
  context = buildContext(blocks, [&](Scalar d, Scalar ii, const BlockCoords &t) -> Quotient {
    return merged ? merged.at(d, ii, t) : Quotient{sumAt(d, ii, t), inverse(ii, t.it, t.h, t.b)};
  });
  lse.addOutput();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

void DecodeAttention::schedule() {
  cpu.scheduleTasks(context, merged);
  cpu.scheduleKeys({range, kvBlocks, /*full=*/{}}, cpu.qBlockLoop);
  cpu.scheduleKvHead(kvHead, kvStart);
  scheduleQuery();
  cpu.scheduleAccumulator(acc, kvBlockContext, /*isOneKvBlock=*/false, /*inTiles=*/false);
  cpu.computeInQBlock(inverse);
  p.boundExtent(inverse, "ii", blocks.rows);
  scheduleScores();
  scheduleAccumulators(softmax.partialMax, softmax.maximum, lanes);
  scheduleAccumulators(softmax.partialSum, softmax.sum, softmax.sumsPairs ? lanes / 2 : lanes);
  cpu.schedulePages(*reader);
  cpu.scheduleScales(*reader);
  if (!softmax.sumsPairs)
    scheduleByKeys(softmax.numerators);
  if (!in.op.getProbMod().empty())
    scheduleByKeys(softmax.modified);
  if (inPairs)
    scheduleByKeys(softmax.pairs, /*keysOfElement=*/2);
  scheduleScaledNumerators();
  scheduleSecondPass();
}

void DecodeAttention::scheduleQuery() {
  cpu.computeInQBlock(query);
  int64_t dims = in.headDim / (inPairs ? 2 : 1);
  p.boundStorage(query, "d", dims);
  StageLoops v = p.stage(query);
  p.boundExtent(query, "ii", blocks.rows);
  p.boundExtent(query, "d", dims);
  p.reorderStorage(query, {1, 0, 2, 3, 4});
  auto [vectors, lane] = p.split(v["d"], lanes);
  p.reorder({lane, vectors, v["ii"]});
  p.vectorize(lane);
}

/// Keys are innermost in memory and stored in whole KV blocks: all extents are constant.
void DecodeAttention::layOutByKeys(Func f, int64_t keysOfElement) {
  cpu.computeInKvBlock(f);
  p.boundExtent(f, "ii", blocks.rows);
  p.boundExtent(f, "k", blocks.kvBlock / keysOfElement);
  p.reorderStorage(f, {1, 0, 2, 3, 4, 5});
}

void DecodeAttention::scheduleByKeys(Func f, int64_t keysOfElement) {
  layOutByKeys(f, keysOfElement);
  StageLoops v = p.stage(f);
  auto [vectors, lane] = p.split(v["k"], lanes);
  p.reorder({lane, vectors, v["ii"]});
  p.vectorize(lane);
}

void DecodeAttention::scheduleScaledNumerators() {
  Func f = kvBlockContext.scaledNumerators;
  if (!Value(f))
    return;
  cpu.computeInKvBlock(f);
  p.boundExtent(f, "n", in.kv.getValueScales().count);
  p.boundExtent(f, "ii", blocks.rows);
  p.boundExtent(f, "k", blocks.kvBlock);
  p.reorderStorage(f, {2, 1, 0, 3, 4, 5, 6});
  StageLoops v = p.stage(f);
  auto [vectors, lane] = p.split(v["k"], lanes);
  p.reorder({lane, v["n"], v["ii"], vectors});
  p.vectorize(lane);
  p.unroll(v["n"]);
}

void DecodeAttention::scheduleScores() {
  scheduleByKeys(score);
  layOutByKeys(dot.sum);
  if (dot.square)
    return scheduleSquares();
  StageLoops v = p.stage(dot.sum);
  auto [rowGroup, row] = p.split(v["ii"], s.getScoreRows());
  auto [keyGroup, key] = p.split(v["k"], s.getScoreKeys());
  p.reorder({key, row, rowGroup, keyGroup});
  cpu.splitIntoRuns(keyGroup, s.getScoreKeys());
  p.vectorize(key);
  p.unroll(row);
  scheduleLaneSums(dot, rowGroup);
  schedulePartialDots(dot.partial, rowGroup, s.getScoreRows(), s.getScoreKeys());
}

/// The products of a few squares of all rows, then the sums of their lanes: those of one tile would
/// wait for each other.
void DecodeAttention::scheduleSquares() {
  int64_t keysOfTile = s.getScoreKeys(), keysOfGroup = std::lcm(keysOfTile, lanes);
  StageLoops v = p.stage(dot.sum);
  auto [groups, keyOfGroup] = p.split(v["k"], keysOfGroup);
  auto [squares, key] = p.split(keyOfGroup, lanes);
  p.reorder({key, squares, v["ii"], groups});
  p.vectorize(key);
  dot.square.schedule(blocks, squares);
  Loop group = cpu.splitIntoRuns(groups, keysOfGroup);

  Func f = dot.square.stored;
  cpu.computeInKvBlock(f, group);
  p.boundExtent(f, "ii", blocks.rows);
  p.boundExtent(f, "k", keysOfGroup);
  p.boundExtent(f, "j", lanes);
  StageLoops stored = p.stage(f);
  auto [rowTiles, row] = p.split(stored["ii"], s.getScoreRows());
  auto [keyTiles, keyOfTile] = p.split(stored["k"], keysOfTile);
  p.reorder({stored["j"], keyOfTile, row, rowTiles, keyTiles});
  p.vectorize(stored["j"]);
  p.unroll(keyOfTile);
  p.unroll(row);
  if (keysOfGroup % cpu.keysOfRun == 0)
    cpu.splitIntoRuns(keyTiles, keysOfTile);
  schedulePartialDots(dot.partial, rowTiles, s.getScoreRows(), keysOfTile);
}

/// Schedules what adds up partial sums, in registers, for a tile.
void DecodeAttention::scheduleLaneSums(const DotProduct &dots, Loop at) {
  for (auto [f, sums, elements] : dots.laneSums) {
    blocks.computeInRegisters(f, at);
    p.boundExtent(f, "m", sums * elements);
    p.boundExtent(f, "u", 1);
    p.boundExtent(f, "w", 1);
    int64_t vector = std::gcd(sums * elements, lanes);
    auto [vectors, lane] = p.split(p.stage(f)["m"], vector);
    if (vector > elements) { // what is left of a sum is a ramp
      auto [sum, element] = p.split(lane, elements);
      p.vectorize(sum);
      lane = element;
    }
    p.vectorize(lane);
    p.unroll(vectors);
  }
}

/// Schedules partial sums over every lanes-th dim, in registers, for a tile of `rows` × `keys`.
void DecodeAttention::schedulePartialDots(Func f, Loop at, int64_t rows, int64_t keys) {
  blocks.computeInRegisters(f, at);
  p.boundExtent(f, "ii", rows);
  p.boundExtent(f, "k", keys);
  cpu.splitRows(f, p.stage(f)["j"], lanes);
  StageLoops sum = p.stage(f, 0);
  Loop dims = sum["rd"];
  // A line of narrow elements is prefetched once, if its vectors are in one iteration.
  if (int64_t vectors = inPairs ? 1 : in.kv.countKeyVectors(lanes);
      reader->ahead && vectors > 1 && in.headDim % (lanes * vectors) == 0) {
    auto [lines, vector] = p.split(dims, vectors);
    p.reorder({sum["j"], sum["ii"], sum["k"], vector, lines});
    p.unroll(vector);
  } else {
    p.reorder({sum["j"], sum["ii"], sum["k"], dims});
  }
  p.vectorizeBy(sum["j"], lanes, TailStrategy::automatic);
  StageLoops zero = p.stage(f);
  p.unroll(zero["ii"]);
  p.unroll(zero["k"]);
  p.neverPartition(f);
  p.unroll(sum["ii"]);
  p.unroll(sum["k"]);
  p.neverPartition(f, 0);
}

void DecodeAttention::scheduleAccumulators(Func partial, Func all, int64_t number) {
  cpu.computeStateInKvBlock(all);
  p.boundExtent(all, "ii", blocks.rows);
  p.computeAt(partial, p.stage(all)["ii"]);
  p.storeIn(partial, MemoryType::stack);
  blocks.fix(partial, /*perKvBlock=*/true);
  p.boundExtent(partial, "ii", 1);
  p.boundExtent(partial, "u", number);
  p.vectorize(p.stage(partial)["u"]);
  StageLoops v = p.stage(partial, 0);
  p.reorder({v["u"], v["ii"], v["rk"]});
  p.vectorizeBy(v["u"], number, TailStrategy::automatic);
  p.neverPartition(partial, 0);
}

/// All scores of the second pass are in one func. They are summed as in the first pass: large
/// scores rounded otherwise would give other numerators.
void DecodeAttention::scheduleSecondPass() {
  Loop at = cpu.scheduleSecondContext(second);
  cpu.computeInSecondKvBlock({second.numerators}, at);
  Func dots = second.dot.sum;
  blocks.computeInRegisters(dots, p.stage(second.numerators)["ii"]);
  p.boundExtent(dots, "ii", 1);
  Loop row = p.stage(dots)["ii"];
  scheduleLaneSums(second.dot, row);
  schedulePartialDots(second.dot.partial, row, /*rows=*/1, /*keys=*/1);
}
