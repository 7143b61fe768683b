//===- KeyRange.h - the range of keys of a tile of rows ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H

#include "AttentionTile.h"
#include "MaskBounds.h"

namespace mlir::attn {

/// The mask of a tile, which may pack several heads.
class TileMask {
public:
  TileMask(const AttentionTile &tile, MaskAnalysis &mask) : tile(tile), mask(mask) {}

  /// The condition that bounds the keys of a tile; opaque if it depends on the head and the tile
  /// packs several.
  const MaskCondition &getBounded() const;
  /// Whether the bounds are exact: no tighter range could be found by evaluating the mask.
  bool isComplete() const { return !mask.hasMask() || getBounded().isComplete(); }
  bool startsAtFirst() const;
  /// Whether the keys that all rows of a tile see are one contiguous, known range.
  bool hasFullKeys() const { return isComplete() && mask.isConjunction(); }
  bool hasMask() const { return mask.hasMask(); }
  bool isConjunction() const { return mask.isConjunction(); }
  /// Emits the bounds of the keys that `rows` rows from `first` on see.
  KeyBounds emitBounds(Scalar first, int64_t rows, const TileCoords &t, SeenBy seenBy) const;

  const AttentionTile &tile;

private:
  MaskAnalysis &mask;
};

/// The range of keys [low, high) that a tile visits, as funcs.
struct KeyRange {
  Func low, high;

  Scalar lowAt(const TileCoords &t) const { return low(t.it, t.h, t.b); }
  Scalar highAt(const TileCoords &t) const { return high(t.it, t.h, t.b); }
  Scalar count(const TileCoords &t) const;
};

/// Builds the range of keys that a tile's rows may see by the mask's comparisons. With KV splits:
/// the range of a split, in whole chunks.
KeyRange buildKeyRange(const TileMask &mask);

/// The number of chunks of `range`.
Func buildChunks(const AttentionTile &tile, const KeyRange &range);

/// A search for visible keys: the first and last key that some row of a tile sees, as the maxima of
/// -key and key + 1, per lane and over all lanes; the range before and after the search.
struct KeySearch {
  KeyRange before;
  Func edgeOfLane, edge;
  KeyRange found;
};

/// Evaluates the mask of every row of a tile over `range` before the scores, to skip the products
/// of keys outside.
KeySearch buildKeySearch(const AttentionTile &tile, AttentionRegions &regions,
                         const KeyRange &range, int64_t lanes);

/// The range of keys that every row of a tile sees: the mask is evaluated only outside of it. Also
/// the range that some row of a group of `rowsOfGroup` rows sees, null without a mask.
struct FullKeys {
  Func first, end;
  Func groupLow, groupHigh;

  bool areKnown() const { return Value(end) != Value(); }
};
FullKeys buildFullKeys(const TileMask &mask, const KeyRange &range, int64_t rowsOfGroup);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H
