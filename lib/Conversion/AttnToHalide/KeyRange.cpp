//===- KeyRange.cpp - the range of keys of a query block ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range from the first to the last key that some row of a query block sees: from the mask's
// comparisons by interval arithmetic, for other masks by evaluating them before the scores.
//
//===----------------------------------------------------------------------===//

#include "KeyRange.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

const MaskCondition &QBlockMask::getBounded() const {
  static const MaskCondition opaque;
  return blocks.packedHeads != 1 && mask.dependsOnHead() ? opaque : mask.getCondition();
}

bool QBlockMask::startsAtFirst() const {
  return !blocks.splits.isSplit() && isComplete() && !getBounded().hasLowestKey();
}

KeyBounds QBlockMask::emitBounds(Scalar first, int64_t rows, const BlockCoords &t,
                                 SeenBy seenBy) const {
  if (!mask.hasMask())
    return {};
  return emitKeyBounds(blocks.p, blocks.in.op.getMask(), getBounded(), rowsFrom(first, rows, t),
                       seenBy);
}

QueryRows QBlockMask::rowsFrom(Scalar first, int64_t rows, const BlockCoords &t) const {
  return {blocks.batch(t), t.h, first, min(first + (rows - 1), blocks.lastRow(blocks.qBlock(t)))};
}

Scalar KeyRange::count(const BlockCoords &t) const { return highAt(t) - lowAt(t); }

KeyRange attn::buildKeyRange(const QBlockMask &mask) {
  const AttentionBlocks &blocks = mask.blocks;
  PipelineBuilder &p = blocks.p;
  const KvSplits &splits = blocks.splits;
  Scalar numKeys = blocks.in.numKeys;
  StringRef vars[] = {"it", "h", "b"};
  Type i32 = p.b().getI32Type();
  auto bounds = [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    return mask.emitBounds(blocks.firstRow(blocks.qBlock(t)), blocks.rowsOfHead, t, SeenBy::anyRow);
  };
  auto lowest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).low;
    return known ? clamp(*known, p.i32(0), numKeys) : p.i32(0);
  };
  auto highest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).high;
    Scalar high = known ? clamp(*known, p.i32(0), numKeys) : numKeys;
    if (blocks.packed) // none of a block without rows
      high = min(high, min(blocks.packed->countRows(blocks.qBlock(BlockCoords(v))), 1) * numKeys);
    if (blocks.in.kv.arePacked()) // of its own, whatever a caller writes to the offsets meanwhile
      high = min(high, numKeys - blocks.in.kv.startOf(blocks.batch(BlockCoords(v))));
    return high;
  };
  auto splitLength = [&](ArrayRef<Scalar> v) {
    Scalar kvBlocks = (max(highest(v) - lowest(v), 0) + (blocks.kvBlock - 1)) / blocks.kvBlock;
    Scalar length = (kvBlocks + (splits.count - 1)) / splits.count * blocks.kvBlock;
    return splits.minKeys ? max(length, llvm::alignTo(splits.minKeys, blocks.kvBlock)) : length;
  };
  KeyRange range;
  range.low = p.func("low", vars, i32, [&](ArrayRef<Scalar> v) {
    return splits.isSplit() ? lowest(v) + v[0] % splits.count * splitLength(v) : lowest(v);
  });
  range.high = p.func("high", vars, i32, [&](ArrayRef<Scalar> v) {
    return splits.isSplit() ? min(highest(v), range.low(v) + splitLength(v)) : highest(v);
  });
  return range;
}

/// The range that begins first ends in KV block `gapBlock`; the other one, cut where they overlap,
/// begins `gapKeys` after that block.
void attn::findGap(const QBlockMask &mask, KeyRange &range) {
  const AttentionBlocks &blocks = mask.blocks;
  if (!mask.hasMask() || !mask.getBounded().hasTwoRanges())
    return;
  PipelineBuilder &p = blocks.p;
  StringRef vars[] = {"it", "h", "b"};
  Type i32 = p.b().getI32Type();
  auto ranges = [&](const BlockCoords &t) {
    return emitTwoRanges(p, blocks.in.op.getMask(), mask.getBounded(),
                         mask.rowsFrom(blocks.firstRow(t.it), blocks.rowsOfHead, t));
  };
  auto within = [&](std::optional<Scalar> key, Func otherwise, const BlockCoords &t) {
    Scalar low = range.lowAt(t), high = max(range.highAt(t), low);
    return key ? clamp(*key, low, high) : otherwise(t.it, t.h, t.b);
  };
  range.gapBlock = p.func("gap_block", vars, i32, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    auto [x, y] = ranges(t);
    Scalar isXFirst = within(x.low, range.low, t) <= within(y.low, range.low, t);
    Scalar end = select(isXFirst, within(x.high, range.high, t), within(y.high, range.high, t));
    return (max(end - range.lowAt(t), 0) + (blocks.kvBlock - 1)) / blocks.kvBlock;
  });
  range.gapKeys = p.func("gap_keys", vars, i32, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    auto [x, y] = ranges(t);
    Scalar second = max(within(x.low, range.low, t), within(y.low, range.low, t));
    return max(second - range.lowAt(t) - range.gapBlock(v) * blocks.kvBlock, 0);
  });
}

Func attn::buildKvBlocks(const AttentionBlocks &blocks, const KeyRange &range) {
  StringRef vars[] = {"it", "h", "b"};
  return blocks.p.func("kv_blocks", vars, blocks.p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    Scalar keys = range.high(v) - range.low(v);
    if (range.hasGap())
      keys = keys - range.gapKeys(v);
    return (max(keys, 0) + (blocks.kvBlock - 1)) / blocks.kvBlock;
  });
}

/// The most rows of a head among `rows` neighbours, of `packedHeads` heads each.
static int64_t countRows(int64_t rows, int64_t packedHeads) {
  bool isAligned = rows % packedHeads == 0 || packedHeads % rows == 0;
  return llvm::divideCeil(rows, packedHeads) + (isAligned ? 0 : 1);
}

FullKeys attn::buildFullKeys(const QBlockMask &mask, const KeyRange &range, int64_t rowsOfGroup) {
  const AttentionBlocks &blocks = mask.blocks;
  PipelineBuilder &p = blocks.p;
  Type i32 = p.b().getI32Type();
  StringRef vars[] = {"g", "it", "h", "b"};
  ArrayRef<StringRef> qBlockVars = ArrayRef(vars).drop_front();
  auto lowest = [&](const BlockCoords &t, const KeyBounds &known) {
    Scalar all = range.lowAt(t);
    return known.low ? max(*known.low, all) : all;
  };
  auto highest = [&](const BlockCoords &t, const KeyBounds &known) {
    Scalar all = range.highAt(t);
    return known.high ? min(*known.high, all) : all;
  };
  auto full = [&](const BlockCoords &t) {
    return mask.emitBounds(blocks.firstRow(blocks.qBlock(t)), blocks.rowsOfHead, t,
                           SeenBy::allRows);
  };
  auto ofGroup = [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar qBlock = blocks.qBlock(t), row = v[0] * rowsOfGroup / blocks.packedHeads;
    Scalar first = min(blocks.firstRow(qBlock) + row, blocks.lastRow(qBlock));
    return mask.emitBounds(first, countRows(rowsOfGroup, blocks.packedHeads), t, SeenBy::anyRow);
  };
  FullKeys keys;
  keys.first = p.func("first_full", qBlockVars, i32, [&](ArrayRef<Scalar> v) {
    return lowest(BlockCoords(v), full(BlockCoords(v)));
  });
  keys.end = p.func("end_full", qBlockVars, i32, [&](ArrayRef<Scalar> v) {
    return highest(BlockCoords(v), full(BlockCoords(v)));
  });
  if (!mask.hasMask())
    return keys;
  keys.groupLow = p.func("group_low", vars, i32,
                         [&](ArrayRef<Scalar> v) { return lowest(BlockCoords(v), ofGroup(v)); });
  keys.groupHigh = p.func("group_high", vars, i32,
                          [&](ArrayRef<Scalar> v) { return highest(BlockCoords(v), ofGroup(v)); });
  return keys;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

KeySearch attn::buildKeySearch(const AttentionBlocks &blocks, AttentionRegions &regions,
                               const KeyRange &range, int64_t lanes) {
  PipelineBuilder &p = blocks.p;
  const AttentionInputs &in = blocks.in;
  Type i32 = p.b().getI32Type();
  KeySearch search;
  search.before = range;
  Scalar wholeVectors = in.numKeys / lanes;
  StringRef vars[] = {"x", "y", "it", "h", "b"};
  auto nothing = [&](Scalar y) { return select(y == p.i32(0), p.i32(0) - in.numKeys, p.i32(0)); };
  Func edgeOfLane =
      p.func("edge_of_lane", vars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[1]); });
  auto seenEdge = [&](Scalar k, Scalar row, Scalar y, const BlockCoords &t) {
    Scalar seen = regions.inlined(
        in.op.getMask(), {blocks.batch(t), blocks.head(row, t), blocks.row(row, t), k}, Scalar());
    return Value(seen) ? select(seen, select(y == p.i32(0), p.i32(0) - k, k + 1), nothing(y))
                       : nothing(y);
  };
  p.update(edgeOfLane, vars, {{"rk", wholeVectors}, {"rr", p.i32(blocks.rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar first = r[0] * lanes;
             return {max(edgeOfLane(v), seenEdge(first + v[0], r[1], v[1], t)),
                     {},
                     first < range.highAt(t) && first + lanes > range.lowAt(t)};
           });
  p.update(edgeOfLane, ArrayRef(vars).drop_front(),
           {{"rk", in.numKeys % lanes}, {"rr", p.i32(blocks.rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             Scalar k = wholeVectors * lanes + r[0];
             return {max(edgeOfLane(at), seenEdge(k, r[1], v[0], t)), at};
           });
  StringRef edgeVars[] = {"y", "it", "h", "b"};
  Func edge = p.func("edge", edgeVars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[0]); });
  p.update(edge, edgeVars, {{"rl", p.i32(lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             return max(edge(v), edgeOfLane(at));
           });
  StringRef qBlockVars[] = {"it", "h", "b"};
  search.edgeOfLane = edgeOfLane;
  search.edge = edge;
  // Whole vectors are searched: keys of other KV splits may be found, too.
  search.found.low = p.func("first_seen", qBlockVars, i32, [&](ArrayRef<Scalar> v) {
    return max(p.i32(0) - edge(p.i32(0), v[0], v[1], v[2]), range.low(v));
  });
  search.found.high = p.func("end_seen", qBlockVars, i32, [&](ArrayRef<Scalar> v) {
    return min(edge(p.i32(1), v[0], v[1], v[2]), range.high(v));
  });
  return search;
}
