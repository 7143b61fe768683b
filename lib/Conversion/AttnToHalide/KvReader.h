//===- KvReader.h - keys and values by KV block -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H

#include "KeyRange.h"

namespace mlir::attn {

/// Reads elements of keys and values, in f32. Kernels address a key by KV block and offset.
class KvReader {
  /// The locality of prefetches into L2.
  static constexpr int64_t kL2 = 2;

public:
  KvReader(const AttentionBlocks &blocks, const KeyRange &range, Func kvHead, Func start = {})
      : blocks(blocks), range(range), kvHead(kvHead), start(start) {}

  /// The position of key k of KV block c, visible or not.
  Scalar number(Scalar k, Scalar c, const BlockCoords &t) const;
  /// The same, clamped to the visible range; key 0 if it is empty.
  Scalar visibleNumber(Scalar k, Scalar c, const BlockCoords &t) const;
  /// Whether key k of KV block c is visible.
  Scalar isVisible(Scalar k, Scalar c, const BlockCoords &t) const;
  /// The number of visible keys from key k of KV block c on, of all KV blocks; none if below 1.
  Scalar countVisible(Scalar k, Scalar c, const BlockCoords &t) const;

  Scalar key(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;
  /// Whether a key has one scale, which may multiply its dot products instead of its elements.
  bool hasKeyScale() const { return blocks.in.kv.getKeyScales().count == 1; }
  /// An element of a key without the key's scale, if it has one.
  Scalar unscaledKey(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;
  /// `dot` times the key's scale, if it has one.
  Scalar scaledDot(Scalar dot, Scalar k, Scalar c, const BlockCoords &t) const;
  Scalar value(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;
  /// The value of a key, without its scale if scales are looked up; only visible keys' results are
  /// used.
  Scalar valueOfVisible(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;

  /// Dim d of a visible key as it is stored.
  Scalar keyElement(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;
  /// Pairs of bf16: dims 2·pair and 2·pair + 1 of a key; one dim of values 2·pair and 2·pair + 1.
  Scalar keyPair(Scalar pair, Scalar k, Scalar c, const BlockCoords &t) const;
  Scalar valuePair(Scalar d, Scalar pair, Scalar c, const BlockCoords &t) const;

  /// Has the place of each key of a KV block computed once, if it takes more than the key's number:
  /// the caller schedules `rowInPage` and `page`. `ofAllHeads`: once for all heads of a task, which
  /// see the same keys, unless a table has pages of head groups. `areRuns`: once for neighbouring
  /// keys of a page; KV blocks begin at multiples of their size, and elements of invisible keys may
  /// be of any row of the page.
  void lookUpPages(bool areRuns, bool ofAllHeads = false);
  /// Has the scales of a KV block widened once: the caller schedules `keyScales` and `valueScales`.
  void lookUpScales();
  /// Has reads prefetch that many keys ahead, with that locality; those of keys, `fetches` times,
  /// each at half the distance. Groups of rows repeat those of values. `kvBlocks` KV blocks ahead,
  /// if not 0, the rows of a task's heads are prefetched into L2 as well, in the order of memory.
  void fetchAhead(int64_t keys, int64_t fetches = 1, int64_t locality = kL2, int64_t kvBlocks = 0);
  /// The number of neighbouring keys whose reads prefetch heads of one key, `kvBlocks` ahead; 1 if
  /// they don't.
  int64_t countKeysOfRun() const;
  /// The most keys behind a KV block that its reads prefetch.
  int64_t countKeysAhead() const;
  /// Distributes the prefetches of a group of `tileKeys` keys over the reads of its dot products,
  /// which take `unrolledDims` dims at a time: each cache line of the keys, and of their values, is
  /// prefetched once. Leaves prefetches as they are where a row is no multiple of half a line, or
  /// where values lie outside of keys and have other dims.
  void distributeFetches(int64_t tileKeys, int64_t unrolledDims);
  /// A reader in whose reads each key is looked up.
  KvReader withoutLookUps() const;
  /// A reader that prefetches nothing.
  KvReader withoutFetches() const;
  /// An element of `copy`, of a KV block's keys, whose reads prefetch as those of the keys would.
  Scalar copiedKey(Func copy, Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
    return fetchKeyAhead(copy(d, k, c, t.it, t.h, t.b), d, k, c, t);
  }

  const AttentionBlocks &blocks;
  const KeyRange range;
  const Func kvHead;
  /// The first row of a query block's sequence among packed keys; null if they are not packed.
  const Func start;
  /// By run of keys of a KV block, those of its first key; null if keys are in order, or not looked
  /// up.
  Func rowInPage, page;
  /// Keys of a run, rows of one page side by side: `areRuns` of `lookUpPages`.
  int64_t keysOfPageRun = 1;
  /// Whether they are looked up for head 0 alone, as all heads of a task have the same.
  bool sharesPages = false;
  /// By block of dims and key of a KV block; null without scales, or if they are not looked up.
  Func keyScales, valueScales;
  /// How many keys further on reads prefetch, how often, and into which cache; and how many KV
  /// blocks.
  int64_t ahead = 0, fetches = 1, locality = kL2, blocksAhead = 0;

private:
  struct Fetch {
    Scalar d, k;
  };
  /// The element of a group that the read of dim d of key k prefetches.
  Fetch getFetch(Scalar d, Scalar k) const;
  /// Returns x, an element of key k, or a pair of them, and prefetches that of a later key.
  Scalar fetchKeyAhead(Scalar x, Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;
  Scalar fetchValueAhead(Scalar x, Scalar d, Scalar k, Scalar c, const BlockCoords &t) const;
  KvTensors::Place placeOf(Scalar number, Scalar k, Scalar c, const BlockCoords &t) const;
  /// An element of a key without any scale.
  Scalar keyElement(Scalar d, KvTensors::Place place, Scalar k, Scalar c,
                    const BlockCoords &t) const;
  /// `x` times its scale, if it has one; `known` holds scales looked up.
  Scalar scaled(Scalar x, const KvTensors::Scales &scales, Func known, Scalar d,
                KvTensors::Place place, Scalar k, Scalar c, const BlockCoords &t) const;
  Scalar clampToVisible(Scalar n, const BlockCoords &t) const;
  Scalar isHeadDone(Scalar c, const BlockCoords &t) const;
  Scalar isLastOfTask(const BlockCoords &t) const;
  struct Row {
    KvTensors::Place place;
    Scalar head;
  };
  /// The row that is read `keys` keys after key k of KV block c.
  Row rowAhead(Scalar k, Scalar c, const BlockCoords &t, int64_t keys) const;
  /// The key of a KV block, or behind it, that is read so many keys after key k: of interleaved
  /// heads, the next one reads the same keys.
  Scalar keyAhead(Scalar k, int64_t keys, const BlockCoords &t) const;
  Scalar headAhead(Scalar k, Scalar c, const BlockCoords &t, int64_t keys) const;
  /// The row that the read of key k prefetches `blocksAhead` KV blocks ahead.
  Row rowBlocksAhead(Scalar k, Scalar c, const BlockCoords &t) const;
  /// Visits the rows that the read of key k prefetches: `ahead` keys further on, `times` in all,
  /// each at half the distance; and `blocksAhead` KV blocks further on.
  void visitRowsAhead(Scalar k, Scalar c, const BlockCoords &t, int64_t times,
                      function_ref<void(const Row &row, int64_t intoLocality)> visit) const;
  /// The place, and the position, of key k, which may be behind KV block c; behind the last one, of
  /// the first keys again.
  KvTensors::Place placeAhead(Scalar k, Scalar c, const BlockCoords &t) const;
  Scalar numberAhead(Scalar k, Scalar c, const BlockCoords &t) const;
  /// The key/value heads of a task.
  int64_t countHeadsOfTask() const;
  Scalar promiseHead(Scalar head) const;

  /// If prefetches are distributed, or 0; and whether reads of keys prefetch values.
  int64_t tileKeys = 0, unrolledDims = 0;
  bool fetchesValues = false;
};

/// The key/value head that a query block reads.
Func buildKvHead(const AttentionBlocks &blocks);
/// The first row of a query block's sequence among packed keys; null if they are not packed.
Func buildKvStart(const AttentionBlocks &blocks);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H
