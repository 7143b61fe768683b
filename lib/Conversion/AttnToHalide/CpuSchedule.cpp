//===- CpuSchedule.cpp - schedules shared by the CPU kernels --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuSchedule.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

void CpuSchedule::computeInQBlock(Func f, Loop at, bool isOfHead) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::stack);
  p.neverPartition(f);
  if (isOfHead)
    blocks.fixToHead(f);
  else
    blocks.fix(f, /*perKvBlock=*/false);
}

void CpuSchedule::computeInKvBlock(Func f, Loop at) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::stack);
  blocks.fix(f, /*perKvBlock=*/true);
  p.neverPartition(f);
}

void CpuSchedule::computeStateInKvBlock(Func f) {
  computeInKvBlock(f);
  p.boundStorage(f, "ii", columns.countRowsRead(blocks.rows));
}

std::pair<Loop, Loop> CpuSchedule::splitRows(Func f, Loop loop, int64_t rows) {
  p.boundExtent(f, 0, rows);
  auto [vectors, lane] = p.split(loop, lanes);
  p.vectorize(lane);
  return {vectors, lane};
}

Loop CpuSchedule::scheduleRegisterTile(Func f, Loop at, const RegisterTile &registers) {
  blocks.computeInRegisters(f, at);
  p.boundExtent(f, registers.other, registers.otherExtent);

  StageLoops zero = p.stage(f);
  Loop zeroVectors = splitRows(f, zero[registers.first], registers.extent).first;
  p.unroll(zeroVectors);
  p.unroll(zero[registers.other]);

  StageLoops sum = p.stage(f, 0);
  Loop reduction = sum[registers.reduction];
  auto [vectors, lane] = p.split(sum[registers.first], lanes);
  p.vectorize(lane);
  p.reorder({lane, vectors, sum[registers.other], reduction});
  p.unroll(vectors);
  p.unroll(sum[registers.other]);
  p.neverPartition(f, 0);
  return reduction;
}

Loop CpuSchedule::splitIntoRuns(Loop keys, int64_t keysOfIteration) {
  bool areWhole = keysOfRun > keysOfIteration && keysOfRun % keysOfIteration == 0;
  return areWhole ? p.split(keys, keysOfRun / keysOfIteration).second : keys;
}

//===----------------------------------------------------------------------===//
// Query blocks
//===----------------------------------------------------------------------===//

/// Query blocks write rows of their own: no two of them race.
Loop CpuSchedule::schedulePackedOutput(Func context) {
  p.allowRaceConditions(context, 0);
  StageLoops v = p.stage(context, 0);
  auto [vectors, lane] = p.split(v["d"], lanes, TailStrategy::guard_with_if);
  SmallVector<Loop> order = {lane, vectors, v[kPackedHead], v[kPackedRow]};
  if (blocks.getStoredHeads() != 1)
    order.push_back(v[kInterleavedHead]);
  order.append({v[kPackedBlock], v[kPackedHeads]});
  p.reorder(order);
  p.vectorize(lane);
  p.unroll(vectors);
  p.neverPartition(context, 0);
  return p.fuse(v[kPackedBlock], v[kPackedHeads]);
}

Loop CpuSchedule::scheduleOutput(Func context) {
  if (blocks.packed)
    return schedulePackedOutput(context);
  StageLoops v = p.stage(context);
  auto [qBlocks, row] = p.split(v["i"], blocks.rowsOfHead, TailStrategy::guard_with_if);
  auto [vectors, lane] = p.split(v["d"], lanes, TailStrategy::guard_with_if);
  Loop heads = v["h"];
  SmallVector<Loop> order = {lane, vectors};
  auto splitHeads = [&](int64_t count) {
    if (count == 1)
      return;
    auto [outer, inner] = p.split(heads, count, TailStrategy::guard_with_if);
    order.push_back(inner);
    heads = outer;
  };
  splitHeads(blocks.packedHeads);
  order.push_back(row);
  splitHeads(blocks.getStoredHeads());
  order.append({qBlocks, heads, v["b"]});
  p.reorder(order);
  p.vectorize(lane);
  p.unroll(vectors);
  p.neverPartition(context);
  return p.fuse(p.fuse(qBlocks, heads), v["b"]);
}

void CpuSchedule::scheduleTasks(Func context, const MergedSplits &splits) {
  Loop qBlocks = scheduleOutput(context);
  if (splits)
    scheduleSplits(splits, qBlocks);
  else
    p.parallel(qBlockLoop = qBlocks);
}

/// Schedules the partial result of a split that has keys; returns the loop in which all that it
/// reads is computed. Unrolled vectors but the last load adjacent sums; a loop would gather them.
Loop CpuSchedule::scheduleUsedSplit(Func partial) {
  computeInQBlock(partial);
  p.boundExtent(partial, "ii", blocks.rows);
  StageLoops v = p.stage(partial);
  p.unroll(p.vectorizeBy(v["x"], lanes, TailStrategy::round_up));
  p.reorder({v["h"], v["it"]});
  return v["it"];
}

/// The merge is too little work for tasks.
void CpuSchedule::scheduleSplits(const MergedSplits &splits, Loop merging) {
  Func partial = splits.partial, top = splits.top, merged = splits.merged;
  p.computeRoot(partial);
  p.boundExtent(partial, "ii", blocks.rows);
  // Halide skips splits without keys only if no loop inside of a task takes part in the condition,
  // which tails of loops are added to.
  bool areAllUsed = !Value(splits.used);
  StageLoops v = areAllUsed ? p.stage(partial) : p.stage(partial, 0);
  p.vectorizeBy(v["x"], lanes, areAllUsed ? TailStrategy::guard_with_if : TailStrategy::round_up);
  Loop kvSplit = areAllUsed ? p.split(v["it"], 1, TailStrategy::round_up).first : v["it"];
  // Where heads of a key lie side by side, the CPU prefetches the next head behind the one that it
  // reads.
  Loop heads = v["h"];
  p.reorder({heads, kvSplit});
  if (!areAllUsed || blocks.interleavedHeads != 1)
    heads = p.split(heads, blocks.interleavedHeads, TailStrategy::round_up).first;
  qBlockLoop = p.fuse(p.fuse(heads, kvSplit), v["b"]);
  p.parallel(qBlockLoop);
  p.neverPartition(partial);
  if (!areAllUsed) {
    p.neverPartition(partial, 0);
    p.computeRoot(splits.used);
    qBlockLoop = scheduleUsedSplit(splits.ofUsed);
  }

  for (Func f : {top, merged, splits.inverse}) {
    p.computeAt(f, merging);
    p.storeIn(f, MemoryType::stack);
    blocks.fixToHead(f);
    p.boundExtent(f, "ii", blocks.rows);
    p.neverPartition(f);
  }
  StageLoops ofTop = p.stage(top, 0);
  p.reorder({ofTop["ii"], ofTop["rp"], ofTop["it"], ofTop["h"], ofTop["b"]});
  p.neverPartition(top, 0);
  StageLoops sums = p.stage(merged, 0);
  p.reorder({sums["x"], sums["ii"], sums["rp"], sums["it"], sums["h"], sums["b"]});
  p.neverPartition(merged, 0);
  p.boundExtent(merged, "x", columns.valueDim + 1);
  p.vectorizeBy(p.stage(merged)["x"], lanes);
  p.vectorizeBy(p.stage(merged, 0)["x"], lanes);
}

void CpuSchedule::scheduleKeys(const VisitedKeys &keys, Loop at) {
  const auto &[range, kvBlocks, full] = keys;
  for (Func f : {range.low, range.high, kvBlocks, range.gapStart, range.gapBlock, range.gapKeys,
                 range.starts, full.first, full.end, full.groupLow, full.groupHigh})
    if (Value(f))
      computeInQBlock(f, at, range.isShared);
  for (Func f : {full.groupLow, full.groupHigh})
    if (Value(f))
      p.boundExtent(f, 0, blocks.rows / contextRows);
}

/// That of interleaved heads is computed where it is used: LLVM takes a load for one of several
/// heads out of no loop.
void CpuSchedule::scheduleKvHead(Func kvHead, Func start) {
  if (blocks.interleavedHeads == 1) {
    p.computeAt(kvHead, qBlockLoop);
    p.storeIn(kvHead, MemoryType::stack);
    p.neverPartition(kvHead);
    p.boundExtent(kvHead, "h", 1);
  }
  if (!Value(start))
    return;
  computeInQBlock(start, qBlockLoop, /*isOfHead=*/true);
}

void CpuSchedule::scheduleScales(const KvReader &reader) {
  auto schedule = [&](Func f, int64_t count) {
    if (!Value(f))
      return;
    // Not computeInKvBlock: in partitioned loops, keys before the last visible one take no clamps.
    p.computeAt(f, kvBlockLoop);
    p.storeIn(f, MemoryType::stack);
    blocks.fix(f, /*perKvBlock=*/true);
    p.boundExtent(f, "n", count);
    p.boundStorage(f, "k", blocks.kvBlock);
    StageLoops v = p.stage(f);
    auto [vectors, keys] = p.split(v["k"], lanes);
    if (count == 1)
      return p.vectorize(keys);
    p.vectorize(v["n"]);
    p.unroll(keys);
  };
  const KvTensors &kv = reader.blocks.in.kv;
  schedule(reader.keyScales, kv.getKeyScales().count);
  schedule(reader.valueScales, kv.getValueScales().count);
}

void CpuSchedule::schedulePages(const KvReader &reader) {
  if (!Value(reader.page))
    return;
  for (Func f : {reader.rowInPage, reader.page}) {
    computeInKvBlock(f, reader.sharesPages ? sharedKvBlockLoop : kvBlockLoop);
    p.boundExtent(f, "k",
                  llvm::divideCeil(blocks.kvBlock + reader.countKeysAhead(), reader.keysOfPageRun));
    p.vectorizeBy(p.stage(f)["k"], lanes);
  }
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

void CpuSchedule::scheduleTiles(Func f, ArrayRef<StringRef> loops) {
  computeInKvBlock(f);
  p.neverPartition(f, 0);
  p.boundExtent(f, "ii", blocks.rows);
  StageLoops v = p.stage(f, 0);
  p.reorder(llvm::map_to_vector(loops, [&](StringRef name) { return v[name]; }));
}

void CpuSchedule::scheduleTileContext(const KvBlockContext &context) {
  Func product = context.product;
  scheduleTiles(product, {"x", "ii", "rk", "y"});
  p.boundExtent(product, "y", columns.numBlocks);
  splitRows(product, p.stage(product)["x"], columns.block);
  constexpr int64_t kTilePairs = 16;
  p.alignBounds(context.valueCopy, p.dim(context.valueCopy, "k"), kTilePairs);
}

void CpuSchedule::scheduleAccumulator(Func acc, const KvBlockContext &context, bool isOneKvBlock,
                                      bool inTiles) {
  computeInQBlock(acc);
  p.boundExtent(acc, "y", columns.numBlocks);
  p.boundExtent(acc, "ii", columns.countRows(blocks.rows));
  // Rows of state are in the first block alone: rows of one block lie side by side.
  p.reorderStorage(acc, {0, 2, 1, 3, 4, 5});
  StageLoops v = p.stage(acc);
  auto [vectors, lane] = splitRows(acc, v["x"], columns.width());
  p.unroll(vectors);
  Loop group;
  if (isOneKvBlock) {
    auto [rowGroup, row] = p.split(v["ii"], contextRows);
    p.reorder({lane, vectors, row, v["y"], rowGroup});
    p.unroll(row);
    group = v["y"];
    kvBlockLoop = qBlockLoop;
  } else {
    group = scheduleOnlineUpdate(acc);
  }
  if (inTiles)
    scheduleTileContext(context);
  else
    scheduleContextInRegisters(context, group);
  if (Value(context.valueCopy))
    scheduleValueCopy(context.valueCopy, context.keysOfElement);
}

void CpuSchedule::scheduleContextInRegisters(const KvBlockContext &context, Loop group) {
  bool hasPartialSums = bool(Value(context.partialProduct));
  Loop sum =
      scheduleRegisterTile(context.product, group,
                           {"x", columns.block, "ii", contextRows, hasPartialSums ? "rj" : "rk"});
  p.boundExtent(context.product, "y", 1);
  if (!hasPartialSums) {
    splitIntoRuns(sum, context.keysOfElement);
    return;
  }
  p.storeIn(context.product, MemoryType::stack);
  Loop keys = scheduleRegisterTile(context.partialProduct, sum,
                                   {"x", columns.block, "ii", contextRows, "rk"});
  splitIntoRuns(keys, context.keysOfElement);
  p.boundExtent(context.partialProduct, "y", 1);
  p.boundExtent(context.partialProduct, "j", 1);
}

/// Returns the loop over groups of rows.
Loop CpuSchedule::scheduleOnlineUpdate(Func acc) {
  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  StageLoops v = p.stage(acc, 0);
  auto [vectors, lane] = p.split(v["rx"], lanes);
  SmallVector<Loop> order = {lane, vectors, v["ri"], v["rg"], v["ry"], v["it"]};
  if (blocks.interleavedHeads == 1)
    order.append({v["rc"], v["h"], v["b"]});
  else
    order.append({v["h"], v["rc"], v["b"]});
  p.reorder(order);
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(v["ri"]);
  kvBlockLoop = v["it"];
  sharedKvBlockLoop = v["rc"];
  return v["rg"];
}

/// Two vectors of elements become two of pairs.
void CpuSchedule::scheduleValueCopy(Func copy, int64_t keysOfElement) {
  int64_t dims = blocks.in.valueDim, elements = lanes * keysOfElement;
  int64_t vector = dims % elements == 0 ? elements : lanes;
  computeInKvBlock(copy);
  p.boundStorage(copy, "k", blocks.kvBlock / keysOfElement);
  p.boundExtent(copy, "x", columns.numBlocks * columns.block);
  bool isPadded = !halide::getUpdates(copy).empty();
  if (isPadded) {
    p.vectorizeBy(p.stage(copy)["x"], lanes);
    p.vectorizeBy(p.stage(copy, 0)["rv"], vector);
    p.neverPartition(copy, 0);
  } else {
    scheduleCopiedRow(p.stage(copy)["x"], dims, vector);
  }
}

/// In one iteration, prefetches of the same line are one.
void CpuSchedule::scheduleCopiedRow(Loop dims, int64_t count, int64_t vector) {
  constexpr int64_t kMostUnrolled = 8;
  Loop vectors = p.vectorizeBy(dims, vector);
  if (count % vector == 0)
    p.unroll(p.split(vectors, std::gcd(count / vector, kMostUnrolled)).second);
}

//===----------------------------------------------------------------------===//
// Second pass
//===----------------------------------------------------------------------===//

/// Beside its sums, a tile holds the numerator and the mask of a row: of 16 registers, those of six
/// rows spill, and take 1.4 times as long as four.
Loop CpuSchedule::scheduleSecondContext(const SecondPass &pass) {
  constexpr int64_t kFewLanes = 8, kMostRows = 4;
  bool isLimited = lanes <= kFewLanes && blocks.rows % kMostRows == 0;
  int64_t rows = isLimited ? std::min(contextRows, kMostRows) : contextRows;
  for (Func f : {pass.largest, pass.kvBlocks, pass.largestOfLane, pass.context}) {
    computeInQBlock(f);
  }
  p.neverPartition(pass.largest, 0);
  splitRows(pass.largestOfLane, p.stage(pass.largestOfLane)["x"], lanes);
  StageLoops w = p.stage(pass.largestOfLane, 0);
  auto [largestVectors, largestLane] = p.split(w["x"], lanes);
  p.vectorize(largestLane);
  p.reorder({largestLane, largestVectors, w["rx"], w["ry"], w["ri"]});

  p.boundExtent(pass.context, "ii", blocks.rows);
  splitRows(pass.context, p.stage(pass.context)["x"], columns.numBlocks * columns.block);
  StageLoops v = p.stage(pass.context, 0);
  auto [columnBlocks, column] = p.split(v["x"], columns.block);
  auto [vectors, lane] = p.split(column, lanes);
  auto [rowGroup, row] = p.split(v["ii"], rows);
  p.vectorize(lane);
  bool hasPartialSums = countKeySums(blocks) > 1;
  SmallVector<Loop> order = {lane, vectors, row, columnBlocks, rowGroup};
  if (hasPartialSums)
    order.push_back(v["rj"]);
  order.append({v["it"], v["rc"], v["h"], v["b"]});
  p.reorder(order);
  p.neverPartition(pass.context, 0);
  scheduleRegisterTile(pass.product, columnBlocks, {"x", columns.block, "ii", rows, "rk"});
  if (hasPartialSums)
    p.boundExtent(pass.product, "j", 1);
  return v["it"];
}

void CpuSchedule::computeInSecondKvBlock(ArrayRef<Func> funcs, Loop at) {
  for (Func f : funcs) {
    p.computeAt(f, at);
    p.storeIn(f, MemoryType::stack);
    blocks.fix(f, /*perKvBlock=*/true);
    p.boundStorage(f, "k", blocks.kvBlock);
    p.neverPartition(f);
    p.boundExtent(f, "ii", blocks.rows);
  }
}
