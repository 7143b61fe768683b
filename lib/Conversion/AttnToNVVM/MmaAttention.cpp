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
    : k(builder, op.getLoc(), name), op(op), element(op.getQuery().getType().getElementType()),
      sizes(op, s.getQBlock(), s.getKvBlock()), threads(s.getQBlock() / kTileRows * kLanes),
      query(k.input("query", op.getQuery())), key(k.input("key", op.getKey())),
      value(k.input("value", op.getValue())), qLen(query.sizes[2]), kvLen(key.sizes[2]),
      queryTile(k, 0, sizes.qBlock, sizes.keyRowBytes(), threads),
      keyTile(k, sizes.keyOffset(), sizes.kvBlock, sizes.keyRowBytes(), threads),
      valueTile(k, sizes.valueOffset(), sizes.kvBlock, sizes.valueRowBytes(), threads),
      unit(getUnit(op)), scoreMod(k, op.getScoreMod()), mask(k, op.getMask()),
      probMod(k, op.getProbMod()) {
  if (op.getSink())
    sink = k.input("sink", op.getSink());
  if (!op.getPages())
    return;
  pages = {k.input("pages", op.getPages()), std::nullopt, Reg(), min(key.sizes[0], value.sizes[0]),
           key.sizes[2]};
  if (op.getLengths())
    pages->lengths = k.input("lengths", op.getLengths());
  kvLen = pages->entries.sizes[1] * pages->pageSize;
}

/// Blocks of the last rows, which see most keys of a causal mask, start first.
Place MmaAttention::findPlace() {
  Place p;
  p.warp = k.thread / kLanes;
  p.lane = k.thread % kLanes;
  Reg tiles = (qLen + (sizes.qBlock - 1)) / sizes.qBlock, rest = k.block / tiles;
  Reg heads = query.sizes[1];
  p.firstRow = (tiles - 1 - k.block % tiles) * sizes.qBlock;
  p.head = rest % heads;
  p.batch = rest / heads;
  p.kvHead = p.head / (heads / key.sizes[1]);
  for (int64_t r : {0, 1}) {
    p.row[r] = p.firstRow + p.warp * kTileRows + p.lane / 4 + 8 * r;
    p.safeRow[r] = min(p.row[r], qLen - 1);
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
  QueryRows rows{at.batch, at.head, at.firstRow, min(at.firstRow + (sizes.qBlock - 1), qLen - 1)};
  visible = findVisibleKeys(k, op.getMask(), rows, kvLen);
  full = findFullKeys(k, op.getMask(), rows, visible);
  if (pages)
    pages->batch = at.batch;
  keys = getRows(key);
  values = getRows(value);
}

void MmaAttention::copyQuery() {
  queryTile.startCopies(Matrix::ofHead(k, query, at.batch, at.head), at.firstRow, qLen);
}

Regs MmaAttention::loadQuery(int64_t depth) {
  return queryTile.loadLeft(at.warp * kTileRows, depth);
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
  context = k.output("context", op.getResult().getType());
  if (op.getLse())
    lse = k.output("lse", op.getLse().getType());
  storeContext(state);
  k.when(isAnyNotFinite(state), [&] { recompute(state); });
  return k.finish({{0, 2, sizes.qBlock}, {0, 1, 1}, {0, 0, 1}}, threads, sizes.sharedBytes());
}
