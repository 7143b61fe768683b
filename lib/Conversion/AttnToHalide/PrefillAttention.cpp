//===- PrefillAttention.cpp - fused attention of many rows on a CPU -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows lie in the vector lanes for scores and softmax, value dims for the context. The func `acc`
// holds the context in blocks of columns and, before the rows of each group, their sums and maxima.
// It is updated one KV block at a time. If one KV block covers all visible keys, online rescaling
// is skipped, and `acc` is the context alone.
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
  int64_t dimsOfProduct() const { return inPairs ? 2 : 1; }
  /// Whether scores and numerators end with the last visible key; tiles multiply those of whole KV
  /// blocks.
  bool endWithVisible() const { return !inTiles; }
  /// Whether a register tile has so many keys that not all of their addresses stay in registers.
  bool hasManyKeys() const { return s.getScoreKeys() > 8; }
  int64_t countQueryDims() const;
  bool readsWholeGroups() const;
  bool copiesKvBlocks() const;
  int64_t countUnrolledDims() const;
  DotForm getDotForm() const;
  StagedReads stage(StringRef name);
  Scalar startProduct(ArrayRef<Scalar> v);

  void schedule();
  void scheduleKeys();
  Loop scheduleSharedKeys();
  void scheduleQuery();
  void scheduleStaged(const StagedReads &staged, Loop at);
  void scheduleInverse();
  void scheduleScores();
  void scheduleTileProduct(Func f);
  void scheduleScoreTile(Func f, const DotProduct &dots);
  void scheduleAccumulators(Func partial, Func all, int64_t number);
  void scheduleNumerators(Func f, int64_t keysOfElement = 1);
  void scheduleSecondPass();

  PipelineBuilder &p;
  PrefillAttr s;
  int64_t lanes;
  AttentionInputs in;
  AttentionBlocks blocks;
  MaskAnalysis mask;
  /// Whether one KV block covers all keys that a query block sees.
  bool isOneKvBlock;
  BlockedColumns columns;
  QBlockMask qBlockMask;
  AttentionRegions regions;
  Numerators numerators;
  LseOutput lse;
  /// Whether products take pairs of bf16, and whether all those of a KV block are one call.
  bool inPairs, inTiles;

  std::optional<KeySearch> search;
  /// The keys that a query block visits. If heads share a search, those found for head 0, and the
  /// funcs that read them from the table `sharedKeys` for any head.
  VisitedKeys found, keys;
  Func sharedKeys;
  std::optional<KvReader> reader;
  std::optional<ScoreSteps> steps;
  TransposedFunc query;
  /// Keys of a KV block in f32 or in pairs; null if they are read in place.
  Func keyCopy;
  DotProduct dot;
  StagedReads rowReads, staged;
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

/// Whether `block` keys are all that a query block sees, which no sink, prob region or merge of
/// KV splits asks to be summed online.
static bool needsOneKvBlock(AttentionOp op, MaskAnalysis &mask, const AttentionBlocks &blocks) {
  std::optional<int64_t> mostKeys = getMaxKeys(op, mask, blocks.rowsOfHead);
  return mostKeys && *mostKeys <= blocks.kvBlock && !op.getSink() && op.getProbMod().empty() &&
         !blocks.splits.isSplit();
}

PrefillAttention::PrefillAttention(PipelineBuilder &p, AttentionOp op, PrefillAttr s)
    : p(p), s(s), lanes(s.getVectorWidth()), in(p, op),
      blocks(in, s, s.getQBlock(), s.getPackedHeads(), s.getKvBlock(),
             KvSplits::byLength(in, s.getKvSplits(), s.getMinSplitKeys())),
      mask(op.getMask()), isOneKvBlock(needsOneKvBlock(op, mask, blocks)),
      columns(in, lanes, s.getContextVectors(), s.getContextRows(), /*isOnline=*/!isOneKvBlock),
      qBlockMask(blocks, mask), regions(in),
      numerators(in, cpuExp2,
                 s.getProducts() == Products::f32 || op.getLse() ? cpuExp2 : cpuExp2BF16),
      lse(blocks, numerators), inPairs(s.getProducts() != Products::f32),
      inTiles(s.getProducts() == Products::bf16_tiles),
      cpu(blocks, columns, lanes, s.getContextRows()) {}

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
  KeyRange range = buildCpuKeyRange(qBlockMask);
  // Tiles multiply the keys that any row of a query block sees.
  int64_t rowsOfGroup = inTiles ? blocks.rows : s.getContextRows();
  if (!qBlockMask.isComplete()) {
    search = buildKeySearch(qBlockMask, regions, range, lanes, rowsOfGroup, isOneKvBlock);
    range = search->found;
  } else if (!isOneKvBlock && !blocks.splits.isSplit()) {
    findGap(qBlockMask, range);
  }
  keys = found = {range, buildKvBlocks(blocks, range),
                  buildFullKeys(qBlockMask, range, search, rowsOfGroup)};
  if (search && search->isShared)
    sharedKeys = shareHeads(blocks, keys, blocks.rows / rowsOfGroup);
  reader.emplace(blocks, keys.range, buildKvHead(blocks), buildKvStart(blocks));
  bool areRuns = qBlockMask.startsWithKvBlock() && !range.hasGap() && !search && !inPairs;
  reader->lookUpPages(areRuns);
  cpu.keysOfRun = reader->keysOfPageRun;
  reader->fetchAhead(s.getFetchAhead(), /*times=*/1, s.getFetchLocality());
  steps.emplace(*reader, regions, qBlockMask);
}

/// Whether kv_len is a multiple of the keys read at once, so that no key beyond it is read.
bool PrefillAttention::readsWholeGroups() const {
  int64_t size = in.op.getKvLen().getStatic();
  int64_t group = std::lcm(std::lcm(lanes, s.getScoreKeys()), PrefillAttr::kAccumulators);
  return qBlockMask.startsAtFirst() && !ShapedType::isDynamic(size) && size % group == 0 &&
         blocks.kvBlock % group == 0;
}

StagedReads PrefillAttention::stage(StringRef name) {
  return buildStagedReads(*reader, regions, lanes, readsWholeGroups(), name, rowReads);
}

/// Long dot products are blocked, if equal blocks divide head_dim; beside many keys into as many
/// sums, so that each prefetches one key: its address takes no division.
DotForm PrefillAttention::getDotForm() const {
  constexpr int64_t kShort = 128, kSumLength = 64;
  int64_t dims = in.headDim, keys = s.getScoreKeys();
  DotForm form;
  form.inPairs = inPairs;
  if (dims <= kShort)
    return form;
  form.sums = countEqualBlocks(dims / dimsOfProduct(), kSumLength / dimsOfProduct()).value_or(1);
  if (hasManyKeys() && !inPairs && dims % keys == 0 && dims / keys <= kSumLength)
    form.sums = keys;
  return form;
}

/// Dims of a query block's copy, or pairs of them; tiles take 16 at a time.
int64_t PrefillAttention::countQueryDims() const {
  constexpr int64_t kTilePairs = 16;
  int64_t dims = in.headDim / dimsOfProduct();
  return inTiles ? llvm::alignTo(dims, kTilePairs) : dims;
}

/// Whether keys and values are read once per KV block.
bool PrefillAttention::copiesKvBlocks() const {
  return inTiles ? in.kv.arePaged() : in.kv.areWidened() || s.getCopyKvBlocks() != 0;
}

/// Dims that a register tile of scores takes at once: fewer instructions for the same products.
int64_t PrefillAttention::countUnrolledDims() const {
  constexpr int64_t kUnrolled = 4;
  bool areWhole = in.headDim / dimsOfProduct() / getDotForm().sums % kUnrolled == 0;
  return areWhole ? kUnrolled : 1;
}

void PrefillAttention::buildScores() {
  query = inPairs ? buildTransposedQueryPairs(blocks, lanes, countQueryDims())
                  : buildTransposedQuery(blocks, lanes);
  if (copiesKvBlocks())
    keyCopy = inPairs ? buildKeyPairs(*reader) : buildWideKey(reader->withoutFetches());
  if (!inPairs && !isOneKvBlock) // the first group of keys in one KV block may start anywhere
    reader->distributeFetches(s.getScoreKeys(), countUnrolledDims());
  auto keyAt = [&](Scalar k, Scalar c, const BlockCoords &t, Scalar d) {
    if (Value(keyCopy))
      return inPairs ? keyCopy(d, k, c, t.it, t.h, t.b) : reader->copiedKey(keyCopy, d, k, c, t);
    return inTiles ? reader->keyElement(d * 2, k, c, t) : reader->key(d, k, c, t);
  };
  dot = inTiles ? buildTileProduct(*reader, query.func, keyAt, "dot")
                : buildDotProduct(blocks, query.func, keyAt, getDotForm(), "dot");
  rowReads = buildRowReads(blocks, regions);
  staged = stage("staged");
  constexpr int64_t kAccumulators = PrefillAttr::kAccumulators;
  ComputedKeys computed;
  if (endWithVisible())
    computed = {s.getScoreKeys(), std::lcm(s.getScoreKeys(), kAccumulators)};
  bool areProducts =
      inTiles && maskProducts(*reader, *steps, dot.sum, staged, keys.full, kAccumulators);
  score = areProducts ? dot.sum
                      : attn::buildScores(*reader, *steps, dot.sum, staged, keys.full,
                                          kAccumulators, computed);
  softmax = buildKvBlockSoftmax(*reader, *steps, numerators, score, kAccumulators, s.getProducts(),
                                endWithVisible());
}

/// Returns 0; with one KV block, or few after a search, prefetches an element of the next query
/// block: a block of few keys takes so little time that the latency of the load would not be
/// hidden. There are about as many vectors of the product as of the query.
Scalar PrefillAttention::startProduct(ArrayRef<Scalar> v) {
  if (!(isOneKvBlock || search) || blocks.packedHeads != 1)
    return in.f32(0);
  BlockCoords t(v);
  Scalar zero = in.f32(0), d = columns.dim(v[0], v[1]),
         first = blocks.packed ? blocks.packed->firstPackedRow(t.it) : blocks.firstRow(t.it),
         next = min(first + blocks.rows + v[2], in.numRows - 1);
  if (blocks.packed)
    next = unsafePromiseClamped(next, p.i32(0), in.numRows - 1);
  if (in.headDim < columns.numBlocks * columns.block)
    d = min(d, in.headDim - 1);
  return fetchAhead(zero, in.query(d, next, t.h, t.b));
}

void PrefillAttention::buildAccumulator() {
  bool isCopied = !columns.isWhole() || copiesKvBlocks();
  ValueForm form = inTiles    ? ValueForm::inTiles
                   : inPairs  ? ValueForm::inPairs
                   : isCopied ? ValueForm::copied
                              : ValueForm::inPlace;
  kvBlockContext = buildKvBlockContext(*reader, columns, inPairs ? softmax.pairs : softmax.modified,
                                       form, keys.full, s.getContextRows(),
                                       [&](ArrayRef<Scalar> v) { return startProduct(v); });
  if (isOneKvBlock) {
    StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
    acc = p.func("acc", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
      return kvBlockContext.product(v[0], v[1], v[2], p.i32(0), v[3], v[4], v[5]);
    });
    row = std::make_unique<OneKvBlockState>(p, softmax);
    return;
  }
  acc = buildRowAccumulator(blocks, columns, numerators, kvBlockContext.product, softmax,
                            keys.kvBlocks);
  row = std::make_unique<OnlineState>(acc, columns);
}

void PrefillAttention::buildOutput() {
  inverse = buildInverse(blocks, numerators, *row, lse);
  second = buildSecondPass(*reader, columns, *steps, numerators, *row, lse,
                           {query.func, acc, keys.kvBlocks, getDotForm(), lanes},
                           [&] { return stage("fallback_staged"); });
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

void PrefillAttention::schedule() {
  cpu.scheduleTasks(context, merged);
  scheduleKeys();
  cpu.scheduleKvHead(reader->kvHead, reader->start);
  scheduleQuery();
  cpu.scheduleAccumulator(acc, kvBlockContext, isOneKvBlock, inTiles);
  scheduleInverse();
  scheduleScores();
  constexpr int64_t kAccumulators = PrefillAttr::kAccumulators;
  scheduleAccumulators(softmax.partialMax, softmax.maximum, kAccumulators);
  scheduleAccumulators(softmax.partialSum, softmax.sum,
                       softmax.sumsPairs ? kAccumulators / 2 : kAccumulators);
  if (!softmax.sumsPairs)
    scheduleNumerators(softmax.numerators);
  if (!in.op.getProbMod().empty())
    scheduleNumerators(softmax.modified);
  if (inPairs)
    scheduleNumerators(softmax.pairs, /*keysOfElement=*/2);
  scheduleSecondPass();
}

void PrefillAttention::scheduleKeys() {
  bool isShared = bool(Value(sharedKeys));
  Loop at = isShared ? scheduleSharedKeys() : cpu.qBlockLoop;
  cpu.scheduleKeys(found, at);
  if (!search)
    return;
  if (isShared) {
    cpu.scheduleKeys(keys, cpu.qBlockLoop);
    cpu.computeInQBlock(keys.full.ends);
  }
  for (Func f : {search->before.low, search->before.high, search->nextSeen, search->nextPartial,
                 search->seen, search->seenOfRest})
    cpu.computeInQBlock(f, at);
  const auto &[range, kvBlocks, full] = found;
  for (Func f :
       {search->seen, search->seenOfRest, search->nextSeen, search->nextPartial, range.high})
    p.neverPartition(f, 0);
  if (range.hasStarts())
    for (Func f : {range.starts, kvBlocks})
      p.neverPartition(f, 0);
  if (Value(full.groupHigh))
    for (Func f : {full.groupLow, full.groupHigh}) {
      StageLoops v = p.stage(f, 0);
      p.reorder({v["g"], v["rg"]});
      p.vectorize(v["g"]);
      p.neverPartition(f, 0);
    }
  Func ofLane = search->seenOfLane;
  p.computeAt(ofLane, p.stage(search->seen, 0)["rg"]);
  p.storeIn(ofLane, MemoryType::stack);
  blocks.fix(ofLane, /*perKvBlock=*/false);
  p.boundExtent(ofLane, "g", 1);
  cpu.splitRows(ofLane, p.stage(ofLane)["x"], lanes);
  p.vectorizeBy(p.stage(ofLane, 0)["x"], lanes, TailStrategy::automatic);
  if (search->rowGroups > 1) // whose bits are shifted by a constant then
    p.unroll(p.split(p.stage(ofLane, 0)["rs"], s.getContextRows()).second);
  p.neverPartition(ofLane);
  p.neverPartition(ofLane, 0);
}

/// Returns the loop over the query blocks of head 0.
Loop PrefillAttention::scheduleSharedKeys() {
  p.computeRoot(sharedKeys);
  p.neverPartition(sharedKeys);
  StageLoops v = p.stage(sharedKeys);
  Loop qBlocks = p.fuse(v["it"], v["b"]);
  p.reorder({v["x"], v["h"], qBlocks});
  p.parallel(qBlocks);
  return qBlocks;
}

void PrefillAttention::scheduleStaged(const StagedReads &staged, Loop at) {
  for (const StagedRead &read : staged) {
    if (read.isOfRows())
      continue;
    const TransposedFunc &copy = read.copy;
    p.computeAt(copy.func, at);
    p.storeIn(copy.func, MemoryType::stack);
    blocks.fix(copy.func, /*perKvBlock=*/true);
    p.boundExtent(copy.func, "ii", blocks.rows);
    p.boundStorage(copy.func, "k", blocks.kvBlock);
    if (copy.hasSquares()) {
      copy.schedule(p);
      continue;
    }
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
  cpu.computeInQBlock(query.func);
  p.boundStorage(query.func, "d", countQueryDims());
  if (inTiles)
    p.boundExtent(query.func, "d", countQueryDims());
  p.boundExtent(query.func, "ii", blocks.rows);
  if (query.hasSquares())
    return query.schedule(p);
  StageLoops v = p.stage(query.func);
  auto [vectors, lane] = cpu.splitRows(query.func, v["ii"], blocks.rows);
  p.reorder({v["d"], lane, vectors});
  p.unroll(vectors);
}

void PrefillAttention::scheduleInverse() {
  cpu.computeInQBlock(inverse);
  cpu.splitRows(inverse, p.stage(inverse)["ii"], blocks.rows);
}

void PrefillAttention::scheduleScores() {
  cpu.schedulePages(*reader);
  for (const StagedRead &read : rowReads) {
    cpu.computeInQBlock(read.copy.func);
    cpu.splitRows(read.copy.func, p.stage(read.copy.func)["ii"], blocks.rows);
  }
  scheduleStaged(staged, cpu.kvBlockLoop);
  if (Value(keyCopy)) {
    cpu.computeInKvBlock(keyCopy);
    p.boundExtent(keyCopy, "d", in.headDim / dimsOfProduct());
    p.boundStorage(keyCopy, "k", blocks.kvBlock);
    cpu.scheduleCopiedRow(p.stage(keyCopy)["d"], in.headDim / dimsOfProduct(), lanes);
  }
  bool areProducts = Value(score) == Value(dot.sum);
  if (areProducts) {
    scheduleTileProduct(score);
  } else {
    cpu.computeInKvBlock(score);
    p.boundStorage(score, "k", blocks.kvBlock);
    p.boundExtent(score, "ii", blocks.rows);
    scheduleScoreTile(score, dot);
  }
  int64_t edges = areProducts || endWithVisible() ? 1 : 0;
  StageLoops v = p.stage(score, edges);
  auto [vectors, lane] = p.split(v["ii"], lanes);
  p.vectorize(lane);
  p.unroll(vectors);
  p.reorder({lane, vectors, v["rk"]});
  p.neverPartition(score, edges);
}

void PrefillAttention::scheduleTileProduct(Func f) {
  p.boundStorage(f, "k", blocks.kvBlock);
  cpu.scheduleTiles(f, {"ii", "k", "rd"});
}

/// Schedules dot products in register tiles of rows × keys. Both passes sum in the same order:
/// scores rounded otherwise would give numerators that do not match the first pass's sum.
void PrefillAttention::scheduleScoreTile(Func f, const DotProduct &dots) {
  int64_t rows = lanes * s.getScoreVectors(), keys = s.getScoreKeys();
  bool endsWithVisible = Value(f) == Value(score) && endWithVisible();
  StageLoops v = endsWithVisible ? p.stage(f, 0) : p.stage(f);
  auto [keyGroup, key] = endsWithVisible ? std::pair(v[kTileLoop], v[kTileElement])
                                         : p.split(v["k"], keys, TailStrategy::round_up);
  if (endsWithVisible)
    p.neverPartition(f, 0);
  auto [rowGroup, row] = p.split(v["ii"], rows);
  auto [vectors, lane] = p.split(row, lanes);
  p.reorder({lane, vectors, key, rowGroup, keyGroup});
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(key);
  if (inTiles && Value(dots.sum) == Value(dot.sum))
    return scheduleTileProduct(dots.sum);
  bool hasPartialSums = bool(Value(dots.partial));
  Loop dims = cpu.scheduleRegisterTile(dots.sum, rowGroup,
                                       {"ii", rows, "k", keys, hasPartialSums ? "rj" : "rd"});
  if (hasPartialSums) {
    p.boundExtent(dots.partial, "j", 1);
    dims = cpu.scheduleRegisterTile(dots.partial, dims, {"ii", rows, "k", keys, "rd"});
  }
  if (int64_t unrolled = countUnrolledDims(); unrolled != 1) {
    auto [outer, dim] = p.split(dims, unrolled);
    p.unroll(dim);
    if (hasManyKeys()) // each address is used for all of its dims
      p.reorder({dim, p.stage(hasPartialSums ? dots.partial : dots.sum, 0)["k"], outer});
  }
}

void PrefillAttention::scheduleAccumulators(Func partial, Func all, int64_t number) {
  cpu.computeStateInKvBlock(all);
  auto [vectors, lane] = cpu.splitRows(all, p.stage(all)["ii"], blocks.rows);
  cpu.scheduleRegisterTile(partial, vectors, {"ii", lanes, "u", number, "rk"});
}

void PrefillAttention::scheduleNumerators(Func f, int64_t keysOfElement) {
  cpu.computeInKvBlock(f);
  p.boundStorage(f, "k", blocks.kvBlock / keysOfElement);
  StageLoops v = endWithVisible() ? p.stage(f, 0) : p.stage(f);
  auto [vectors, lane] = cpu.splitRows(f, v["ii"], blocks.rows);
  p.unroll(vectors);
  if (!endWithVisible())
    return;
  p.reorder({lane, vectors, v[kTileElement], v[kTileLoop]});
  p.neverPartition(f, 0);
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
  cpu.computeInSecondKvBlock(all, at);
  scheduleScoreTile(second.score, second.dot);
  for (Func f : ofRows)
    p.unroll(cpu.splitRows(f, p.stage(f)["ii"], blocks.rows).first);
}
