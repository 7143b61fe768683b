//===- MmaAttention.cpp - fused attention on tensor cores -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread block computes a query block, 16 rows a warp. The query stays in registers as left
// operands. For each KV block: wait for its keys, start to copy its values, multiply keys, wait for
// the values, start to copy the next keys, numerators, multiply values. Scores, numerators and
// context stay in registers: the tiles of numerators are left operands of the next product as they
// are (FlashAttention 2, arXiv:2307.08691).
//
//===----------------------------------------------------------------------===//

#include "MmaAttention.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

/// The factor of a score as it is in registers that makes it one in units of log 2: the scale is
/// part of it where it can be.
static double getUnit(AttentionOp op) {
  constexpr double kSmallest = 1e-30, kLargest = 1e30;
  double scale = op.getScale().convertToDouble();
  bool isPlain = op.getScoreMod().empty() && scale >= kSmallest && scale <= kLargest;
  return isPlain ? scale * kLog2E : kLog2E;
}

MmaAttention::MmaAttention(OpBuilder &builder, StringRef name, AttentionOp op, MmaAttr s)
    : k(builder, op.getLoc(), name), op(op), schedule(s),
      element(op.getQuery().getType().getElementType()), sizes(op, s),
      threads(s.getQBlock() / kTileRows * kLanes), query(k.input("query", op.getQuery())),
      key(k.input("key", op.getKey())), value(k.input("value", op.getValue())),
      qLen(query.sizes[2]), kvLen(key.sizes[2]),
      queryTile(k, 0, sizes.qBlock, sizes.keyRowBytes(), threads),
      keyTile(k, sizes.keyOffset(), sizes.kvBlock, sizes.keyRowBytes(), threads),
      valueTile(k, sizes.valueOffset(), sizes.kvBlock, sizes.valueRowBytes(), threads),
      unit(getUnit(op)), scoreMod(k, op.getScoreMod()), mask(k, op.getMask()),
      probMod(k, op.getProbMod()) {
  if (!op.getPages())
    return;
  pages.emplace();
  pages->entries = k.input("pages", op.getPages());
  pages->numHeads = key.sizes[1];
  pages->numPages = min(key.sizes[0], value.sizes[0]);
  pages->pageSize = key.sizes[2];
  if (op.getPageOffsets())
    pages->offsets = k.input("page_offsets", op.getPageOffsets());
  if (op.getLengths())
    pages->lengths = k.input("lengths", op.getLengths());
  kvLen = pages->getMaxPages() * pages->pageSize;
}

/// Blocks of the last rows, which see most keys of a causal mask, start first.
Place MmaAttention::findPlace() {
  Place p;
  Reg rest = k.block;
  auto take = [&](Reg count) {
    Reg index = rest % count;
    rest = rest / count;
    return index;
  };
  int64_t rows = sizes.rowsOfHead(), packed = sizes.packedHeads;
  Reg heads = query.sizes[1], tiles = (qLen + (rows - 1)) / rows;
  p.warp = k.thread / kLanes;
  p.lane = k.thread % kLanes;
  p.split = sizes.kvSplits == 1 ? k.i32(0) : take(k.i32(sizes.kvSplits));
  p.firstRow = (tiles - 1 - take(tiles)) * rows;
  p.firstHead = take(heads / packed) * packed;
  p.batch = rest;
  p.kvHead = p.firstHead / (heads / key.sizes[1]);
  for (int64_t r : {0, 1}) {
    Reg number = p.warp * kTileRows + p.lane / 4 + 8 * r;
    p.head[r] = packed == 1 ? p.firstHead : p.firstHead + number % packed;
    p.row[r] = p.firstRow + (packed == 1 ? number : number / packed);
    p.safeRow[r] = min(p.row[r], qLen - 1);
    p.isRow[r] = p.row[r] < qLen;
    if (rows * packed < sizes.qBlock)
      p.isRow[r] = p.isRow[r] & (number < rows * packed);
  }
  p.column = p.lane % 4 * 2;
  return p;
}

/// Keys or values of the block's head, in order.
Matrix MmaAttention::getRows(const Buffer &buffer) {
  return pages ? Matrix::ofPages(k, buffer, *pages, at.kvHead)
               : Matrix::ofHead(k, buffer, at.batch, at.kvHead);
}

/// All that a loop over keys needs.
void MmaAttention::start() {
  readPosition(k);
  at = findPlace();
  Reg lastRow = min(at.firstRow + (sizes.rowsOfHead() - 1), qLen - 1);
  QueryRows rows{at.batch, at.firstHead, at.firstRow, lastRow, sizes.packedHeads == 1};
  visible = findVisibleKeys(k, op.getMask(), rows, kvLen);
  full = findFullKeys(k, op.getMask(), rows, visible);
  if (sizes.kvSplits != 1)
    visible = getKeysOfSplit(visible);
  if (pages)
    pages->batch = at.batch;
  keys = getRows(key);
  values = getRows(value);
}

/// Whole KV blocks, the same number for each split but the last ones.
KeyRange MmaAttention::getKeysOfSplit(KeyRange all) {
  int64_t keysAtOnce = sizes.kvSplits * sizes.kvBlock;
  Reg count = max(all.high - all.low, k.i32(0));
  Reg keys = (count + (keysAtOnce - 1)) / keysAtOnce * sizes.kvBlock;
  Reg low = min(all.low + at.split * keys, all.high);
  return {low, min(low + keys, all.high)};
}

void MmaAttention::copyQuery() {
  int64_t packed = sizes.packedHeads;
  Reg end = min(at.firstRow + sizes.rowsOfHead(), qLen) * packed;
  queryTile.startCopies(Matrix::ofPackedHeads(k, query, at.batch, at.firstHead, packed),
                        at.firstRow * packed, end);
}

Regs MmaAttention::loadQuery(int64_t depth) {
  return queryTile.loadLeft(at.warp * kTileRows, /*above=*/0, depth);
}

BuiltKernel MmaAttention::build() {
  start();
  copyQuery();
  k.when(visible.low < visible.high,
         [&] { keyTile.startCopies(*keys, visible.low, visible.high); });
  waitForCopies(k);
  barrier(k);
  if (sizes.keepsQuery())
    for (int64_t depth = 0; depth < sizes.headDim; depth += kTileDepth)
      queries.push_back(loadQuery(depth));

  auto step = [&](Reg first, ArrayRef<Reg> regs) {
    RowState state = RowState::unpack(regs);
    waitForCopies(k);
    barrier(k); // all read the last values
    valueTile.startCopies(*values, first, visible.high);
    Regs scores = buildScores(first);
    waitForCopies(k);
    barrier(k); // all read the keys
    Reg next = first + sizes.kvBlock;
    k.when(next < visible.high, [&] { keyTile.startCopies(*keys, next, visible.high); });
    state = addNumerators(state, scores);
    modifyNumerators(scores, first);
    addContext(state, scores);
    return state.pack();
  };
  Regs end = k.loop(visible.low, visible.high, sizes.kvBlock, startRows().pack(), step);
  RowState state = RowState::unpack(end);
  reduceSums(state);
  addOutputs();
  storeContext(state);
  k.when(isAnyNotFinite(state), [&] { recompute(state); });
  SmallVector<cuda::KernelOp::Blocks> blocks = {
      {0, 2, 1, sizes.rowsOfHead()}, {0, 1, 1, sizes.packedHeads}, {0, 0, 1, 1}};
  if (sizes.kvSplits != 1)
    blocks.push_back({k.countInputs(), 0, 1, 1});
  return k.finish(blocks, threads, sizes.sharedBytes());
}
