//===- KeyRange.h - the range of keys of a query block ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H

#include "AttentionBlocks.h"
#include "MaskBounds.h"

namespace mlir::attn {

/// The mask of a query block, which may pack several heads.
class QBlockMask {
public:
  QBlockMask(const AttentionBlocks &blocks, MaskAnalysis &mask) : blocks(blocks), mask(mask) {}

  /// The condition that bounds the keys of a query block; opaque if it depends on the head and the
  /// query block packs several.
  const MaskCondition &getBounded() const;
  /// Whether the bounds are exact: no tighter range could be found by evaluating the mask.
  bool isComplete() const { return !mask.hasMask() || getBounded().isComplete(); }
  bool startsAtFirst() const;
  /// Whether the range that the mask's comparisons bound begins at key 0; that of a KV split, whole
  /// KV blocks behind it.
  bool startsWithKvBlock() const { return !getBounded().hasLowestKey(); }
  bool hasMask() const { return mask.hasMask(); }
  bool isConjunction() const { return mask.isConjunction(); }
  /// What a seen key fulfils beside the bounds.
  SmallVector<Value> getOpenTerms() const;
  /// Emits the bounds of the keys that `rows` rows from `first` on see.
  KeyBounds emitBounds(Scalar first, int64_t rows, const BlockCoords &t, SeenBy seenBy) const;
  /// Emits the two ranges of a condition that has two.
  std::pair<KeyBounds, KeyBounds> emitTwoRanges(const BlockCoords &t, SeenBy seenBy) const;
  /// The rows of a query block.
  QueryRows rowsFrom(Scalar first, int64_t rows, const BlockCoords &t) const;

  const AttentionBlocks &blocks;

  MaskAnalysis &mask;
};

/// The range of keys [low, high) that a query block visits, as funcs.
struct KeyRange {
  Func low, high;
  /// Keys in the middle that no row sees: they begin at `gapStart`, and those beyond the KV block
  /// that holds it are skipped, `gapKeys` before KV block `gapBlock`. Null if there are none;
  /// `gapStart` is `high` where a query block has none.
  Func gapStart, gapBlock, gapKeys;
  /// The first key of each KV block, of which some row sees a key; null if each begins where the
  /// one before ends.
  Func starts;
  /// Whether interleaved heads see the same keys: the funcs are read for head 0 alone.
  bool isShared = false;

  bool hasGap() const { return Value(gapKeys) != Value(); }
  bool hasStarts() const { return Value(starts) != Value(); }

  Scalar lowAt(const BlockCoords &t) const { return low(t.it, t.h, t.b); }
  Scalar highAt(const BlockCoords &t) const { return high(t.it, t.h, t.b); }
  Scalar count(const BlockCoords &t) const;
  /// The end of the keys that KV block c visits.
  Scalar endOf(Scalar c, const BlockCoords &t) const;
};

/// Builds the range of keys that a query block's rows may see by the mask's comparisons. With KV
/// splits: the range of a split, in whole KV blocks.
KeyRange buildKeyRange(const QBlockMask &mask);

/// The same for a CPU. Where keys are searched or lie in pages, constants of the mask are hidden
/// from bounds inference: Halide would take funcs of keys beyond such a constant for impossible,
/// and its checks fail for those of a call with more keys.
KeyRange buildCpuKeyRange(const QBlockMask &mask);

/// How many of a query block's KV splits the mask leaves keys, at least one, over query blocks and
/// batches: a call has as many splits as its longest sequence may ask for, of packed keys as all
/// sequences together. Null without a mask, and if it depends on the head.
Func buildUsedSplits(const QBlockMask &mask);

/// Finds the gap between the two ranges of keys that the mask's comparisons leave, if they may. The
/// query block has no KV splits.
void findGap(const QBlockMask &mask, KeyRange &range);

/// A func of query blocks that equals `f` at head 0; it is computed where it is used.
Func shareHeads(PipelineBuilder &p, StringRef name, Func f);
/// The same for a range.
KeyRange shareHeads(const AttentionBlocks &blocks, const KeyRange &range);

/// The number of KV blocks of `range`.
Func buildKvBlocks(const AttentionBlocks &blocks, const KeyRange &range);

/// A search for visible keys, in groups of as many keys as a vector has lanes. The mask's open
/// terms are evaluated for every key of a group and every row of a query block that they tell
/// apart.
struct KeySearch {
  /// The keys that are searched.
  KeyRange before;
  /// Whether heads see the same keys.
  bool isShared = false;
  /// `seen` holds the bits of a group of keys, two for each of `rowGroups` groups of rows: one if
  /// the terms are true for some pair of a row and a key, another if they are false for some. None
  /// outside `before`.
  Func seenOfLane, seenOfRest, seen;
  int64_t rowGroups = 1;
  /// The first group, from a given one on, of which some pair is seen, and of which not every pair
  /// is; else `groups`.
  Func nextSeen, nextPartial;
  KeyRange found;
  /// Keys of a group, and the number of groups.
  int64_t lanes = 1;
  Scalar groups;

  /// Whether some row of a group of rows sees a key of group g.
  Scalar isSeenBy(Scalar rowGroup, Scalar g, const BlockCoords &t) const;
  /// The first key from `key` on that lies in a group which `nextGroup` finds: `nextSeen` or
  /// `nextPartial`.
  Scalar findFrom(Scalar key, Func nextGroup, const BlockCoords &t) const;
};

/// Evaluates the mask over `range` before the scores, for all rows of a query block that it tells
/// apart. Of the keys of `range`, those before, after and, unless `isOneKvBlock`, between the KV
/// blocks with visible keys are skipped. If the mask is evaluated
/// for every row, and a query block has few groups of `rowsOfGroup` rows, also tells apart what
/// each group sees.
KeySearch buildKeySearch(const QBlockMask &mask, AttentionRegions &regions, const KeyRange &range,
                         int64_t lanes, int64_t rowsOfGroup, bool isOneKvBlock);

/// A range of keys that every row of a query block sees: the mask is evaluated only outside of it.
/// Beside a disjunction, the longer one of two ranges. Also the range that some row of a group of
/// `rowsOfGroup` rows sees, null without a mask or beside a search that does not tell groups apart.
struct FullKeys {
  Func first, end;
  /// The end of those in each KV block, by a search for keys that the mask's open terms hide from
  /// some row; null if its bounds are exact.
  Func ends;
  Func groupLow, groupHigh;

  bool areKnown() const { return Value(end) != Value(); }
  bool areSearched() const { return Value(ends) != Value(); }
  /// Their end in KV block c, or a later key.
  Scalar endIn(Scalar c, const BlockCoords &t) const;
};
FullKeys buildFullKeys(const QBlockMask &mask, const KeyRange &range,
                       const std::optional<KeySearch> &search, int64_t rowsOfGroup);

/// The keys that a query block visits.
struct VisitedKeys {
  KeyRange range;
  Func kvBlocks;
  FullKeys full;
};
/// Replaces funcs that are found for head 0 by those that read them, for any head, from a table,
/// which is returned: a row for each query block.
Func shareHeads(const AttentionBlocks &blocks, VisitedKeys &keys, int64_t rowGroups);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KEYRANGE_H
