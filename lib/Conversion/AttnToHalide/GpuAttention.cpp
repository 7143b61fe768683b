//===- GpuAttention.cpp - the fused attention kernel on a GPU -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of threads computes a tile of query rows, which lies in shared memory. For each chunk
// of keys: keys to shared memory, scores, maxima, weights and sums, values to shared memory, and
// the online step. Scores, weights and the accumulator stay in registers from one step to the
// next: thread (tx, ty) has the rows ty, ty + threadsY, …, of those the keys tx, tx + threadsX, …
// of a chunk, and block tx of the accumulator. What others need of that goes through shared
// memory.
//
// What must stay as it is:
// - Everything that lives in shared memory from before a loop on and is read in it is read
//   behind it as well (`keepQuery`): see there. exportPipeline proves it of every kernel.
// - How many chunks there are is read from shared memory, in the condition of a loop: an
//   expression there would be solved in a different way in each stage. Which keys a tile sees
//   each thread computes by itself.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"

#include "attnc/Dialect/Attn/GpuTile.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
class GpuAttention : public AttentionLowering {
  using AttentionLowering::AttentionLowering;

  void schedule() override;
  void scheduleOutput();
  void schedulePartialOutput();
  void scheduleChunks();
  void scheduleQuery();
  void scheduleScores();
  void scheduleWeights();
  void scheduleContext();
  void scheduleExactContext();
  void mapToGrid(Func f);
  void mapToBlocks(Loop tile, Loop head, Loop batch);
  void storeInShared(Func f, Loop at, bool perChunk);
  void stageInShared(Func f, Loop at, int64_t width, int64_t height);
  Loop spread(Func f, int64_t width, int64_t xDim = 0, int64_t yDim = 1);
  void spreadRows(Func f);
  std::pair<Loop, Loop> splitRowsOfThreads(Loop rows);
  void storeInRegisters(Func f, Loop at, bool perChunk);
  void boundColumns(Func f, int64_t columns);
  void spreadColumns(Loop x, Loop y, Loop ii, ArrayRef<Loop> inner = {}, ArrayRef<Loop> outer = {});
  void spreadScores(Func f, std::optional<int64_t> update = {}, ArrayRef<Loop> inner = {});
  void keepRows(Func f, int64_t width);
  void shareOfRows(Func f, int64_t width, Loop at);
  void combineThreads(Func ofThreads, Func all, Loop at);
};
} // namespace

LogicalResult attn::lowerAttentionOnGpu(PipelineBuilder &p, AttentionOp op, Attribute schedule) {
  return GpuAttention(p, op, schedule).lower();
}

void GpuAttention::schedule() {
  if (hasParts())
    schedulePartialOutput();
  else
    scheduleOutput();
  scheduleChunks();
  scheduleQuery();
  scheduleContext();
  scheduleScores();
  scheduleWeights();
  scheduleExactContext();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// A thread for each value of a func that is computed on its own.
void GpuAttention::mapToGrid(Func f) {
  constexpr int64_t kThreads = 32;
  SmallVector<Loop> v = p.loops(f);
  auto [block, thread] = p.split(v[0], kThreads, TailStrategy::guard_with_if);
  p.reorder({thread, block});
  for (Loop outer : ArrayRef(v).drop_front())
    block = p.fuse(block, outer);
  p.gpuBlock(block);
  p.gpuThread(thread);
}

/// Computes `f` at `at`, its storage of known size: the last dimensions are a tile's, and a
/// chunk's where there is one.
void GpuAttention::storeInShared(Func f, Loop at, bool perChunk) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::gpu_shared);
  fixTile(f, perChunk);
  p.neverPartition(f);
}

/// No tile has a tail: what a loop touches is what it seems to.
static int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::min(n, limit);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Spreads two dimensions over the threads: those next to each other have what is next to
/// each other along `xDim`. Gives the innermost loop of a thread.
Loop GpuAttention::spread(Func f, int64_t width, int64_t xDim, int64_t yDim) {
  SmallVector<Loop> v = p.loops(f);
  auto [xo, x] = p.split(v[xDim], largestDivisor(width, threadsX), TailStrategy::guard_with_if);
  auto [yo, y] = p.split(v[yDim], threadsY, TailStrategy::guard_with_if);
  p.reorder({xo, yo, x, y});
  p.unroll(xo);
  p.gpuThread(x);
  p.gpuThread(y);
  return xo;
}

/// A copy of width × height elements.
void GpuAttention::stageInShared(Func f, Loop at, int64_t width, int64_t height) {
  storeInShared(f, at, /*perChunk=*/true);
  p.boundExtent(f, 0, width);
  p.boundExtent(f, 1, height);
  spread(f, width);
}

/// A thread for each row of a tile, the first dimension of `f`.
void GpuAttention::spreadRows(Func f) {
  SmallVector<Loop> v = p.loops(f);
  auto [group, x] = p.split(v[0], threadsX, TailStrategy::guard_with_if);
  auto [more, y] = p.split(group, threadsY, TailStrategy::guard_with_if);
  p.reorder({more, x, y});
  p.gpuThread(x);
  p.gpuThread(y);
  p.neverPartition(f);
}

/// Every threadsY-th row is a thread's. Gives its rows and the loop over threads.
std::pair<Loop, Loop> GpuAttention::splitRowsOfThreads(Loop rows) {
  auto [row, y] = p.split(rows, threadsY);
  p.unroll(row);
  return {row, y};
}

/// Holds `f`, of which each thread touches its own elements alone.
void GpuAttention::storeInRegisters(Func f, Loop at, bool perChunk) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, perChunk);
  p.neverPartition(f);
}

//===----------------------------------------------------------------------===//
// From the outside in
//===----------------------------------------------------------------------===//

/// A dimension of the grid each: Halide 21 loses the coordinates of a stage whose fused loop
/// others are computed in.
void GpuAttention::mapToBlocks(Loop tile, Loop head, Loop batch) {
  for (Loop loop : {tile, head, batch})
    p.gpuBlock(loop);
  tileLoop = tile;
}

void GpuAttention::scheduleOutput() {
  SmallVector<Loop> v = p.loops(context);
  auto [tile, inTile] = p.split(v[1], rowsOfHead, TailStrategy::guard_with_if);
  auto [row, y] = splitRowsOfThreads(inTile);
  auto [part, dim] = p.split(v[0], vectorDims * numBlocks, TailStrategy::guard_with_if);
  auto [x, inVector] = p.split(dim, vectorDims);
  p.unroll(inVector);
  p.unroll(part);
  p.reorder({inVector, part, row, x, y, tile, v[2], v[3]});
  p.gpuThread(x);
  p.gpuThread(y);
  mapToBlocks(tile, v[2], v[3]);
  p.neverPartition(context);
}

/// The first kernel ends with the parts, the second merges them.
void GpuAttention::schedulePartialOutput() {
  p.computeRoot(partial);
  p.boundExtent(partial, 0, block + lanes);
  p.boundExtent(partial, 1, numBlocks);
  p.boundExtent(partial, 2, rowTile);
  SmallVector<Loop> v = p.loops(partial);
  auto [row, y] = splitRowsOfThreads(v[2]);
  p.unroll(v[0]);
  p.reorder({v[0], row, v[1], y, v[3], v[4], v[5]});
  p.gpuThread(v[1]);
  p.gpuThread(y);
  mapToBlocks(v[3], v[4], v[5]);
  p.neverPartition(partial);
  mapToGrid(context);
}

/// What lies behind it stays aligned to vectors.
void GpuAttention::scheduleChunks() {
  storeInShared(chunks, tileLoop, /*perChunk=*/false);
  p.alignStorage(chunks, 0, kChunkCountElements);
}

void GpuAttention::scheduleQuery() {
  storeInShared(queryT, tileLoop, /*perChunk=*/false);
  p.boundExtent(queryT, 0, rowTile);
  p.boundExtent(queryT, 1, headDim);
  p.reorderStorage(queryT, {1, 0, 2, 3, 4});
  p.alignStorage(queryT, 1, getRowDistance(headDim));
  spread(queryT, headDim, /*xDim=*/1, /*yDim=*/0);
}

/// Columns × blocks × rows, each thread's own.
void GpuAttention::boundColumns(Func f, int64_t columns) {
  p.boundExtent(f, 0, columns);
  p.boundExtent(f, 1, numBlocks);
  p.boundExtent(f, 2, rowTile);
}

/// A thread's columns and rows are unrolled. `inner` loops are within the threads', `outer`
/// ones around them.
void GpuAttention::spreadColumns(Loop x, Loop y, Loop ii, ArrayRef<Loop> inner,
                                 ArrayRef<Loop> outer) {
  auto [row, group] = splitRowsOfThreads(ii);
  p.unroll(x);
  p.spreadOverThreads({x, row}, inner, {y, group}, outer);
}

void GpuAttention::scheduleContext() {
  storeInRegisters(acc, tileLoop, /*perChunk=*/false);
  boundColumns(acc, block + lanes);
  SmallVector<Loop> init = p.loops(acc);
  spreadColumns(init[0], init[1], init[2]);
  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  SmallVector<Loop> v = p.loops(acc, 0); // ii it h b rx ry rc
  spreadColumns(v[4], v[5], v[0], {}, {v[1], v[6], v[2], v[3]});
  chunkLoop = v[1];

  storeInRegisters(product, chunkLoop, /*perChunk=*/true);
  boundColumns(product, block);
  SmallVector<Loop> zero = p.loops(product);
  spreadColumns(zero[0], zero[1], zero[2]);
  SmallVector<Loop> w = p.loops(product, 0); // x y ii c it h b rk
  auto [keys, k] = p.split(w.back(), largestDivisor(chunk, 4));
  p.unroll(k);
  spreadColumns(w[0], w[1], w[2], {k, keys});
  p.neverPartition(product, 0);
  stageInShared(valueTile, chunkLoop, numBlocks * block, chunk);
}

/// Rows × keys of a chunk, each thread's own, which are unrolled. `inner` loops are within the
/// threads'.
void GpuAttention::spreadScores(Func f, std::optional<int64_t> update, ArrayRef<Loop> inner) {
  SmallVector<Loop> v = p.loops(f, update);
  auto [row, y] = splitRowsOfThreads(v[0]);
  auto [key, x] = p.split(v[1], threadsX);
  p.unroll(key);
  p.spreadOverThreads({key, row}, inner, {x, y});
  p.neverPartition(f, update);
}

void GpuAttention::keepRows(Func f, int64_t width) {
  storeInRegisters(f, chunkLoop, /*perChunk=*/true);
  p.boundExtent(f, 0, rowTile);
  p.boundExtent(f, 1, width);
  spreadScores(f);
}

void GpuAttention::scheduleScores() {
  keepRows(score, chunk);
  keepRows(dot, chunk);
  spreadScores(dot, 0, {p.loops(dot, 0).back()});
  stageInShared(wideKey, chunkLoop, headDim, chunk);
  p.alignStorage(wideKey, 0, getRowDistance(headDim));
}

/// Rows of what all threads read of a tile or chunk, `width` elements each.
void GpuAttention::shareOfRows(Func f, int64_t width, Loop at) {
  bool perChunk = at == chunkLoop;
  storeInShared(f, at, perChunk);
  p.boundExtent(f, 0, rowTile);
  p.boundExtent(f, 1, width);
  SmallVector<int64_t> order = {1, 0, 2, 3, 4, 5};
  order.resize(perChunk ? 6 : 5);
  p.reorderStorage(f, order);
}

void GpuAttention::scheduleWeights() {
  keepRows(weights, chunk);
  shareOfRows(modified, chunk, chunkLoop);
  p.alignStorage(modified, 1, getWeightDistance(chunk));
  spreadScores(modified);
  combineThreads(maxChains, maximum, chunkLoop);
  keepRows(sumChains, numChains);
  combineThreads(sumOfThread, sum, tileLoop);
}

/// What each thread has of a row, and of that what the row has.
void GpuAttention::combineThreads(Func ofThreads, Func all, Loop at) {
  bool perChunk = at == chunkLoop;
  shareOfRows(ofThreads, numChains, at);
  spreadScores(ofThreads);
  storeInShared(all, at, perChunk);
  p.boundExtent(all, 0, rowTile);
  spreadRows(all);
}

/// The second pass is rare, and computes each weight's dot product from memory.
void GpuAttention::scheduleExactContext() {
  for (Func f : {worstOfLane, worst, exactChunks})
    storeInShared(f, tileLoop, /*perChunk=*/false);
  p.neverPartition(worst, 0);
  p.boundExtent(worstOfLane, 0, numBlocks);
  p.boundExtent(worstOfLane, 1, threadsY);
  SmallVector<Loop> w = p.loops(worstOfLane);
  p.gpuThread(w[0]);
  p.gpuThread(w[1]);

  storeInRegisters(exactContext, tileLoop, /*perChunk=*/false);
  boundColumns(exactContext, block);
  SmallVector<Loop> zero = p.loops(exactContext);
  spreadColumns(zero[0], zero[1], zero[2]);
  SmallVector<Loop> v = p.loops(exactContext, 0); // x y ii it h b rc
  spreadColumns(v[0], v[1], v[2], {}, {v[3], v[6], v[4], v[5]});
  p.neverPartition(exactContext, 0);

  storeInRegisters(exactProduct, v[3], /*perChunk=*/true);
  boundColumns(exactProduct, block);
  zero = p.loops(exactProduct);
  spreadColumns(zero[0], zero[1], zero[2]);
  SmallVector<Loop> u = p.loops(exactProduct, 0); // x y ii c it h b rk
  spreadColumns(u[0], u[1], u[2], {u.back()});
  p.neverPartition(exactProduct, 0);

  storeInShared(exactWeight, v[3], /*perChunk=*/true);
  p.boundExtent(exactWeight, 0, rowTile);
  p.boundExtent(exactWeight, 1, chunk);
  p.reorderStorage(exactWeight, {1, 0, 2, 3, 4, 5});
  SmallVector<Loop> e = p.loops(exactWeight);
  auto [row, y] = splitRowsOfThreads(e[0]);
  auto [key, x] = p.split(e[1], threadsX);
  p.reorder({row, key, x, y});
  p.gpuThread(x);
  p.gpuThread(y);

  p.computeAt(exactDot, row);
  p.storeIn(exactDot, MemoryType::register_);
  fixTile(exactDot, /*perChunk=*/true);
  p.boundExtent(exactDot, 0, 1);
  p.boundExtent(exactDot, 1, 1);
  p.neverPartition(exactDot, 0);
}
