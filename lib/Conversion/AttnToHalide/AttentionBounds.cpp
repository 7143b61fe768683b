//===- AttentionBounds.cpp - which keys a tile of rows looks at -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the first key that some row of a tile sees to the last: of comparisons in the mask by
// interval arithmetic, and of anything else by looking at the mask before the scores.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"

using namespace mlir;
using namespace mlir::attn;

/// Query heads for each head of key and value.
Scalar AttentionLowering::group() {
  int64_t qHeads = op.getQuery().getType().getDimSize(1);
  int64_t kvHeads = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(qHeads) || ShapedType::isDynamic(kvHeads))
    return p.extent(query, 2) / p.extent(key_, 2);
  return p.i32(kvHeads == 0 ? 1 : qHeads / kvHeads);
}

/// What bounds the keys of all rows of a tile: nothing that differs between its heads.
const MaskCondition &AttentionLowering::getBounded() const {
  static const MaskCondition opaque;
  return sharedHeads != 1 && mask.dependsOnHead() ? opaque : mask.getCondition();
}

/// The keys that some of `rows` rows from `first` on see, or that all of them do.
KeyBounds AttentionLowering::maskBounds(Scalar first, int64_t rows, const TileCoords &t,
                                        SeenBy seenBy) {
  if (!mask.hasMask())
    return {};
  Scalar last = min(first + (rows - 1), numRows - 1);
  return emitKeyBounds(p, op.getMask(), getBounded(), {t.b, t.h, first, last}, seenBy);
}

void AttentionLowering::buildBounds() {
  bool isComplete = !mask.hasMask() || getBounded().isComplete();
  startsAtFirst = keySplits == 1 && isComplete && !getBounded().hasLowestKey();
  auto bounds = [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    return maskBounds(tile(t) * rowsOfHead, rowsOfHead, t, SeenBy::anyRow);
  };
  StringRef vars[] = {"it", "h", "b"};
  Type i32 = p.b().getI32Type();
  auto lowest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).low;
    return known ? clamp(*known, p.i32(0), numKeys) : p.i32(0);
  };
  auto highest = [&](ArrayRef<Scalar> v) {
    auto known = bounds(v).high;
    return known ? clamp(*known, p.i32(0), numKeys) : numKeys;
  };
  // A part is whole chunks.
  auto part = [&](ArrayRef<Scalar> v) {
    Scalar chunks = (max(highest(v) - lowest(v), 0) + (chunk - 1)) / chunk;
    Scalar length = (chunks + (parts - 1)) / parts * chunk;
    return onGpu ? length : max(length, llvm::alignTo(leastPart, chunk));
  };
  low = p.func("low", vars, i32, [&](ArrayRef<Scalar> v) {
    return keySplits == 1 ? lowest(v) : lowest(v) + v[0] % parts * part(v);
  });
  high = p.func("high", vars, i32, [&](ArrayRef<Scalar> v) {
    return keySplits == 1 ? highest(v) : min(highest(v), low(v) + part(v));
  });
  if (!isComplete && hasRowsInLanes())
    buildSearch();
  // Of alternatives, the keys that all rows see need not be next to each other.
  if (isComplete && hasRowsInLanes() && mask.isConjunction())
    buildInnerBounds();
  chunks = p.func("chunks", vars, i32, [&](ArrayRef<Scalar> v) {
    return (max(high(v) - low(v), 0) + (chunk - 1)) / chunk;
  });
  kvHead = p.func("kv_head", {"h"}, i32, [&](ArrayRef<Scalar> v) {
    return unsafePromiseClamped(v[0] * sharedHeads / group(), p.i32(0), p.extent(key_, 2) - 1);
  });
}

/// The keys that all rows of a tile see, next to which alone is looked key by key; and the keys
/// that some row of a group of the context's rows sees.
void AttentionLowering::buildInnerBounds() {
  Type i32 = p.b().getI32Type();
  StringRef vars[] = {"g", "it", "h", "b"};
  ArrayRef<StringRef> tileVars = ArrayRef(vars).drop_front();
  auto lowest = [&](const TileCoords &t, const KeyBounds &known) {
    Scalar all = low(t.it, t.h, t.b);
    return known.low ? max(*known.low, all) : all;
  };
  auto highest = [&](const TileCoords &t, const KeyBounds &known) {
    Scalar all = high(t.it, t.h, t.b);
    return known.high ? min(*known.high, all) : all;
  };
  auto full = [&](const TileCoords &t) {
    return maskBounds(t.it * rowTile, rowTile, t, SeenBy::allRows);
  };
  auto ofGroup = [&](ArrayRef<Scalar> v) {
    TileCoords t(v);
    Scalar first = min(t.it * rowTile + v[0] * contextRows, numRows - 1);
    return maskBounds(first, contextRows, t, SeenBy::anyRow);
  };
  firstFull = p.func("first_full", tileVars, i32, [&](ArrayRef<Scalar> v) {
    return lowest(TileCoords(v), full(TileCoords(v)));
  });
  endFull = p.func("end_full", tileVars, i32,
                   [&](ArrayRef<Scalar> v) { return highest(TileCoords(v), full(TileCoords(v))); });
  if (op.getMask().empty())
    return;
  groupLow = p.func("group_low", vars, i32,
                    [&](ArrayRef<Scalar> v) { return lowest(TileCoords(v), ofGroup(v)); });
  groupHigh = p.func("group_high", vars, i32,
                     [&](ArrayRef<Scalar> v) { return highest(TileCoords(v), ofGroup(v)); });
}

/// Looks at the mask of every row of a tile, for the keys between the bounds so far. That
/// reads what the kernel reads anyway, and saves the products of all keys outside.
void AttentionLowering::buildSearch() {
  Type i32 = p.b().getI32Type();
  searchLow = low;
  searchHigh = high;
  Scalar wholeVectors = numKeys / lanes;
  StringRef vars[] = {"x", "y", "it", "h", "b"};
  auto nothing = [&](Scalar y) { return select(y == p.i32(0), p.i32(0) - numKeys, p.i32(0)); };
  edgeOfLane = p.func("edge_of_lane", vars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[1]); });
  auto seenEdge = [&](Scalar k, Scalar row, Scalar y, const TileCoords &t) {
    Scalar q = min(t.it * rowTile + row, numRows - 1);
    Scalar seen = inlined(op.getMask(), {t.b, t.h, q, k}, Scalar());
    return Value(seen) ? select(seen, select(y == p.i32(0), p.i32(0) - k, k + 1), nothing(y))
                       : nothing(y);
  };
  p.update(edgeOfLane, vars, {{"rk", wholeVectors}, {"rr", p.i32(rowTile)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             Scalar first = r[0] * lanes;
             return {max(edgeOfLane(v), seenEdge(first + v[0], r[1], v[1], t)),
                     {},
                     first < searchHigh(t.it, t.h, t.b) &&
                         first + lanes > searchLow(t.it, t.h, t.b)};
           });
  p.update(edgeOfLane, ArrayRef(vars).drop_front(),
           {{"rk", numKeys % lanes}, {"rr", p.i32(rowTile)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             TileCoords t(v);
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             Scalar k = wholeVectors * lanes + r[0];
             return {max(edgeOfLane(at), seenEdge(k, r[1], v[0], t)), at};
           });
  StringRef edgeVars[] = {"y", "it", "h", "b"};
  edge = p.func("edge", edgeVars, i32, [&](ArrayRef<Scalar> v) { return nothing(v[0]); });
  p.update(edge, edgeVars, {{"rl", p.i32(lanes)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             return max(edge(v), edgeOfLane(at));
           });
  StringRef tileVars[] = {"it", "h", "b"};
  low = p.func("first_seen", tileVars, i32,
               [&](ArrayRef<Scalar> v) { return p.i32(0) - edge(p.i32(0), v[0], v[1], v[2]); });
  high = p.func("end_seen", tileVars, i32,
                [&](ArrayRef<Scalar> v) { return edge(p.i32(1), v[0], v[1], v[2]); });
}
