//===- GpuSchedule.cpp - the schedule of fused attention on a GPU ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invariants:
// - Shared memory that is written before a loop and read in it is read once more after it (see
//   `keepQuery`). exportPipeline verifies this for every kernel.
// - The number of KV blocks is read from shared memory in the loop's condition: an expression there
//   would be solved differently in each stage. Each thread computes the query block's range of keys
//   itself.
//
//===----------------------------------------------------------------------===//

#include "GpuAttention.h"

#include "attnc/Dialect/Attn/GpuSharedMemory.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

void GpuAttention::schedule() {
  if (hasMergeKernel())
    schedulePartial();
  else
    scheduleOutput();
  if (lse)
    mapToGrid(lse.getFunc(), "i", {"h", "b"});
  if (Value(inverse))
    scheduleInverse();
  scheduleKvBlocks();
  scheduleQuery();
  scheduleContext();
  scheduleScores();
  scheduleSoftmax();
  scheduleSecondPass();
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

/// One thread per value of a func computed on its own, along `inner` first.
void GpuAttention::mapToGrid(Func f, StringRef inner, ArrayRef<StringRef> outer,
                             std::optional<int64_t> update) {
  constexpr int64_t kThreads = 32;
  StageLoops v = p.stage(f, update);
  auto [block, thread] = p.split(v[inner], kThreads, TailStrategy::guard_with_if);
  p.reorder({thread, block});
  for (StringRef name : outer)
    block = p.fuse(block, v[name]);
  p.gpuBlock(block);
  p.gpuThread(thread);
}

/// Computes `f` at `at` with storage of static size: the last dimensions number the query block,
/// and the KV block if there is one.
void GpuAttention::storeInShared(Func f, Loop at, bool perKvBlock) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::gpu_shared);
  blocks.fix(f, perKvBlock);
  p.neverPartition(f);
}

/// Tiles have no tail: loops touch exactly their extent.
static int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::min(n, limit);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Distributes two dimensions over the threads, adjacent elements along `x`, of extent `width`, to
/// adjacent threads. Returns the innermost loop of a thread.
Loop GpuAttention::spread(Func f, int64_t width, StringRef xName, StringRef yName) {
  StageLoops v = p.stage(f);
  auto [xo, x] = p.split(v[xName], largestDivisor(width, threadsX), TailStrategy::guard_with_if);
  auto [yo, y] = p.split(v[yName], threadsY, TailStrategy::guard_with_if);
  p.reorder({xo, yo, x, y});
  p.unroll(xo);
  p.gpuThread(x);
  p.gpuThread(y);
  return xo;
}

/// Schedules a copy of a KV block's keys or values, `width` elements each along `x`.
void GpuAttention::stageInShared(Func f, StringRef x, int64_t width) {
  storeInShared(f, kvBlockLoop, /*perKvBlock=*/true);
  p.boundExtent(f, x, width);
  p.boundExtent(f, "k", blocks.kvBlock);
  spread(f, width, x, "k");
}

/// One thread per row of a query block.
void GpuAttention::spreadRows(Func f) {
  StageLoops v = p.stage(f);
  auto [group, x] = p.split(v["ii"], threadsX, TailStrategy::guard_with_if);
  auto [more, y] = p.split(group, threadsY, TailStrategy::guard_with_if);
  p.reorder({more, x, y});
  p.gpuThread(x);
  p.gpuThread(y);
  p.neverPartition(f);
}

/// Gives each thread every threadsY-th row. Returns the loop over its rows and the loop over
/// threads.
std::pair<Loop, Loop> GpuAttention::splitRowsOfThreads(Loop rows) {
  auto [row, y] = p.split(rows, threadsY);
  p.unroll(row);
  return {row, y};
}

/// Stores `f` in registers: each thread touches its own elements only.
void GpuAttention::storeInRegisters(Func f, Loop at, bool perKvBlock) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  blocks.fix(f, perKvBlock);
  p.neverPartition(f);
}

//===----------------------------------------------------------------------===//
// From the outside in
//===----------------------------------------------------------------------===//

/// One dimension of the grid each: Halide 21 loses the coordinates of a stage if others are
/// computed at its fused loop.
void GpuAttention::mapToBlocks(ArrayRef<Loop> grid) {
  for (Loop loop : grid)
    p.gpuBlock(loop);
  qBlockLoop = grid.front();
}

void GpuAttention::scheduleOutput() {
  if (blocks.packed)
    return schedulePackedOutput();
  StageLoops v = p.stage(context);
  auto [qBlocks, row] = p.split(v["i"], blocks.rowsOfHead, TailStrategy::guard_with_if);
  spreadOutput(v["d"], row, {qBlocks, v["h"], v["b"]});
  p.neverPartition(context);
}

/// Query blocks write rows of their own: no two of them race.
void GpuAttention::schedulePackedOutput() {
  p.allowRaceConditions(context, 0);
  StageLoops v = p.stage(context, 0);
  spreadOutput(v["d"], v[kPackedRow], {v[kPackedBlock], v[kPackedHeads], v[kPackedHead]});
  p.neverPartition(context, 0);
}

/// Gives each thread its columns of its rows.
void GpuAttention::spreadOutput(Loop dims, Loop rows, ArrayRef<Loop> grid) {
  auto [row, y] = splitRowsOfThreads(rows);
  auto [part, dim] =
      p.split(dims, columns.vectorDims * columns.numBlocks, TailStrategy::guard_with_if);
  auto [x, inVector] = p.split(dim, columns.vectorDims);
  p.unroll(inVector);
  p.unroll(part);
  SmallVector<Loop> order = {inVector, part};
  if (blocks.packed) // Halide does not swap the loops of a scatter.
    order.append({x, y, row});
  else
    order.append({row, x, y});
  order.append(grid.begin(), grid.end());
  p.reorder(order);
  p.gpuThread(x);
  p.gpuThread(y);
  mapToBlocks(grid);
}

/// The first kernel ends with the KV splits, the second merges them.
void GpuAttention::schedulePartial() {
  p.computeRoot(partial);
  p.boundExtent(partial, "x", width);
  p.boundExtent(partial, "y", columns.numBlocks);
  p.boundExtent(partial, "ii", blocks.rows);
  StageLoops v = p.stage(partial);
  auto [row, y] = splitRowsOfThreads(v["ii"]);
  p.unroll(v["x"]);
  p.reorder({v["x"], row, v["y"], y, v["it"], v["h"], v["b"]});
  p.gpuThread(v["y"]);
  p.gpuThread(y);
  mapToBlocks({v["it"], v["h"], v["b"]});
  p.neverPartition(partial);
  if (!blocks.packed)
    return mapToGrid(context, "d", {"i", "h", "b"});
  p.allowRaceConditions(context, 0);
  mapToGrid(context, "d", {kPackedHead, kPackedRow, kPackedBlock, kPackedHeads}, /*update=*/0);
}

/// In registers of the threads that have a row's maximum, or by a kernel ahead of the one that
/// merges.
void GpuAttention::scheduleInverse() {
  p.boundExtent(inverse, "ii", blocks.rows);
  if (hasMergeKernel()) {
    p.computeRoot(inverse);
    p.boundExtent(inverse, "y", 1);
    return mapToGrid(inverse, "ii", {"y", "it", "h", "b"});
  }
  storeInRegisters(inverse, qBlockLoop, /*perKvBlock=*/false);
  p.boundExtent(inverse, "y", columns.numBlocks);
  StageLoops v = p.stage(inverse);
  auto [row, y] = splitRowsOfThreads(v["ii"]);
  p.spreadOverThreads({row}, {}, {v["y"], y});
}

/// Padded, so that the next allocation stays aligned to vectors.
void GpuAttention::scheduleKvBlocks() {
  storeInShared(kvBlocks, qBlockLoop, /*perKvBlock=*/false);
  p.alignStorage(kvBlocks, "it", kKvBlockCountElements);
}

void GpuAttention::scheduleQuery() {
  storeInShared(query, qBlockLoop, /*perKvBlock=*/false);
  p.boundExtent(query, "ii", blocks.rows);
  p.boundExtent(query, "d", in.headDim);
  p.reorderStorage(query, {1, 0, 2, 3, 4});
  p.alignStorage(query, "d", getRowDistance(in.headDim));
  spread(query, in.headDim, "d", "ii");
}

/// Columns × blocks × rows of each thread.
void GpuAttention::boundColumns(Func f, int64_t extent) {
  p.boundExtent(f, "x", extent);
  p.boundExtent(f, "y", columns.numBlocks);
  p.boundExtent(f, "ii", blocks.rows);
}

/// Unrolls a thread's columns and rows. `inner` loops are inside the thread loops, `outer` ones
/// around them.
void GpuAttention::spreadColumns(Loop x, Loop y, Loop ii, ArrayRef<Loop> inner,
                                 ArrayRef<Loop> outer) {
  auto [row, group] = splitRowsOfThreads(ii);
  p.unroll(x);
  p.spreadOverThreads({x, row}, inner, {y, group}, outer);
}

void GpuAttention::scheduleContext() {
  storeInRegisters(acc, qBlockLoop, /*perKvBlock=*/false);
  boundColumns(acc, width);
  StageLoops init = p.stage(acc);
  spreadColumns(init["x"], init["y"], init["ii"]);
  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  StageLoops v = p.stage(acc, 0);
  spreadColumns(v["rx"], v["ry"], v["ii"], {}, {v["it"], v["rc"], v["h"], v["b"]});
  kvBlockLoop = v["it"];

  storeInRegisters(product, kvBlockLoop, /*perKvBlock=*/true);
  boundColumns(product, columns.block);
  StageLoops zero = p.stage(product);
  spreadColumns(zero["x"], zero["y"], zero["ii"]);
  StageLoops w = p.stage(product, 0);
  auto [keys, k] = p.split(w["rk"], largestDivisor(blocks.kvBlock, 4));
  p.unroll(k);
  spreadColumns(w["x"], w["y"], w["ii"], {k, keys});
  p.neverPartition(product, 0);
  stageInShared(stagedValue, "x", columns.numBlocks * columns.block);
}

/// Rows × `key`s of a KV block, each thread's own, unrolled. The loop `inner` is inside the thread
/// loops.
void GpuAttention::spreadScores(Func f, StringRef keyName, std::optional<int64_t> update,
                                StringRef inner) {
  StageLoops v = p.stage(f, update);
  auto [row, y] = splitRowsOfThreads(v["ii"]);
  auto [key, x] = p.split(v[keyName], threadsX);
  p.unroll(key);
  if (inner.empty())
    p.spreadOverThreads({key, row}, {}, {x, y});
  else
    p.spreadOverThreads({key, row}, {v[inner]}, {x, y});
  p.neverPartition(f, update);
}

void GpuAttention::keepRows(Func f, StringRef key, int64_t extent) {
  storeInRegisters(f, kvBlockLoop, /*perKvBlock=*/true);
  p.boundExtent(f, "ii", blocks.rows);
  p.boundExtent(f, key, extent);
  spreadScores(f, key);
}

void GpuAttention::scheduleScores() {
  keepRows(score, "k", blocks.kvBlock);
  keepRows(dot.sum, "k", blocks.kvBlock);
  spreadScores(dot.sum, "k", 0, "rd");
  stageInShared(wideKey, "d", in.headDim);
  p.alignStorage(wideKey, "d", getRowDistance(in.headDim));
}

/// Schedules rows that all threads read, of a query block or KV block, `width` elements each along
/// `x`.
void GpuAttention::shareOfRows(Func f, StringRef x, int64_t width, Loop at) {
  bool perKvBlock = at == kvBlockLoop;
  storeInShared(f, at, perKvBlock);
  p.boundExtent(f, "ii", blocks.rows);
  p.boundExtent(f, x, width);
  SmallVector<int64_t> order = {1, 0, 2, 3, 4, 5};
  order.resize(perKvBlock ? 6 : 5);
  p.reorderStorage(f, order);
}

void GpuAttention::scheduleSoftmax() {
  keepRows(softmax.numerators, "k", blocks.kvBlock);
  shareOfRows(softmax.modified, "k", blocks.kvBlock, kvBlockLoop);
  p.alignStorage(softmax.modified, "k", getNumeratorDistance(blocks.kvBlock));
  spreadScores(softmax.modified, "k");
  combineThreads(softmax.partialMax, softmax.maximum, kvBlockLoop);
  keepRows(softmax.partialSum, "u", threadsX);
  combineThreads(sumOfThread, sum, qBlockLoop);
}

/// Schedules each thread's reduction of a row, and the reduction over threads.
void GpuAttention::combineThreads(Func ofThreads, Func all, Loop at) {
  bool perKvBlock = at == kvBlockLoop;
  shareOfRows(ofThreads, "u", threadsX, at);
  spreadScores(ofThreads, "u");
  storeInShared(all, at, perKvBlock);
  p.boundExtent(all, "ii", blocks.rows);
  spreadRows(all);
}

/// The second pass is rare: it computes each numerator's dot product from global memory.
void GpuAttention::scheduleSecondPass() {
  for (Func f : {second.largestOfLane, second.largest, second.kvBlocks})
    storeInShared(f, qBlockLoop, /*perKvBlock=*/false);
  p.neverPartition(second.largest, 0);
  p.boundExtent(second.largestOfLane, "y", columns.numBlocks);
  p.boundExtent(second.largestOfLane, "i", threadsY);
  StageLoops w = p.stage(second.largestOfLane);
  p.gpuThread(w["y"]);
  p.gpuThread(w["i"]);

  storeInRegisters(second.context, qBlockLoop, /*perKvBlock=*/false);
  boundColumns(second.context, columns.block);
  StageLoops zero = p.stage(second.context);
  spreadColumns(zero["x"], zero["y"], zero["ii"]);
  StageLoops v = p.stage(second.context, 0);
  spreadColumns(v["x"], v["y"], v["ii"], {}, {v["it"], v["rc"], v["h"], v["b"]});
  p.neverPartition(second.context, 0);

  storeInRegisters(second.product, v["it"], /*perKvBlock=*/true);
  boundColumns(second.product, columns.block);
  StageLoops none = p.stage(second.product);
  spreadColumns(none["x"], none["y"], none["ii"]);
  StageLoops u = p.stage(second.product, 0);
  spreadColumns(u["x"], u["y"], u["ii"], {u["rk"]});
  p.neverPartition(second.product, 0);

  Func ofKeys = second.numerators;
  storeInShared(ofKeys, v["it"], /*perKvBlock=*/true);
  p.boundExtent(ofKeys, "ii", blocks.rows);
  p.boundExtent(ofKeys, "k", blocks.kvBlock);
  p.reorderStorage(ofKeys, {1, 0, 2, 3, 4, 5});
  StageLoops e = p.stage(ofKeys);
  auto [row, y] = splitRowsOfThreads(e["ii"]);
  auto [key, x] = p.split(e["k"], threadsX);
  p.reorder({row, key, x, y});
  p.gpuThread(x);
  p.gpuThread(y);

  Func dots = second.dot.sum;
  p.computeAt(dots, row);
  p.storeIn(dots, MemoryType::register_);
  blocks.fix(dots, /*perKvBlock=*/true);
  p.boundExtent(dots, "ii", 1);
  p.boundExtent(dots, "k", 1);
  p.neverPartition(dots, 0);
}
