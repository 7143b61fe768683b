//===- KeyRange.h - which keys a tile of rows looks at ----------*- C++ -*-===//
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

/// The mask of a tile, whose heads may be several.
class TileMask {
public:
  TileMask(const AttentionTile &tile, MaskAnalysis &mask) : tile(tile), mask(mask) {}

  /// What bounds the keys of all rows of a tile: nothing that differs between its heads.
  const MaskCondition &getBounded() const;
  /// Whether the bounds are all that there is to know of which keys a tile sees.
  bool isComplete() const { return !mask.hasMask() || getBounded().isComplete(); }
  bool startsAtFirst() const;
  /// Whether the keys that all rows of a tile see are one known run.
  bool hasFullKeys() const { return isComplete() && mask.isConjunction(); }
  bool hasMask() const { return mask.hasMask(); }
  bool isConjunction() const { return mask.isConjunction(); }
  /// The bounds of the keys that `rows` rows from `first` on see.
  KeyBounds emitBounds(Scalar first, int64_t rows, const TileCoords &t, SeenBy seenBy) const;

  const AttentionTile &tile;

private:
  MaskAnalysis &mask;
};

/// Funcs of a tile: the keys [low, high) that it looks at.
struct KeyRange {
  Func low, high;

  Scalar lowAt(const TileCoords &t) const { return low(t.it, t.h, t.b); }
  Scalar highAt(const TileCoords &t) const { return high(t.it, t.h, t.b); }
  Scalar count(const TileCoords &t) const;
};

/// Builds the keys that a tile's rows may see by the mask's comparisons; of a tile whose keys are
/// split, one part of them, which is whole chunks.
KeyRange buildKeyRange(const TileMask &mask);

/// The number of chunks of `range`.
Func buildChunks(const AttentionTile &tile, const KeyRange &range);

/// What a search for keys builds: the least and the largest key that some row of a tile sees, as
/// -key and key + 1, of each lane and of all; before it and after it, the ranges.
struct KeySearch {
  KeyRange before;
  Func edgeOfLane, edge;
  KeyRange found;
};

/// Looks at the mask of every row of a tile, for the keys of `range`. That reads what the kernel
/// reads anyway, and saves the products of all keys outside.
KeySearch buildKeySearch(const AttentionTile &tile, AttentionRegions &regions,
                         const KeyRange &range, int64_t lanes);

/// The keys that every row of a tile sees, beside which alone the mask is evaluated; and the
/// keys that some row of a group of `rowsOfGroup` rows sees, null where there is no mask.
struct FullKeys {
  Func first, end;
  Func groupLow, groupHigh;

  bool areKnown() const { return Value(end) != Value(); }
};
FullKeys buildFullKeys(const TileMask &mask, const KeyRange &range, int64_t rowsOfGroup);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H
