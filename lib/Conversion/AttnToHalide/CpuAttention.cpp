//===- CpuAttention.cpp - the fused attention kernel on a CPU -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the outside in: a tile of rows is a task; a chunk of keys at a time, its scores and its
// part of the context are summed in tiles of registers.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
class CpuAttention : public AttentionLowering {
  using AttentionLowering::AttentionLowering;

  void schedule() override;
  void scheduleOutput();
  void scheduleParts(Loop merging);
  void scheduleTile();
  void scheduleSearch();
  bool scheduleTransposed(Func f);
  void scheduleStaged(const Copies &copies, Loop at);
  void scheduleContext();
  Loop scheduleOnlineContext();
  void schedulePaddedValue();
  void scheduleWideKey();
  void scheduleQuery();
  void scheduleScores();
  void scheduleScoreTile(Func f, Func dots, Func dotParts);
  void scheduleScoresByKeys();
  void scheduleLaneParts(Func f, Loop at, int64_t rows, int64_t keys);
  void scheduleWeights();
  void scheduleChains(Func chains, Func all);
  void scheduleWeightsOf(Func f);
  void scheduleExactContext();
  void scheduleExactWeights(Loop at);
  void scheduleExactDot(Loop at);

  void computeInTile(Func f);
  void computeInChunk(Func f);
  std::pair<Loop, Loop> splitRows(Func f, Loop loop, int64_t rows);
  void layOutByKeys(Func f);
  Loop scheduleRegisterTile(Func f, Loop at, int64_t extent, int64_t otherDim, int64_t otherExtent);
};
} // namespace

LogicalResult attn::lowerAttentionOnCpu(PipelineBuilder &p, AttentionOp op, Attribute schedule) {
  return CpuAttention(p, op, schedule).lower();
}

void CpuAttention::schedule() {
  scheduleOutput();
  scheduleTile();
  scheduleContext();
  scheduleScores();
  scheduleWeights();
  scheduleExactContext();
}

void CpuAttention::computeInTile(Func f) {
  p.computeAt(f, tileLoop);
  p.storeIn(f, MemoryType::stack);
  p.neverPartition(f);
}

void CpuAttention::computeInChunk(Func f) {
  p.computeAt(f, chunkLoop);
  p.storeIn(f, MemoryType::stack);
  fixTile(f, /*perChunk=*/true);
  p.neverPartition(f);
}

/// Vectors along dimension 0, `rows` elements in all; what to do with the loop over vectors
/// and the other loops is the caller's.
std::pair<Loop, Loop> CpuAttention::splitRows(Func f, Loop loop, int64_t rows) {
  p.boundExtent(f, 0, rows);
  auto [vectors, lane] = p.split(loop, lanes);
  p.vectorize(lane);
  return {vectors, lane};
}

void CpuAttention::scheduleOutput() {
  SmallVector<Loop> v = p.loops(context);
  auto [tile, row] = p.split(v[1], rowsOfHead, TailStrategy::guard_with_if);
  auto [vectors, lane] = p.split(v[0], lanes, TailStrategy::guard_with_if);
  Loop heads = v[2];
  if (sharedHeads == 1) {
    p.reorder({lane, vectors, row, tile, heads, v[3]});
  } else {
    auto [outer, shared] = p.split(heads, sharedHeads, TailStrategy::guard_with_if);
    p.reorder({lane, vectors, shared, row, tile, outer, v[3]});
    heads = outer;
  }
  p.vectorize(lane);
  p.unroll(vectors);
  p.neverPartition(context);
  Loop tiles = p.fuse(p.fuse(tile, heads), v[3]);
  if (keySplits != 1)
    return scheduleParts(tiles);
  tileLoop = tiles;
  p.parallel(tileLoop);
}

/// A task for each part of a tile; then all are merged, which is too little work for tasks.
void CpuAttention::scheduleParts(Loop merging) {
  p.computeRoot(partial);
  p.boundExtent(partial, 1, rowTile);
  SmallVector<Loop> v = p.loops(partial); // x ii it h b
  p.vectorizeBy(v[0], lanes);
  auto [part, one] = p.split(v[2], 1, TailStrategy::round_up);
  tileLoop = p.fuse(p.fuse(part, v[3]), v[4]);
  p.parallel(tileLoop);
  p.neverPartition(partial);

  for (Func f : {top, merged, mergedInverse}) {
    p.computeAt(f, merging);
    p.storeIn(f, MemoryType::stack);
    fixTile(f, /*perChunk=*/false);
    p.boundExtent(f, f.getRank() - 4, rowTile);
    p.neverPartition(f);
  }
  for (Func f : {top, merged}) {
    SmallVector<Loop> loops = p.loops(f, 0);
    Loop part = loops.back();
    loops.pop_back();
    loops.insert(loops.begin() + (f.getRank() - 3), part);
    p.reorder(loops);
    p.neverPartition(f, 0);
  }
  p.boundExtent(merged, 0, valueDim + 1);
  p.vectorizeBy(p.loops(merged)[0], lanes);
  p.vectorizeBy(p.loops(merged, 0)[0], lanes);
}

void CpuAttention::scheduleTile() {
  SmallVector<Func> bounds = {low, high, chunks};
  if (Value(endFull))
    bounds.append({firstFull, endFull});
  for (Func f : bounds) {
    computeInTile(f);
    fixTile(f, /*perChunk=*/false);
  }
  if (Value(groupHigh))
    for (Func f : {groupLow, groupHigh}) {
      computeInTile(f);
      fixTile(f, /*perChunk=*/false);
      p.boundExtent(f, 0, rowTile / contextRows);
    }
  computeInTile(kvHead);
  p.boundExtent(kvHead, 0, 1);
  if (Value(edge))
    scheduleSearch();
  scheduleQuery();
}

void CpuAttention::scheduleSearch() {
  for (Func f : {searchLow, searchHigh, edgeOfLane, edge}) {
    computeInTile(f);
    fixTile(f, /*perChunk=*/false);
  }
  p.boundExtent(edge, 0, 2);
  p.neverPartition(edge, 0);
  p.boundExtent(edgeOfLane, 1, 2);
  splitRows(edgeOfLane, p.loops(edgeOfLane)[0], lanes);
  SmallVector<Loop> v = p.loops(edgeOfLane, 0); // x y it h b rk rr
  p.reorder({v[0], v[1], v[5], v[6]});
  p.vectorizeBy(v[0], lanes, TailStrategy::automatic);
  p.unroll(v[1]);
  for (int64_t update : {0, 1})
    p.neverPartition(edgeOfLane, update);
}

/// A square at a time, all of it in registers. False where `f` is not made of squares.
bool CpuAttention::scheduleTransposed(Func f) {
  auto *found = llvm::find_if(transposed, [&](Transposed &t) { return Value(t.func) == Value(f); });
  if (found == transposed.end())
    return false;
  SmallVector<Loop> v = p.loops(f);
  auto [squareOfRow, lane] = p.split(v[0], lanes);
  auto [squareOfColumn, column] = p.split(v[1], lanes, TailStrategy::round_up);
  p.reorder({lane, column, squareOfColumn, squareOfRow});
  p.vectorize(lane);
  p.unroll(column);
  for (auto [square, parts] : found->squares) {
    p.computeAt(square, squareOfColumn);
    p.storeIn(square, MemoryType::register_);
    p.boundExtent(square, 0, lanes * lanes);
    for (int64_t dim = 1; dim < square.getRank(); ++dim)
      p.boundExtent(square, dim, 1);
    p.neverPartition(square);
    auto [vectors, elements] = p.split(p.loops(square)[0], parts * lanes);
    p.vectorize(elements);
    p.unroll(vectors);
  }
  return true;
}

void CpuAttention::scheduleStaged(const Copies &copies, Loop at) {
  for (auto [read, copy] : copies) {
    p.computeAt(copy, at);
    p.storeIn(copy, MemoryType::stack);
    fixTile(copy, /*perChunk=*/true);
    p.boundExtent(copy, 0, rowTile);
    p.boundStorage(copy, 1, chunk);
    if (scheduleTransposed(copy))
      continue;
    p.neverPartition(copy);
    SmallVector<Loop> v = p.loops(copy);
    // Unrolled reads of whole words would become gathers, which are slow.
    if (copy.getElementType().getIntOrFloatBitWidth() >= 32) {
      p.reorder({v[1], v[0]});
      continue;
    }
    auto [group, key] = p.split(v[1], scoreKeys, TailStrategy::round_up);
    p.reorder({key, group, v[0]});
    p.unroll(key);
  }
}

void CpuAttention::scheduleQuery() {
  computeInTile(queryT);
  fixTile(queryT, false);
  p.boundStorage(queryT, 1, headDim);
  SmallVector<Loop> v = p.loops(queryT);
  if (byKeys) {
    p.boundExtent(queryT, 0, rowTile);
    p.boundExtent(queryT, 1, headDim);
    p.reorderStorage(queryT, {1, 0, 2, 3, 4});
    auto [vectors, lane] = p.split(v[1], lanes);
    p.reorder({lane, vectors, v[0]});
    p.vectorize(lane);
    return;
  }
  p.boundExtent(queryT, 0, rowTile);
  if (scheduleTransposed(queryT))
    return;
  auto [vectors, lane] = splitRows(queryT, v[0], rowTile);
  p.reorder({v[1], lane, vectors});
  p.unroll(vectors);
}

/// A tile in registers, computed at `at`: vectors along dimension 0, everything unrolled;
/// in the update the reduction is outermost, and returned.
Loop CpuAttention::scheduleRegisterTile(Func f, Loop at, int64_t extent, int64_t otherDim,
                                        int64_t otherExtent) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, /*perChunk=*/true);
  p.boundExtent(f, otherDim, otherExtent);
  Loop reduction;
  for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    SmallVector<Loop> v = p.loops(f, update);
    reduction = v.back();
    auto [vectors, lane] = update ? p.split(v[0], lanes) : splitRows(f, v[0], extent);
    if (update) {
      p.vectorize(lane);
      p.reorder({lane, vectors, v[otherDim], v.back()});
    }
    p.unroll(vectors);
    p.unroll(v[otherDim]);
    p.neverPartition(f, update);
  }
  return reduction;
}

void CpuAttention::scheduleContext() {
  computeInTile(acc);
  fixTile(acc, /*perChunk=*/false);
  p.boundExtent(acc, 1, numBlocks);
  p.boundExtent(acc, 2, rowTile);
  SmallVector<Loop> v = p.loops(acc); // x y ii it h b
  auto [columns, lane] = splitRows(acc, v[0], isOneChunk ? block : block + lanes);
  p.unroll(columns);
  Loop group;
  if (isOneChunk) {
    auto [rowGroup, row] = p.split(v[2], contextRows);
    p.reorder({lane, columns, row, v[1], rowGroup});
    p.unroll(row);
    group = v[1];
    chunkLoop = tileLoop;
  } else {
    group = scheduleOnlineContext();
  }

  Loop parts = scheduleRegisterTile(product, group, block, /*otherDim=*/2, contextRows);
  p.boundExtent(product, 1, 1);
  if (Value(productPart)) {
    p.storeIn(product, MemoryType::stack);
    scheduleRegisterTile(productPart, parts, block, /*otherDim=*/2, contextRows);
    p.boundExtent(productPart, 1, 1);
    p.boundExtent(productPart, 3, 1);
  }
  if (Value(paddedValue))
    schedulePaddedValue();
  computeInTile(inverse);
  fixTile(inverse, /*perChunk=*/false);
  if (byKeys)
    p.boundExtent(inverse, 0, rowTile);
  else
    splitRows(inverse, p.loops(inverse)[0], rowTile);
}

/// Returns the loop over groups of rows.
Loop CpuAttention::scheduleOnlineContext() {
  p.allowRaceConditions(acc, 0);
  p.neverPartition(acc, 0);
  SmallVector<Loop> v = p.loops(acc, 0); // ii it h b rx ry rc
  auto [group, row] = p.split(v[0], contextRows);
  auto [columns, lane] = p.split(v[4], lanes);
  p.reorder({lane, columns, row, group, v[5], v[1], v[6], v[2], v[3]});
  p.vectorize(lane);
  p.unroll(columns);
  p.unroll(row);
  chunkLoop = v[1];
  return group;
}

void CpuAttention::schedulePaddedValue() {
  computeInChunk(paddedValue);
  p.boundStorage(paddedValue, 1, chunk);
  splitRows(paddedValue, p.loops(paddedValue)[0], numBlocks * block);
  p.vectorizeBy(p.loops(paddedValue, 0).back(), lanes);
  p.neverPartition(paddedValue, 0);
}

void CpuAttention::scheduleWideKey() {
  computeInChunk(wideKey);
  p.boundExtent(wideKey, 0, headDim);
  p.boundStorage(wideKey, 1, chunk);
  p.vectorizeBy(p.loops(wideKey)[0], lanes);
}

/// Keys innermost in memory, and always a whole chunk of them: all extents are constant.
void CpuAttention::layOutByKeys(Func f) {
  computeInChunk(f);
  p.boundExtent(f, 0, rowTile);
  p.boundExtent(f, 1, chunk);
  p.reorderStorage(f, {1, 0, 2, 3, 4, 5});
}

void CpuAttention::scheduleScoresByKeys() {
  for (Func f : {score, dot}) {
    layOutByKeys(f);
    SmallVector<Loop> v = p.loops(f);
    auto [vectors, lane] = p.split(v[1], lanes);
    p.reorder({lane, vectors, v[0]});
    p.vectorize(lane);
  }
  SmallVector<Loop> v = p.loops(dot, 0); // ii k c it h b rl
  auto [rowGroup, row] = p.split(v[0], scoreRows);
  auto [keyGroup, key] = p.split(v[1], scoreKeys);
  p.reorder({v.back(), row, key, rowGroup, keyGroup});
  p.atomic(dot, 0);
  p.vectorize(v.back());
  p.unroll(row);
  p.unroll(key);
  p.neverPartition(dot, 0);
  scheduleLaneParts(dotPart, rowGroup, scoreRows, scoreKeys);
}

/// Sums over every lanes-th dim, in registers, for `rows` and `keys`.
void CpuAttention::scheduleLaneParts(Func f, Loop at, int64_t rows, int64_t keys) {
  p.computeAt(f, at);
  p.storeIn(f, MemoryType::register_);
  fixTile(f, /*perChunk=*/true);
  p.boundExtent(f, 1, rows);
  p.boundExtent(f, 2, keys);
  splitRows(f, p.loops(f)[0], lanes);
  SmallVector<Loop> v = p.loops(f, 0); // j ii k c it h b rd
  p.reorder({v[0], v[1], v[2], v.back()});
  p.vectorizeBy(v[0], lanes, TailStrategy::automatic);
  for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    SmallVector<Loop> loops = update ? v : p.loops(f);
    p.unroll(loops[1]);
    p.unroll(loops[2]);
    p.neverPartition(f, update);
  }
}

void CpuAttention::scheduleScores() {
  if (byKeys)
    return scheduleScoresByKeys();
  scheduleStaged(staged, chunkLoop);
  if (Value(wideKey))
    scheduleWideKey();
  computeInChunk(score);
  p.boundStorage(score, 1, chunk);
  p.boundExtent(score, 0, rowTile);
  scheduleScoreTile(score, dot, dotPart);
  if (!Value(endFull))
    return;
  SmallVector<Loop> v = p.loops(score, 0); // ii c it h b rk
  auto [vectors, lane] = p.split(v[0], lanes);
  p.vectorize(lane);
  p.unroll(vectors);
  p.reorder({lane, vectors, v.back()});
  p.neverPartition(score, 0);
}

/// Rows and keys in tiles, whose dot products are sums in registers. Both passes sum alike: where
/// their scores differ in rounding, weights of the second do not fit the sum of the first.
void CpuAttention::scheduleScoreTile(Func f, Func dots, Func dotParts) {
  SmallVector<Loop> v = p.loops(f);
  auto [keyGroup, key] = p.split(v[1], scoreKeys, TailStrategy::round_up);
  auto [rowGroup, row] = p.split(v[0], lanes * scoreRows);
  auto [vectors, lane] = p.split(row, lanes);
  p.reorder({lane, vectors, key, rowGroup, keyGroup});
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(key);
  Loop dims = scheduleRegisterTile(dots, rowGroup, lanes * scoreRows, /*otherDim=*/1, scoreKeys);
  if (Value(dotParts)) {
    p.boundExtent(dotParts, 2, 1);
    dims = scheduleRegisterTile(dotParts, dims, lanes * scoreRows, /*otherDim=*/1, scoreKeys);
  }
  // Fewer instructions for the same products. Beside a mask that is evaluated for every key, what
  // it reads of the rows would not be kept over such a loop, but read anew for each few keys.
  bool readsRows = !Value(endFull) && staged.empty();
  if (constexpr int64_t kUnrolled = 4; headDim / countSums() % kUnrolled == 0 && !readsRows)
    p.unroll(p.split(dims, kUnrolled).second);
}

void CpuAttention::scheduleWeights() {
  scheduleChains(maxChains, maximum);
  scheduleChains(sumChains, sum);
  scheduleWeightsOf(weights);
  if (!op.getProbMod().empty())
    scheduleWeightsOf(modified);
}

void CpuAttention::scheduleChains(Func chains, Func all) {
  computeInChunk(all);
  if (!byKeys) {
    auto [vectors, lane] = splitRows(all, p.loops(all)[0], rowTile);
    scheduleRegisterTile(chains, vectors, lanes, /*otherDim=*/1, numChains);
    return;
  }
  p.boundExtent(all, 0, rowTile);
  p.computeAt(chains, p.loops(all)[0]);
  p.storeIn(chains, MemoryType::stack);
  fixTile(chains, /*perChunk=*/true);
  p.boundExtent(chains, 0, 1);
  p.boundExtent(chains, 1, numChains);
  p.vectorize(p.loops(chains)[1]);
  SmallVector<Loop> v = p.loops(chains, 0); // ii u c it h b rk
  p.reorder({v[1], v[0], v.back()});
  p.vectorizeBy(v[1], lanes, TailStrategy::automatic);
  p.neverPartition(chains, 0);
}

void CpuAttention::scheduleWeightsOf(Func f) {
  if (byKeys) {
    layOutByKeys(f);
    SmallVector<Loop> v = p.loops(f);
    auto [vectors, lane] = p.split(v[1], lanes);
    p.reorder({lane, vectors, v[0]});
    return p.vectorize(lane);
  }
  computeInChunk(f);
  p.boundStorage(f, 1, chunk);
  p.unroll(splitRows(f, p.loops(f)[0], rowTile).first);
}

void CpuAttention::scheduleExactContext() {
  for (Func f : {worst, exactChunks, worstOfLane, exactContext}) {
    computeInTile(f);
    fixTile(f, /*perChunk=*/false);
  }
  p.neverPartition(worst, 0);
  splitRows(worstOfLane, p.loops(worstOfLane)[0], lanes);
  SmallVector<Loop> w = p.loops(worstOfLane, 0); // x it h b rx ry ri
  auto [worstVectors, worstLane] = p.split(w[0], lanes);
  p.vectorize(worstLane);
  p.reorder({worstLane, worstVectors, w[4], w[5], w[6]});

  p.boundExtent(exactContext, 1, rowTile);
  splitRows(exactContext, p.loops(exactContext)[0], numBlocks * block);
  SmallVector<Loop> v = p.loops(exactContext, 0); // x ii it h b rc, then parts
  auto [blocks, column] = p.split(v[0], block);
  auto [vectors, lane] = p.split(column, lanes);
  auto [rowGroup, row] = p.split(v[1], contextRows);
  p.vectorize(lane);
  SmallVector<Loop> order = {lane, vectors, row, blocks, rowGroup};
  llvm::append_range(order, ArrayRef(v).drop_front(6));
  order.append({v[2], v[5], v[3], v[4]});
  p.reorder(order);
  p.neverPartition(exactContext, 0);
  scheduleRegisterTile(exactProduct, blocks, block, /*otherDim=*/1, contextRows);
  if (countParts() > 1)
    p.boundExtent(exactProduct, 2, 1);

  scheduleStaged(exactStaged, v[2]);
  scheduleExactWeights(v[2]);
}

/// With keys in the lanes all in one func, else as in the first pass.
void CpuAttention::scheduleExactWeights(Loop at) {
  SmallVector<Func> funcs = {exactWeight};
  if (!byKeys)
    funcs.append({exactScore, exactKept});
  if (!byKeys && !op.getProbMod().empty())
    funcs.push_back(exactModified);
  for (Func f : funcs) {
    p.computeAt(f, at);
    p.storeIn(f, MemoryType::stack);
    fixTile(f, /*perChunk=*/true);
    p.boundStorage(f, 1, chunk);
    p.neverPartition(f);
    p.boundExtent(f, 0, rowTile);
  }
  if (byKeys)
    return scheduleExactDot(p.loops(exactWeight)[0]);
  scheduleScoreTile(exactScore, exactDot, exactDotPart);
  for (Func f : funcs)
    if (Value(f) != Value(exactScore))
      p.unroll(splitRows(f, p.loops(f)[0], rowTile).first);
}

/// Sums as the scores did: other roundings of large scores would give other weights.
void CpuAttention::scheduleExactDot(Loop at) {
  p.computeAt(exactDot, at);
  p.storeIn(exactDot, MemoryType::register_);
  fixTile(exactDot, /*perChunk=*/true);
  p.neverPartition(exactDot, 0);
  SmallVector<Loop> v = p.loops(exactDot, 0); // ii k c it h b, then parts
  p.boundExtent(exactDot, 0, 1);
  p.atomic(exactDot, 0);
  p.vectorize(v.back());
  scheduleLaneParts(exactDotPart, v[0], /*rows=*/1, /*keys=*/1);
}
