//===- KeyRange.cpp - the range of keys of a tile of rows -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range from the first to the last key that some row of a tile sees: from the mask's
// comparisons by interval arithmetic, for other masks by evaluating them before the scores.
//
//===----------------------------------------------------------------------===//

#include "KeyRange.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

const MaskCondition &TileMask::getBounded() const {
  static const MaskCondition opaque;
  return tile.packedHeads != 1 && mask.dependsOnHead() ? opaque : mask.getCondition();
}

bool TileMask::startsAtFirst() const {
  return !tile.splits.isSplit() && isComplete() && !getBounded().hasLowestKey();
}

KeyBounds TileMask::emitBounds(Scalar first, int64_t rows, const TileCoords &t,
                               SeenBy seenBy) const {
  if (!mask.hasMask())
    return {};
  Scalar last = min(first + (rows - 1), tile.in.numRows - 1);
  return emitKeyBounds(tile.p, tile.in.op.getMask(), getBounded(), {t.b, t.h, first, last}, seenBy);
}

Scalar KeyRange::count(const TileCoords &t) const { return highAt(t) - lowAt(t); }

KeyRange attn::buildKeyRange(const TileMask &mask) {
  const AttentionTile &tile = mask.tile;
  PipelineBuilder &p = tile.p;
  const KvSplits &splits = tile.splits;
  Scalar numKeys = tile.in.numKeys;
  StringRef vars[] = {"it", "h", "b"};
  Type i32 = p.b().getI32Type();
  auto bounds = [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    return mask.emitBounds(tile.rowTile(t) * tile.rowsOfHead, tile.rowsOfHead, t, SeenBy::anyRow);
  };
  auto lowest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).low;
    return known ? clamp(*known, p.i32(0), numKeys) : p.i32(0);
  };
  auto highest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).high;
    return known ? clamp(*known, p.i32(0), numKeys) : numKeys;
  };
  auto splitLength = [&](ArrayRef<Scalar> v) {
    Scalar chunks = (max(highest(v) - lowest(v), 0) + (tile.chunk - 1)) / tile.chunk;
    Scalar length = (chunks + (splits.count - 1)) / splits.count * tile.chunk;
    return splits.minKeys ? max(length, llvm::alignTo(splits.minKeys, tile.chunk)) : length;
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

Func attn::buildChunks(const AttentionTile &tile, const KeyRange &range) {
  StringRef vars[] = {"it", "h", "b"};
  return tile.p.func("chunks", vars, tile.p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    return (max(range.high(v) - range.low(v), 0) + (tile.chunk - 1)) / tile.chunk;
  });
}

FullKeys attn::buildFullKeys(const TileMask &mask, const KeyRange &range, int64_t rowsOfGroup) {
  const AttentionTile &tile = mask.tile;
  PipelineBuilder &p = tile.p;
  Type i32 = p.b().getI32Type();
  StringRef vars[] = {"g", "it", "h", "b"};
  ArrayRef<StringRef> tileVars = ArrayRef(vars).drop_front();
  auto lowest = [&](const TileCoords &t, const KeyBounds &known) {
    Scalar all = range.lowAt(t);
    return known.low ? max(*known.low, all) : all;
  };
  auto highest = [&](const TileCoords &t, const KeyBounds &known) {
    Scalar all = range.highAt(t);
    return known.high ? min(*known.high, all) : all;
  };
  auto full = [&](const TileCoords &t) {
    return mask.emitBounds(t.it * tile.rows, tile.rows, t, SeenBy::allRows);
  };
  auto ofGroup = [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar first = min(t.it * tile.rows + v[0] * rowsOfGroup, tile.in.numRows - 1);
    return mask.emitBounds(first, rowsOfGroup, t, SeenBy::anyRow);
  };
  FullKeys keys;
  keys.first = p.func("first_full", tileVars, i32, [&](ArrayRef<Scalar> v) {
    return lowest(TileCoords(v), full(TileCoords(v)));
  });
  keys.end = p.func("end_full", tileVars, i32, [&](ArrayRef<Scalar> v) {
    return highest(TileCoords(v), full(TileCoords(v)));
  });
  if (!mask.hasMask())
    return keys;
  keys.groupLow = p.func("group_low", vars, i32,
                         [&](ArrayRef<Scalar> v) { return lowest(TileCoords(v), ofGroup(v)); });
  keys.groupHigh = p.func("group_high", vars, i32,
                          [&](ArrayRef<Scalar> v) { return highest(TileCoords(v), ofGroup(v)); });
  return keys;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

KeySearch attn::buildKeySearch(const AttentionTile &tile, AttentionRegions &regions,
                               const KeyRange &range, int64_t lanes) {
  PipelineBuilder &p = tile.p;
  const AttentionInputs &in = tile.in;
  Type i32 = p.b().getI32Type();
  KeySearch search;
  search.before = range;
  Scalar wholeVectors = in.numKeys / lanes;
  StringRef vars[] = {"x", "y", "it", "h", "b"};
  auto nothing = [&](Scalar y) { return select(y == p.i32(0), p.i32(0) - in.numKeys, p.i32(0)); };
  Func edgeOfLane =
      p.func("edge_of_lane", vars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[1]); });
  auto seenEdge = [&](Scalar k, Scalar row, Scalar y, const TileCoords &t) {
    Scalar q = min(t.it * tile.rows + row, in.numRows - 1);
    Scalar seen = regions.inlined(in.op.getMask(), {t.b, t.h, q, k}, Scalar());
    return Value(seen) ? select(seen, select(y == p.i32(0), p.i32(0) - k, k + 1), nothing(y))
                       : nothing(y);
  };
  p.update(edgeOfLane, vars, {{"rk", wholeVectors}, {"rr", p.i32(tile.rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar first = r[0] * lanes;
             return {max(edgeOfLane(v), seenEdge(first + v[0], r[1], v[1], t)),
                     {},
                     first < range.highAt(t) && first + lanes > range.lowAt(t)};
           });
  p.update(edgeOfLane, ArrayRef(vars).drop_front(),
           {{"rk", in.numKeys % lanes}, {"rr", p.i32(tile.rows)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
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
  StringRef tileVars[] = {"it", "h", "b"};
  search.edgeOfLane = edgeOfLane;
  search.edge = edge;
  search.found.low = p.func("first_seen", tileVars, i32, [&](ArrayRef<Scalar> v) {
    return p.i32(0) - edge(p.i32(0), v[0], v[1], v[2]);
  });
  search.found.high = p.func("end_seen", tileVars, i32,
                             [&](ArrayRef<Scalar> v) { return edge(p.i32(1), v[0], v[1], v[2]); });
  return search;
}
