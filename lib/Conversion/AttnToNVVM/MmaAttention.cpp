//===- MmaAttention.cpp - fused attention on tensor cores -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread block computes a query block, 16 or 32 rows a warp. The query stays in registers as left
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

MmaAttention::MmaAttention(OpBuilder &builder, StringRef name, AttentionOp op, MmaAttr schedule)
    : FragmentAttention(builder, name, op, {op, schedule}, TileLayout::rows,
                        getPartialTypes(op, schedule)) {}

/// The block's keys are in shared memory.
RowState MmaAttention::addBlock(RowState state, Reg first) {
  waitForCopies(k);
  synchronize(); // all read the last values
  valueTile.startCopies(*values, first, visible.high);
  Regs scores = buildScores(multiplyKeys(), first);
  waitForCopies(k);
  synchronize(); // all read the keys
  Reg next = first + sizes.kvBlock;
  k.when(next < visible.high, [&] { keyTile.startCopies(*keys, next, visible.high); });
  state = addNumerators(state, scores);
  modifyNumerators(scores, first);
  addContext(state, scores);
  return state;
}

void MmaAttention::compute() {
  findKeys();
  copyQuery();
  k.when(visible.low < visible.high,
         [&] { keyTile.startCopies(*keys, visible.low, visible.high); });
  waitForCopies(k);
  synchronize();
  if (sizes.keepsQuery())
    for (int64_t depth = 0; depth < sizes.headDim; depth += kTileDepth)
      queries.push_back(loadQuery(depth));
  Regs end = k.loop(visible.low, visible.high, sizes.kvBlock, startRows().pack(),
                    [&](Reg first, ArrayRef<Reg> regs) {
                      return addBlock(RowState::unpack(regs, countRows()), first).pack();
                    });
  finishRows(RowState::unpack(end, countRows()));
}

BuiltKernel MmaAttention::build() {
  whenServed([&] { compute(); });
  return k.finish(countBlocks(), threads, sizes.sharedBytes());
}
