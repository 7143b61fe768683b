//===- GpuAttention.cpp - the fused attention kernel on a GPU -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of threads computes a tile of query rows, which lies in shared memory beside the
// accumulator. For each chunk of keys: keys to shared memory, scores, maxima, weights and
// sums, values to shared memory, and the online step. Scores and products are summed in
// registers, each thread for a few rows × a few keys or value dims.
//
// What must stay as it is:
// - Everything that lives in shared memory from before a loop on and is read in it is read
//   behind it as well (`keepQuery`): see there. exportPipeline proves it of every kernel.
// - What decides how many chunks there are is computed by a kernel of its own: a func read in
//   the condition of a loop, and not an expression that bounds inference would solve.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

/// Threads of a block that computes bounds.
static constexpr int64_t kThreadsOfBounds = 32;

void AttentionLowering::scheduleOnGpu() {
  scheduleGpuBounds();
  if (keySplits != 1)
    scheduleGpuPartialOutput();
  else
    scheduleGpuOutput();
  scheduleGpuQuery();
  scheduleGpuContext();
  scheduleGpuScores();
  scheduleGpuWeights();
  scheduleGpuExactContext();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// A thread for each value of a func that is computed on its own.
void AttentionLowering::mapToGrid(Func f) {
  SmallVector<Loop> v = p.loops(f);
  auto [block, thread] = p.split(v[0], kThreadsOfBounds, TailStrategy::guard_with_if);
  p.reorder({thread, block});
  for (Loop outer : ArrayRef(v).drop_front())
    block = p.fuse(block, outer);
  p.gpuBlock(block);
  p.gpuThread(thread);
}

/// Computes `f` at `at`, its storage of known size: the last dimensions are a tile's, and a
/// chunk's where there is one.
void AttentionLowering::storeInShared(Func f, Loop at, bool perChunk) {
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
Loop AttentionLowering::spread(Func f, int64_t width, int64_t xDim, int64_t yDim) {
  SmallVector<Loop> v = p.loops(f);
  auto [xo, x] = p.split(v[xDim], largestDivisor(width, threadsX), TailStrategy::guard_with_if);
  auto [yo, y] = p.split(v[yDim], threadsY, TailStrategy::guard_with_if);
  p.reorder({xo, yo, x, y});
  p.gpuThread(x);
  p.gpuThread(y);
  return xo;
}

/// A copy of width × height elements.
void AttentionLowering::stageInShared(Func f, Loop at, int64_t width, int64_t height) {
  storeInShared(f, at, /*perChunk=*/true);
  p.boundExtent(f, 0, width);
  p.boundExtent(f, 1, height);
  spread(f, width);
}

/// A thread for each row of a tile, the first dimension of `f`.
void AttentionLowering::spreadRows(Func f, std::optional<int64_t> update) {
  SmallVector<Loop> v = p.loops(f, update), order;
  auto [group, row] = p.split(v[0], threadsX, TailStrategy::guard_with_if);
  if (update)
    llvm::append_range(order, ArrayRef(v).drop_front(f.getRank()));
  order.append({group, row});
  p.reorder(order);
  p.gpuThread(row);
  p.neverPartition(f, update);
}

//===----------------------------------------------------------------------===//
// From the outside in
//===----------------------------------------------------------------------===//

void AttentionLowering::scheduleGpuBounds() {
  for (Func f : {low, high, chunks}) {
    p.computeRoot(f);
    mapToGrid(f);
  }
}

/// A dimension of the grid each: Halide 21 loses the coordinates of a stage whose fused loop
/// others are computed in.
void AttentionLowering::mapToBlocks(Loop tile, Loop head, Loop batch) {
  for (Loop loop : {tile, head, batch})
    p.gpuBlock(loop);
  tileLoop = tile;
}

void AttentionLowering::scheduleGpuOutput() {
  SmallVector<Loop> v = p.loops(context);
  auto [tile, row] = p.split(v[1], rowsOfHead, TailStrategy::guard_with_if);
  auto [xo, x] = p.split(v[0], threadsX, TailStrategy::guard_with_if);
  Loop heads = v[2];
  if (sharedHeads == 1) {
    auto [yo, y] = p.split(row, threadsY, TailStrategy::guard_with_if);
    p.reorder({xo, yo, x, y, tile, heads, v[3]});
    p.gpuThread(x);
    p.gpuThread(y);
  } else {
    auto [outer, shared] = p.split(heads, sharedHeads, TailStrategy::guard_with_if);
    p.reorder({xo, shared, row, x, tile, outer, v[3]});
    p.gpuThread(x);
    heads = outer;
  }
  mapToBlocks(tile, heads, v[3]);
  p.neverPartition(context);
}

/// The first kernel ends with the parts, the second merges them.
void AttentionLowering::scheduleGpuPartialOutput() {
  p.computeRoot(partial);
  p.boundExtent(partial, 0, valueDim + 2);
  p.boundExtent(partial, 1, rowTile);
  SmallVector<Loop> v = p.loops(partial);
  auto [xo, x] = p.split(v[0], threadsX, TailStrategy::guard_with_if);
  auto [yo, y] = p.split(v[1], threadsY, TailStrategy::guard_with_if);
  p.reorder({xo, yo, x, y, v[2], v[3], v[4]});
  p.gpuThread(x);
  p.gpuThread(y);
  mapToBlocks(v[2], v[3], v[4]);
  p.neverPartition(partial);
  mapToGrid(context);
}

void AttentionLowering::scheduleGpuQuery() {
  storeInShared(queryT, tileLoop, /*perChunk=*/false);
  p.boundExtent(queryT, 0, rowTile);
  p.boundExtent(queryT, 1, headDim);
  p.reorderStorage(queryT, {1, 0, 2, 3, 4});
  spread(queryT, headDim, /*xDim=*/1, /*yDim=*/0);
}

/// The accumulator's rows and columns of a thread are the product's.
void AttentionLowering::scheduleGpuContext() {
  storeInShared(acc, tileLoop, /*perChunk=*/false);
  p.boundExtent(acc, 0, block + lanes);
  p.boundExtent(acc, 1, numBlocks);
  p.boundExtent(acc, 2, rowTile);
  p.reorderStorage(acc, {1, 0, 2, 3, 4, 5});
  SmallVector<Loop> init = p.loops(acc);
  auto [initGroup, initRow] = p.split(init[2], contextRows);
  p.reorder({init[0], initRow, init[1], initGroup});
  p.gpuThread(init[1]);
  p.gpuThread(initGroup);

  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  SmallVector<Loop> v = p.loops(acc, 0); // ii it h b rx ry rc
  auto [group, row] = p.split(v[0], contextRows);
  p.reorder({v[4], row, v[5], group, v[1], v[6], v[2], v[3]});
  p.unroll(v[4]);
  p.unroll(row);
  p.gpuThread(v[5]);
  p.gpuThread(group);
  chunkLoop = v[1];
  keepInRegisters(product, v[5], {{0, block}, {1, 1}, {2, contextRows}});
  stageInShared(valueTile, chunkLoop, numBlocks * block, chunk);
}

/// A register tile of a thread, in the update of which the reduction is outermost.
void AttentionLowering::keepInRegisters(Func f, Loop thread,
                                        ArrayRef<std::pair<int64_t, int64_t>> extents) {
  p.computeAt(f, thread);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, /*perChunk=*/true);
  for (auto [dim, extent] : extents)
    p.boundExtent(f, dim, extent);
  for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    SmallVector<Loop> v = p.loops(f, update), order;
    for (auto [dim, extent] : extents)
      order.push_back(v[dim]);
    if (update)
      order.push_back(v.back());
    p.reorder(order);
    for (auto [dim, extent] : extents)
      p.unroll(v[dim]);
    p.neverPartition(f, update);
  }
}

/// Rows × keys of a chunk, keys innermost. Each thread has some of both; those of a register
/// tile are unrolled.
Loop AttentionLowering::spreadScores(Func f, bool isUnrolled) {
  storeInShared(f, chunkLoop, /*perChunk=*/true);
  p.boundExtent(f, 0, rowTile);
  p.boundExtent(f, 1, chunk);
  p.reorderStorage(f, {1, 0, 2, 3, 4, 5});
  SmallVector<Loop> v = p.loops(f);
  auto [rowGroup, row] = p.split(v[0], scoreRows);
  auto [keyGroup, key] = p.split(v[1], scoreKeys);
  p.reorder({key, row, keyGroup, rowGroup});
  if (isUnrolled) {
    p.unroll(key);
    p.unroll(row);
  }
  p.gpuThread(keyGroup);
  p.gpuThread(rowGroup);
  return keyGroup;
}

void AttentionLowering::scheduleGpuScores() {
  Loop thread = spreadScores(score, /*isUnrolled=*/true);
  keepInRegisters(dot, thread, {{0, scoreRows}, {1, scoreKeys}});
  stageInShared(wideKey, chunkLoop, headDim, chunk);
  // An odd distance between keys spreads them over the banks of shared memory.
  p.alignStorage(wideKey, 0, headDim | 1);
}

void AttentionLowering::scheduleGpuWeights() {
  spreadScores(weights, /*isUnrolled=*/false);
  if (!op.getProbMod().empty())
    spreadScores(modified, /*isUnrolled=*/false);
  for (auto [chains, all] : {std::pair(maxChains, maximum), {sumChains, sum}}) {
    storeInShared(chains, chunkLoop, /*perChunk=*/true);
    p.boundExtent(chains, 0, rowTile);
    p.boundExtent(chains, 1, numChains);
    p.reorderStorage(chains, {1, 0, 2, 3, 4, 5});
    for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
      SmallVector<Loop> v = p.loops(chains, update), order;
      auto [group, row] = p.split(v[0], contextRows);
      if (update)
        order.push_back(v.back());
      order.append({row, v[1], group});
      p.reorder(order);
      p.gpuThread(v[1]);
      p.gpuThread(group);
      p.neverPartition(chains, update);
    }
    storeInShared(all, chunkLoop, /*perChunk=*/true);
    p.boundExtent(all, 0, rowTile);
    spreadRows(all);
  }
}

/// The second pass is rare: a thread computes a few elements one after the other, and each
/// weight's dot product from memory.
void AttentionLowering::scheduleGpuExactContext() {
  for (Func f : {worst, exactChunks, worstOfLane, exactContext})
    storeInShared(f, tileLoop, /*perChunk=*/false);
  p.neverPartition(worst, 0);
  p.boundExtent(worstOfLane, 0, rowTile);
  spreadRows(worstOfLane);
  spreadRows(worstOfLane, 0);

  p.boundExtent(exactContext, 0, valueDim);
  p.boundExtent(exactContext, 1, rowTile);
  spread(exactContext, valueDim);
  SmallVector<Loop> v = p.loops(exactContext, 0); // x ii it h b rc
  auto [xo, x] = p.split(v[0], largestDivisor(valueDim, threadsX), TailStrategy::guard_with_if);
  auto [yo, y] = p.split(v[1], threadsY, TailStrategy::guard_with_if);
  p.reorder({xo, yo, x, y, v[2], v[5], v[3], v[4]});
  p.gpuThread(x);
  p.gpuThread(y);
  p.neverPartition(exactContext, 0);
  computeForOne(exactProduct, xo);

  storeInShared(exactWeight, v[2], /*perChunk=*/true);
  p.boundExtent(exactWeight, 0, rowTile);
  p.boundExtent(exactWeight, 1, chunk);
  p.reorderStorage(exactWeight, {1, 0, 2, 3, 4, 5});
  computeForOne(exactDot, spread(exactWeight, chunk, /*xDim=*/1, /*yDim=*/0));
}

/// A single value, in a register, for one iteration of `loop`.
void AttentionLowering::computeForOne(Func f, Loop loop) {
  p.computeAt(f, loop);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, /*perChunk=*/true);
  p.boundExtent(f, 0, 1);
  p.boundExtent(f, 1, 1);
  p.neverPartition(f, 0);
}
