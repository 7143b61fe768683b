//===- FragmentAttention.cpp - attention in fragments of lanes ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a thread block is, and which keys it visits; the end of its rows.
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

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

FragmentAttention::FragmentAttention(OpBuilder &builder, StringRef name, AttentionOp op,
                                     TensorCoreTiles sizes, TileLayout layout,
                                     SmallVector<RankedTensorType> partialTypes)
    : k(builder, op.getLoc(), name), op(op), element(op.getQuery().getType().getElementType()),
      sizes(sizes), partialTypes(std::move(partialTypes)),
      threads(sizes.qBlock / sizes.warpRows * kLanes), query(k.input("query", op.getQuery())),
      key(k.input("key", op.getKey())), value(k.input("value", op.getValue())), kvLen(key.sizes[2]),
      queryTile(k, 0, sizes.qBlock, sizes.keyRowBytes(), threads, layout),
      keyTile(k, sizes.keyOffset(), sizes.kvBlock, sizes.keyRowBytes(), threads, layout),
      valueTile(k, sizes.valueOffset(), sizes.kvBlock, sizes.valueRowBytes(), threads, layout),
      unit(getUnit(op)), scoreMod(k, op.getScoreMod()), mask(k, op.getMask()),
      probMod(k, op.getProbMod()) {
  if (op.getOffsets()) {
    sequences.emplace(k, "offsets", op.getOffsets(), query.sizes[2]);
    served = {op.getServedBefore(sizes.maxQLen), sizes.maxQLen};
  }
  if (op.getKvOffsets())
    packedKeys.emplace(k, "kv_offsets", op.getKvOffsets(), key.sizes[2]);
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
Place FragmentAttention::findPlace() {
  Place p;
  Reg rest = k.block;
  auto take = [&](Reg count) {
    Reg index = rest % count;
    rest = rest / count;
    return index;
  };
  int64_t rows = sizes.rowsOfHead(), packed = sizes.packedHeads;
  Reg heads = query.sizes[1], tiles = countTiles();
  p.warp = k.thread / kLanes;
  p.lane = k.thread % kLanes;
  p.split = sizes.kvSplits == 1 ? k.i32(0) : take(k.i32(sizes.kvSplits));
  Reg tile = tiles - 1 - take(tiles);
  p.firstRow = tile * rows;
  p.firstHead = take(heads / packed) * packed;
  p.batch = rest;
  p.qLen = query.sizes[2];
  if (sequences)
    findPackedRows(p, tile);
  p.kvHead = p.firstHead / (heads / key.sizes[1]);
  for (int64_t r = 0; r < countRows(); ++r) {
    Reg number = p.warp * sizes.warpRows + p.lane / 4 + 8 * r;
    p.head.push_back(packed == 1 ? p.firstHead : p.firstHead + number % packed);
    p.row.push_back(p.firstRow + (packed == 1 ? number : number / packed));
    p.safeRow.push_back(min(p.row[r], p.qLen - 1));
    Reg isRow = p.row[r] < p.qLen;
    p.isRow.push_back(rows * packed < sizes.qBlock ? isRow & (number < rows * packed) : isRow);
  }
  p.column = p.lane % 4 * 2;
  return p;
}

/// Whether each sequence that the kernel computes has one tile of rows, and each offset a block.
bool FragmentAttention::hasTileOfEach() const {
  return served.limit && served.limit <= sizes.rowsOfHead();
}

/// Of a head. A sequence's tiles are numbered behind those of the sequences before, of which each
/// has one that is not full.
Reg FragmentAttention::countTiles() {
  int64_t rows = sizes.rowsOfHead();
  if (sequences && hasTileOfEach())
    return sequences->countOffsets();
  Reg tiles = (query.sizes[2] + (rows - 1)) / rows;
  return sequences ? tiles + sequences->countOffsets() : tiles;
}

/// Rows are safe whatever a caller writes to the offsets meanwhile.
void FragmentAttention::findPackedRows(Place &p, Reg tile) {
  int64_t rows = sizes.rowsOfHead();
  auto firstTileOf = [&](Reg sequence, Reg start) { return start / rows + sequence; };
  auto endOf = [&](Reg sequence) {
    return firstTileOf(sequence + 1, sequences->startOf(sequence + 1));
  };
  p.batch = hasTileOfEach() ? tile : sequences->find(tile, endOf);
  p.start = sequences->startOf(p.batch);
  p.qLen = sequences->lengthOf(p.batch, p.start);
  p.firstRow =
      hasTileOfEach() ? k.i32(0) : max(tile - firstTileOf(p.batch, p.start), k.i32(0)) * rows;
  p.isServed = (p.firstRow < p.qLen) & served.contain(p.qLen);
}

/// Keys or values of the block's head, in order.
Matrix FragmentAttention::getRows(const Buffer &buffer) {
  Matrix rows = pages ? Matrix::ofPages(k, buffer, *pages, at.kvHead)
                      : Matrix::ofHead(k, buffer, getKeyBatch(), at.kvHead, firstKey);
  if (hasAlignedRows)
    rows.isAligned = rows.isAligned.constant(1);
  return rows;
}

Matrix FragmentAttention::getQueryRows() {
  Matrix rows =
      Matrix::ofPackedHeads(k, query, getQueryBatch(), at.firstHead, sizes.packedHeads, at.start);
  if (hasAlignedRows)
    rows.isAligned = rows.isAligned.constant(1);
  return rows;
}

void FragmentAttention::findBlock() {
  readPosition(k);
  at = findPlace();
}

void FragmentAttention::whenServed(function_ref<void()> body) {
  findBlock();
  sequences ? k.when(at.isServed, body) : body();
}

void FragmentAttention::findKeys() {
  Reg lastRow = min(at.firstRow + (sizes.rowsOfHead() - 1), at.qLen - 1);
  if (packedKeys) {
    firstKey = packedKeys->startOf(at.batch);
    kvLen = key.sizes[2] - firstKey;
  }
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
KeyRange FragmentAttention::getKeysOfSplit(KeyRange all) {
  int64_t keysAtOnce = sizes.kvSplits * sizes.kvBlock;
  Reg count = max(all.high - all.low, k.i32(0));
  Reg keys = (count + (keysAtOnce - 1)) / keysAtOnce * sizes.kvBlock;
  Reg low = min(all.low + at.split * keys, all.high);
  return {low, min(low + keys, all.high)};
}

void FragmentAttention::copyQuery() {
  int64_t packed = sizes.packedHeads;
  Reg end = min(at.firstRow + sizes.rowsOfHead(), at.qLen) * packed;
  queryTile.startCopies(getQueryRows(), at.firstRow * packed, end);
}

SmallVector<Regs> FragmentAttention::loadQuery(int64_t depth) {
  SmallVector<Regs> left;
  for (int64_t row = 0; row < sizes.warpRows; row += kTileRows)
    left.push_back(queryTile.loadLeft(at.warp * sizes.warpRows, row, depth));
  return left;
}

/// Where the block is is computed anew, to hold no registers in the loop over keys.
void FragmentAttention::finishRows(RowState state) {
  findBlock();
  reduceSums(state);
  addOutputs();
  storeContext(state);
  k.when(isAnyNotFinite(state), [&] { recompute(state); });
}

SmallVector<cuda::KernelOp::Blocks> FragmentAttention::countBlocks() {
  SmallVector<cuda::KernelOp::Blocks> blocks = {
      {0, 2, 1, sizes.rowsOfHead()}, {0, 1, 1, sizes.packedHeads}, {0, 0, 1, 1}};
  if (sequences) {
    int64_t offsets = k.numberOf(op.getOffsets());
    if (hasTileOfEach())
      blocks[0] = {offsets, 0, 1, 1};
    else
      blocks[0].addedBuffer = offsets;
  }
  if (sizes.kvSplits != 1)
    blocks.push_back({k.countInputs(), 0, 1, 1});
  return blocks;
}
