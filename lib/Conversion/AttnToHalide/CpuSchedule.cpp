//===- CpuSchedule.cpp - schedules shared by the CPU kernels --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuSchedule.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

void CpuSchedule::computeInTile(Func f) {
  p.computeAt(f, tileLoop);
  p.storeIn(f, MemoryType::stack);
  p.neverPartition(f);
}

void CpuSchedule::computeInChunk(Func f) {
  p.computeAt(f, chunkLoop);
  p.storeIn(f, MemoryType::stack);
  tile.fix(f, /*perChunk=*/true);
  p.neverPartition(f);
}

std::pair<Loop, Loop> CpuSchedule::splitRows(Func f, Loop loop, int64_t rows) {
  p.boundExtent(f, 0, rows);
  auto [vectors, lane] = p.split(loop, lanes);
  p.vectorize(lane);
  return {vectors, lane};
}

Loop CpuSchedule::scheduleRegisterTile(Func f, Loop at, const RegisterTile &registers) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  tile.fix(f, /*perChunk=*/true);
  p.boundExtent(f, registers.other, registers.otherExtent);

  StageLoops zero = p.stage(f);
  Loop zeroVectors = splitRows(f, zero[registers.first], registers.extent).first;
  p.unroll(zeroVectors);
  p.unroll(zero[registers.other]);
  p.neverPartition(f);

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

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Loop CpuSchedule::scheduleOutput(Func context) {
  StageLoops v = p.stage(context);
  auto [tiles, row] = p.split(v["i"], tile.rowsOfHead, TailStrategy::guard_with_if);
  auto [vectors, lane] = p.split(v["d"], lanes, TailStrategy::guard_with_if);
  Loop heads = v["h"];
  if (tile.packedHeads == 1) {
    p.reorder({lane, vectors, row, tiles, heads, v["b"]});
  } else {
    auto [outer, packed] = p.split(heads, tile.packedHeads, TailStrategy::guard_with_if);
    p.reorder({lane, vectors, packed, row, tiles, outer, v["b"]});
    heads = outer;
  }
  p.vectorize(lane);
  p.unroll(vectors);
  p.neverPartition(context);
  return p.fuse(p.fuse(tiles, heads), v["b"]);
}

void CpuSchedule::scheduleRange(const KeyRange &range, Func chunks, const FullKeys &full) {
  SmallVector<Func> bounds = {range.low, range.high, chunks};
  if (full.areKnown())
    bounds.append({full.first, full.end});
  for (Func f : bounds) {
    computeInTile(f);
    tile.fix(f, /*perChunk=*/false);
  }
  if (Value(full.groupHigh))
    for (Func f : {full.groupLow, full.groupHigh}) {
      computeInTile(f);
      tile.fix(f, /*perChunk=*/false);
      p.boundExtent(f, "g", tile.rows / contextRows);
    }
}

void CpuSchedule::scheduleKvHead(Func kvHead) {
  computeInTile(kvHead);
  p.boundExtent(kvHead, "h", 1);
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

void CpuSchedule::scheduleAccumulator(Func acc, const ChunkContext &context, bool isOneChunk) {
  computeInTile(acc);
  tile.fix(acc, /*perChunk=*/false);
  p.boundExtent(acc, "y", columns.numBlocks);
  p.boundExtent(acc, "ii", tile.rows);
  StageLoops v = p.stage(acc);
  int64_t others = isOneChunk ? 0 : BlockedColumns::othersInVectors(lanes);
  auto [vectors, lane] = splitRows(acc, v["x"], columns.block + others);
  p.unroll(vectors);
  Loop group;
  if (isOneChunk) {
    auto [rowGroup, row] = p.split(v["ii"], contextRows);
    p.reorder({lane, vectors, row, v["y"], rowGroup});
    p.unroll(row);
    group = v["y"];
    chunkLoop = tileLoop;
  } else {
    group = scheduleOnlineUpdate(acc);
  }
  bool hasPartialSums = bool(Value(context.partialProduct));
  Loop partials =
      scheduleRegisterTile(context.product, group,
                           {"x", columns.block, "ii", contextRows, hasPartialSums ? "rj" : "rk"});
  p.boundExtent(context.product, "y", 1);
  if (hasPartialSums) {
    p.storeIn(context.product, MemoryType::stack);
    scheduleRegisterTile(context.partialProduct, partials,
                         {"x", columns.block, "ii", contextRows, "rk"});
    p.boundExtent(context.partialProduct, "y", 1);
    p.boundExtent(context.partialProduct, "j", 1);
  }
  if (Value(context.paddedValue))
    schedulePaddedValue(context.paddedValue);
}

/// Returns the loop over groups of rows.
Loop CpuSchedule::scheduleOnlineUpdate(Func acc) {
  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  StageLoops v = p.stage(acc, 0);
  auto [group, row] = p.split(v["ii"], contextRows);
  auto [vectors, lane] = p.split(v["rx"], lanes);
  p.reorder({lane, vectors, row, group, v["ry"], v["it"], v["rc"], v["h"], v["b"]});
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(row);
  chunkLoop = v["it"];
  return group;
}

void CpuSchedule::schedulePaddedValue(Func padded) {
  computeInChunk(padded);
  p.boundStorage(padded, "k", tile.chunk);
  splitRows(padded, p.stage(padded)["x"], columns.numBlocks * columns.block);
  p.vectorizeBy(p.stage(padded, 0)["rv"], lanes);
  p.neverPartition(padded, 0);
}

//===----------------------------------------------------------------------===//
// Second pass
//===----------------------------------------------------------------------===//

Loop CpuSchedule::scheduleSecondContext(const SecondPass &pass) {
  for (Func f : {pass.largest, pass.chunks, pass.largestOfLane, pass.context}) {
    computeInTile(f);
    tile.fix(f, /*perChunk=*/false);
  }
  p.neverPartition(pass.largest, 0);
  splitRows(pass.largestOfLane, p.stage(pass.largestOfLane)["x"], lanes);
  StageLoops w = p.stage(pass.largestOfLane, 0);
  auto [largestVectors, largestLane] = p.split(w["x"], lanes);
  p.vectorize(largestLane);
  p.reorder({largestLane, largestVectors, w["rx"], w["ry"], w["ri"]});

  p.boundExtent(pass.context, "ii", tile.rows);
  splitRows(pass.context, p.stage(pass.context)["x"], columns.numBlocks * columns.block);
  StageLoops v = p.stage(pass.context, 0);
  auto [blocks, column] = p.split(v["x"], columns.block);
  auto [vectors, lane] = p.split(column, lanes);
  auto [rowGroup, row] = p.split(v["ii"], contextRows);
  p.vectorize(lane);
  bool hasPartialSums = countKeySums(tile) > 1;
  SmallVector<Loop> order = {lane, vectors, row, blocks, rowGroup};
  if (hasPartialSums)
    order.push_back(v["rj"]);
  order.append({v["it"], v["rc"], v["h"], v["b"]});
  p.reorder(order);
  p.neverPartition(pass.context, 0);
  scheduleRegisterTile(pass.product, blocks, {"x", columns.block, "ii", contextRows, "rk"});
  if (hasPartialSums)
    p.boundExtent(pass.product, "j", 1);
  return v["it"];
}

void CpuSchedule::computeInSecondChunk(ArrayRef<Func> funcs, Loop at) {
  for (Func f : funcs) {
    p.computeAt(f, at);
    p.storeIn(f, MemoryType::stack);
    tile.fix(f, /*perChunk=*/true);
    p.boundStorage(f, "k", tile.chunk);
    p.neverPartition(f);
    p.boundExtent(f, "ii", tile.rows);
  }
}
