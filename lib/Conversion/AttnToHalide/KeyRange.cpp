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
  return !blocks.splits.isSplit() && isComplete() && startsWithKvBlock();
}

KeyBounds QBlockMask::emitBounds(Scalar first, int64_t rows, const BlockCoords &t,
                                 SeenBy seenBy) const {
  if (!mask.hasMask())
    return {};
  return emitKeyBounds(blocks.p, blocks.in.op.getMask(), getBounded(), rowsFrom(first, rows, t),
                       seenBy);
}

std::pair<KeyBounds, KeyBounds> QBlockMask::emitTwoRanges(const BlockCoords &t,
                                                          SeenBy seenBy) const {
  Scalar qBlock = blocks.qBlock(t);
  return attn::emitTwoRanges(blocks.p, blocks.in.op.getMask(), getBounded(),
                             rowsFrom(blocks.firstRow(qBlock), blocks.rowsOfHead, t), seenBy);
}

QueryRows QBlockMask::rowsFrom(Scalar first, int64_t rows, const BlockCoords &t) const {
  return {blocks.batch(t), t.h, first, min(first + (rows - 1), blocks.lastRow(blocks.qBlock(t)))};
}

Scalar KeyRange::count(const BlockCoords &t) const { return highAt(t) - lowAt(t); }

Scalar KeyRange::endOf(Scalar c, const BlockCoords &t) const {
  return hasGap() ? select(c < gapBlock(t.it, t.h, t.b), gapStart(t.it, t.h, t.b), highAt(t))
                  : highAt(t);
}

namespace {
/// The keys that a query block may see, by the mask's comparisons, and their share in a KV split.
struct QBlockKeys {
  QBlockKeys(const QBlockMask &mask, const BlockCoords &t);

  Scalar low, high, splitLength;
};
} // namespace

QBlockKeys::QBlockKeys(const QBlockMask &mask, const BlockCoords &t) {
  const AttentionBlocks &blocks = mask.blocks;
  const KvSplits &splits = blocks.splits;
  PipelineBuilder &p = blocks.p;
  Scalar zero = p.i32(0), numKeys = blocks.in.numKeys, qBlock = blocks.qBlock(t);
  KeyBounds known = mask.emitBounds(blocks.firstRow(qBlock), blocks.rowsOfHead, t, SeenBy::anyRow);
  low = known.low ? clamp(*known.low, zero, numKeys) : zero;
  high = known.high ? clamp(*known.high, zero, numKeys) : numKeys;
  if (blocks.packed) // none of a block without rows
    high = min(high, min(blocks.packed->countRows(qBlock), 1) * numKeys);
  if (blocks.in.kv.arePacked()) // of its own, whatever a caller writes to the offsets meanwhile
    high = min(high, numKeys - blocks.in.kv.startOf(blocks.batch(t)));
  if (!splits.isSplit())
    return;
  Scalar kvBlocks = (max(high - low, 0) + (blocks.kvBlock - 1)) / blocks.kvBlock;
  splitLength = (kvBlocks + (splits.count - 1)) / splits.count * blocks.kvBlock;
  if (splits.minKeys)
    splitLength = max(splitLength, llvm::alignTo(splits.minKeys, blocks.kvBlock));
}

KeyRange attn::buildKeyRange(const QBlockMask &mask) {
  PipelineBuilder &p = mask.blocks.p;
  const KvSplits &splits = mask.blocks.splits;
  Type i32 = p.b().getI32Type();
  KeyRange range;
  range.low = p.func("low", kQBlockVars, i32, [&](ArrayRef<Scalar> v) {
    QBlockKeys keys(mask, BlockCoords(v));
    return splits.isSplit() ? keys.low + v[0] % splits.count * keys.splitLength : keys.low;
  });
  range.high = p.func("high", kQBlockVars, i32, [&](ArrayRef<Scalar> v) {
    QBlockKeys keys(mask, BlockCoords(v));
    return splits.isSplit() ? min(keys.high, range.low(v) + keys.splitLength) : keys.high;
  });
  return range;
}

Func attn::buildUsedSplits(const QBlockMask &mask) {
  const AttentionBlocks &blocks = mask.blocks;
  const KvSplits &splits = blocks.splits;
  if (!splits.isSplit() || !mask.hasMask() || mask.mask.dependsOnHead())
    return Func();
  PipelineBuilder &p = blocks.p;
  return p.func("used_splits", {"x", "b"}, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> firstSplit = {v[0] * splits.count, p.i32(0), v[1]};
    QBlockKeys keys(mask, BlockCoords(firstSplit));
    Scalar used = (max(keys.high - keys.low, 0) + (keys.splitLength - 1)) / keys.splitLength;
    return clamp(used, p.i32(1), splits.count);
  });
}

/// A func of the same values, none below 0, whose update changes nothing: bounds inference looks
/// only into pure funcs.
static Func hideConstants(const AttentionBlocks &blocks, StringRef name, Func known) {
  PipelineBuilder &p = blocks.p;
  Func hidden =
      p.func(name, kQBlockVars, p.b().getI32Type(), [&](ArrayRef<Scalar> v) { return known(v); });
  p.update(hidden, kQBlockVars, {}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar>) -> Update {
    return max(hidden(v), p.i32(0));
  });
  p.neverPartition(hidden, 0);
  return hidden;
}

KeyRange attn::buildCpuKeyRange(const QBlockMask &mask) {
  const AttentionBlocks &blocks = mask.blocks;
  KeyRange range = buildKeyRange(mask);
  if (!mask.hasMask() || (mask.isComplete() && !blocks.in.kv.arePaged()))
    return range;
  range.low = hideConstants(blocks, "first", range.low);
  range.high = hideConstants(blocks, "end", range.high);
  return range;
}

/// The range that begins first ends in KV block `gapBlock`; the other one, cut where they overlap,
/// begins `gapKeys` after that block.
void attn::findGap(const QBlockMask &mask, KeyRange &range) {
  const AttentionBlocks &blocks = mask.blocks;
  if (!mask.hasMask() || !mask.getBounded().hasTwoRanges())
    return;
  PipelineBuilder &p = blocks.p;
  Type i32 = p.b().getI32Type();
  auto within = [&](std::optional<Scalar> key, Func otherwise, const BlockCoords &t) {
    Scalar low = range.lowAt(t), high = max(range.highAt(t), low);
    return key ? clamp(*key, low, high) : otherwise(t.it, t.h, t.b);
  };
  auto endOfFirst = [&](const BlockCoords &t) {
    auto [x, y] = mask.emitTwoRanges(t, SeenBy::anyRow);
    Scalar isXFirst = within(x.low, range.low, t) <= within(y.low, range.low, t);
    return select(isXFirst, within(x.high, range.high, t), within(y.high, range.high, t));
  };
  range.gapBlock = p.func("gap_block", kQBlockVars, i32, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    return (max(endOfFirst(t) - range.lowAt(t), 0) + (blocks.kvBlock - 1)) / blocks.kvBlock;
  });
  range.gapKeys = p.func("gap_keys", kQBlockVars, i32, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    auto [x, y] = mask.emitTwoRanges(t, SeenBy::anyRow);
    Scalar second = max(within(x.low, range.low, t), within(y.low, range.low, t));
    return max(second - range.lowAt(t) - range.gapBlock(v) * blocks.kvBlock, 0);
  });
  range.gapStart = p.func("gap_start", kQBlockVars, i32, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    return select(range.gapKeys(v) > 0, endOfFirst(t), range.highAt(t));
  });
}

Func attn::shareHeads(PipelineBuilder &p, StringRef name, Func f) {
  if (!Value(f))
    return {};
  return p.func(name, kQBlockVars, p.b().getI32Type(),
                [&](ArrayRef<Scalar> v) { return f(v[0], p.i32(0), v[2]); });
}

KeyRange attn::shareHeads(const AttentionBlocks &blocks, const KeyRange &range) {
  PipelineBuilder &p = blocks.p;
  KeyRange shared;
  shared.low = shareHeads(p, "shared_low", range.low);
  shared.high = shareHeads(p, "shared_high", range.high);
  shared.gapStart = shareHeads(p, "shared_gap_start", range.gapStart);
  shared.gapBlock = shareHeads(p, "shared_gap_block", range.gapBlock);
  shared.gapKeys = shareHeads(p, "shared_gap_keys", range.gapKeys);
  return shared;
}

Func attn::buildKvBlocks(const AttentionBlocks &blocks, const KeyRange &range) {
  PipelineBuilder &p = blocks.p;
  Type i32 = p.b().getI32Type();
  if (range.hasStarts()) {
    Func count = p.func("kv_blocks", kQBlockVars, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
    p.update(count, kQBlockVars, {{"rn", blocks.maxKvBlocks()}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
               Scalar start = range.starts(r[0], v[0], v[1], v[2]);
               return count(v) + select(start < range.high(v), p.i32(1), p.i32(0));
             });
    return count;
  }
  return p.func("kv_blocks", kQBlockVars, i32, [&](ArrayRef<Scalar> v) {
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

Scalar FullKeys::endIn(Scalar c, const BlockCoords &t) const {
  return areSearched() ? ends(c, t.it, t.h, t.b) : end(t.it, t.h, t.b);
}

/// The end of the full keys of each KV block, and the range of keys that each group of rows sees.
static void findFull(FullKeys &keys, const AttentionBlocks &blocks, const KeyRange &range,
                     const KeySearch &search) {
  PipelineBuilder &p = blocks.p;
  StringRef blockVars[] = {"n", "it", "h", "b"};
  keys.ends = p.func("full_ends", blockVars, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar start = range.hasStarts() ? range.starts(v) : range.lowAt(t),
           first = max(keys.first(t.it, t.h, t.b), start);
    return min(keys.end(t.it, t.h, t.b), search.findFrom(first, search.nextPartial, t));
  });
  if (search.rowGroups == 1)
    return;
  StringRef vars[] = {"g", "it", "h", "b"};
  Reduction keyGroups[] = {{"rg", search.groups}};
  auto bound = [&](StringRef name, function_ref<Scalar(const BlockCoords &)> none,
                   function_ref<Scalar(Scalar bound, Scalar rg)> add) {
    Func f = p.func(name, vars, p.b().getI32Type(),
                    [&](ArrayRef<Scalar> v) { return none(BlockCoords(v)); });
    p.update(f, vars, keyGroups, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
      BlockCoords t(v);
      Scalar first = r[0] * search.lanes, old = f(v);
      return {select(search.isSeenBy(v[0], r[0], t), add(old, r[0]), old),
              {},
              first < range.highAt(t) && first + search.lanes > range.lowAt(t)};
    });
    return f;
  };
  keys.groupLow = bound(
      "group_low", [&](const BlockCoords &t) { return range.highAt(t); },
      [&](Scalar low, Scalar rg) { return min(low, rg * search.lanes); });
  keys.groupHigh = bound(
      "group_high", [&](const BlockCoords &t) { return range.lowAt(t); },
      [&](Scalar high, Scalar rg) { return max(high, (rg + 1) * search.lanes); });
}

FullKeys attn::buildFullKeys(const QBlockMask &mask, const KeyRange &range,
                             const std::optional<KeySearch> &search, int64_t rowsOfGroup) {
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
  auto full = [&](const BlockCoords &t) -> std::pair<Scalar, Scalar> {
    if (!mask.hasMask() || !mask.getBounded().hasTwoRanges()) {
      KeyBounds known =
          mask.emitBounds(blocks.firstRow(blocks.qBlock(t)), blocks.rowsOfHead, t, SeenBy::allRows);
      return {lowest(t, known), highest(t, known)};
    }
    auto [x, y] = mask.emitTwoRanges(t, SeenBy::allRows);
    Scalar xFirst = lowest(t, x), xEnd = highest(t, x), yFirst = lowest(t, y), yEnd = highest(t, y);
    Scalar isX = xEnd - xFirst >= yEnd - yFirst;
    return {select(isX, xFirst, yFirst), select(isX, xEnd, yEnd)};
  };
  auto ofGroup = [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar qBlock = blocks.qBlock(t), row = v[0] * rowsOfGroup / blocks.packedHeads;
    Scalar first = min(blocks.firstRow(qBlock) + row, blocks.lastRow(qBlock));
    return mask.emitBounds(first, countRows(rowsOfGroup, blocks.packedHeads), t, SeenBy::anyRow);
  };
  FullKeys keys;
  keys.first = p.func("first_full", qBlockVars, i32,
                      [&](ArrayRef<Scalar> v) { return full(BlockCoords(v)).first; });
  keys.end = p.func("end_full", qBlockVars, i32,
                    [&](ArrayRef<Scalar> v) { return full(BlockCoords(v)).second; });
  if (search)
    findFull(keys, blocks, range, *search);
  if (!mask.hasMask() || search || rowsOfGroup == blocks.rows)
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

/// Bits of `KeySearch::seen`, for each group of rows.
constexpr int64_t kSeen = 1, kHidden = kSeen + 1, kBits = 2;

namespace {
/// The places of a query block where a mask is evaluated to find the keys that some row sees.
class MaskSamples {
public:
  MaskSamples(const QBlockMask &mask, AttentionRegions &regions)
      : blocks(mask.blocks), regions(regions), terms(mask.getOpenTerms()),
        heads(mask.mask.dependsOnHead() ? blocks.packedHeads : 1),
        period(mask.mask.getRowPeriod(terms)) {}

  /// Every `period`-th row and the last one: a block of rows that the mask does not tell apart has
  /// one of them.
  int64_t count() const {
    return heads * (period ? llvm::divideCeil(blocks.rowsOfHead - 1, period) + 1 : 1);
  }
  /// Whether there is a sample for each row of the query block.
  bool areRows() const { return count() == blocks.rows; }
  /// kSeen or kHidden.
  Scalar seen(Scalar sample, Scalar k, const BlockCoords &t) const;

private:
  const AttentionBlocks &blocks;
  AttentionRegions &regions;
  SmallVector<Value> terms;
  int64_t heads, period;
};
} // namespace

SmallVector<Value> QBlockMask::getOpenTerms() const {
  if (&getBounded() == &mask.getCondition())
    return mask.getOpenTerms();
  return {cast<YieldOp>(blocks.in.op.getMask().front().getTerminator()).getValue()};
}

Scalar MaskSamples::seen(Scalar sample, Scalar k, const BlockCoords &t) const {
  // Behind the last row of a head a sample repeats it.
  Scalar r = min(sample / heads * period, blocks.rowsOfHead - 1);
  Scalar q = blocks.row(r * blocks.packedHeads, blocks.qBlock(t));
  Scalar h = heads == 1 ? blocks.head(blocks.p.i32(0), t) : blocks.head(sample % heads, t);
  Scalar all = blocks.p.i32(1);
  for (Value term : terms)
    all = all & regions.inlinedValue(blocks.in.op.getMask(), term, {blocks.batch(t), h, q, k},
                                     all.getType());
  return blocks.p.i32(kHidden) - all;
}

Scalar KeySearch::isSeenBy(Scalar rowGroup, Scalar g, const BlockCoords &t) const {
  return !((seen(g, t.it, t.h, t.b) & (rowGroup.constant(kSeen) << rowGroup * kBits)) == 0);
}

Scalar KeySearch::findFrom(Scalar key, Func nextGroup, const BlockCoords &t) const {
  Scalar group = unsafePromiseClamped(min(key / lanes, groups), key.constant(0), groups);
  return max(nextGroup(group, t.it, t.h, t.b) * lanes, key);
}

/// Evaluates the mask for each group of `before`.
static void buildSeen(KeySearch &search, const MaskSamples &samples, const AttentionBlocks &blocks,
                      int64_t lanes) {
  PipelineBuilder &p = blocks.p;
  Type i32 = p.b().getI32Type();
  StringRef vars[] = {"x", "g", "it", "h", "b"};
  ArrayRef<StringRef> groupVars = ArrayRef(vars).drop_front(), qBlockVars = groupVars.drop_front();
  auto zero = [&](ArrayRef<Scalar>) { return p.i32(0); };
  int64_t samplesOfGroup = samples.count() / search.rowGroups;
  auto bitsOf = [&](Scalar sample, Scalar k, const BlockCoords &t) {
    return samples.seen(sample, k, t) << (sample / samplesOfGroup * kBits);
  };
  Func ofLane = p.func("seen_of_lane", vars, i32, zero);
  p.update(ofLane, vars, {{"rs", p.i32(samples.count())}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return ofLane(v) | bitsOf(r[0], v[1] * lanes + v[0], BlockCoords(v));
           });
  Func ofRest = p.func("seen_of_rest", qBlockVars, i32, zero);
  Scalar numKeys = blocks.in.numKeys, whole = numKeys / lanes;
  p.update(ofRest, qBlockVars, {{"rk", numKeys % lanes}, {"rs", p.i32(samples.count())}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return ofRest(v) | bitsOf(r[1], whole * lanes + r[0], BlockCoords(v));
           });
  // The rest counts as a group of its own, in range or not.
  Func seen = p.func("seen", groupVars, i32, [&](ArrayRef<Scalar> v) {
    return select(v[0] == whole, ofRest(v[1], v[2], v[3]), p.i32(0));
  });
  p.update(seen, groupVars.drop_front(), {{"rg", whole}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar any = ofLane(p.i32(0), r[0], t.it, t.h, t.b), first = r[0] * lanes;
             for (int64_t x = 1; x < lanes; ++x)
               any = any | ofLane(p.i32(x), r[0], t.it, t.h, t.b);
             return {any,
                     {r[0], t.it, t.h, t.b},
                     first < search.before.highAt(t) && first + lanes > search.before.lowAt(t)};
           });
  search.seenOfLane = ofLane, search.seenOfRest = ofRest, search.seen = seen;
}

/// The first group from g on that `isFound`, else the number of groups.
static Func buildNext(const AttentionBlocks &blocks, Scalar groups, StringRef name,
                      function_ref<Scalar(Scalar g, const BlockCoords &t)> isFound) {
  PipelineBuilder &p = blocks.p;
  StringRef vars[] = {"g", "it", "h", "b"};
  Func next = p.func(name, vars, p.b().getI32Type(), [&](ArrayRef<Scalar>) { return groups; });
  p.update(next, ArrayRef(vars).drop_front(), {{"rg", groups}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar g = groups - 1 - r[0];
             Scalar later = next(g + 1, v[0], v[1], v[2]);
             return {select(isFound(g, BlockCoords(v)), g, later), {g, v[0], v[1], v[2]}};
           });
  return next;
}

KeySearch attn::buildKeySearch(const QBlockMask &mask, AttentionRegions &regions,
                               const KeyRange &range, int64_t lanes, int64_t rowsOfGroup,
                               bool isOneKvBlock) {
  const AttentionBlocks &blocks = mask.blocks;
  PipelineBuilder &p = blocks.p;
  Type i32 = p.b().getI32Type();
  StringRef vars[] = {"n", "it", "h", "b"};
  ArrayRef<StringRef> qBlockVars = ArrayRef(vars).drop_front();
  Scalar groups = (blocks.in.numKeys + (lanes - 1)) / lanes;
  KeySearch search;
  search.before = range, search.lanes = lanes, search.groups = groups;
  search.isShared = !mask.mask.dependsOnHead() && !blocks.splits.isSplit() && !blocks.packed;
  MaskSamples samples(mask, regions);
  constexpr int64_t kMostGroups = 31 / kBits; // whose bits a positive i32 holds
  if (int64_t count = blocks.rows / rowsOfGroup; samples.areRows() && count <= kMostGroups)
    search.rowGroups = count;
  buildSeen(search, samples, blocks, lanes);
  int64_t allSeen = 0;
  for (int64_t i = 0; i < search.rowGroups; ++i)
    allSeen |= kSeen << (i * kBits);
  auto isSeen = [&](Scalar g, const BlockCoords &t) {
    return (search.seen(g, t.it, t.h, t.b) & p.i32(allSeen)) > 0;
  };
  auto isPartial = [&](Scalar g, const BlockCoords &t) {
    return !(search.seen(g, t.it, t.h, t.b) == allSeen);
  };
  search.nextSeen = buildNext(blocks, groups, "next_seen", isSeen);
  search.nextPartial = buildNext(blocks, groups, "next_partial", isPartial);
  search.found.low = p.func("first_seen", qBlockVars, i32, [&](ArrayRef<Scalar> v) {
    return search.findFrom(range.low(v), search.nextSeen, BlockCoords(v));
  });
  search.found.high =
      p.func("end_seen", qBlockVars, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(search.found.high, qBlockVars, {{"rg", groups}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar end = min((r[0] + 1) * lanes, range.high(v));
             return max(search.found.high(v), select(isSeen(r[0], BlockCoords(v)), end, p.i32(0)));
           });
  if (isOneKvBlock)
    return search;
  Func starts = p.func("block_starts", vars, i32,
                       [&](ArrayRef<Scalar> v) { return search.found.low(v.drop_front()); });
  p.update(starts, qBlockVars, {{"rn", blocks.maxKvBlocks()}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar end = starts(r[0], v[0], v[1], v[2]) + blocks.kvBlock;
             return {search.findFrom(end, search.nextSeen, BlockCoords(v)),
                     {r[0] + 1, v[0], v[1], v[2]}};
           });
  search.found.starts = starts;
  return search;
}

//===----------------------------------------------------------------------===//
// Keys of all heads
//===----------------------------------------------------------------------===//

namespace {
/// A table of what funcs of query blocks give for head 0, side by side.
class KeyTable {
public:
  explicit KeyTable(const AttentionBlocks &blocks) : p(blocks.p), size(p.i32(0)) {}

  /// Adds `f`, whose dimension before a query block's, if it has one, has `extent` elements. It
  /// will be replaced by a func that reads the table.
  void add(StringRef name, Func &f, Scalar extent) {
    if (!Value(f))
      return;
    sections.push_back({name, &f, size, extent});
    size = size + extent;
  }
  void add(StringRef name, Func &f) { add(name, f, p.i32(1)); }
  Func build();

private:
  struct Section {
    StringRef name;
    Func *func;
    Scalar first, extent;
  };

  PipelineBuilder &p;
  Scalar size;
  SmallVector<Section> sections;
};
} // namespace

Func KeyTable::build() {
  Type i32 = p.b().getI32Type();
  StringRef vars[] = {"x", "it", "h", "b"};
  constexpr int64_t kQBlockRank = 3;
  Func table = p.func("shared_keys", vars, i32, [&](ArrayRef<Scalar> v) {
    Scalar value = p.i32(0);
    for (const Section &section : llvm::reverse(sections)) {
      SmallVector<Scalar> at(v);
      at[0] = clamp(v[0] - section.first, p.i32(0), section.extent - 1);
      Scalar element = section.func->getRank() == kQBlockRank ? (*section.func)(v.drop_front())
                                                              : (*section.func)(at);
      value = select(v[0] < section.first + section.extent, element, value);
    }
    return value;
  });
  for (const Section &section : sections) {
    bool isOne = section.func->getRank() == kQBlockRank;
    *section.func =
        p.func(section.name, isOne ? ArrayRef(vars).drop_front() : ArrayRef(vars), i32,
               [&](ArrayRef<Scalar> v) {
                 BlockCoords t(v);
                 return table(isOne ? section.first : section.first + v[0], t.it, p.i32(0), t.b);
               });
  }
  return table;
}

Func attn::shareHeads(const AttentionBlocks &blocks, VisitedKeys &keys, int64_t rowGroups) {
  auto &[range, kvBlocks, full] = keys;
  KeyTable table(blocks);
  table.add("shared_low", range.low);
  table.add("shared_high", range.high);
  table.add("shared_kv_blocks", kvBlocks);
  table.add("shared_first_full", full.first);
  table.add("shared_end_full", full.end);
  table.add("shared_starts", range.starts, blocks.maxKvBlocks());
  table.add("shared_full_ends", full.ends,
            range.hasStarts() ? blocks.maxKvBlocks() : blocks.p.i32(1));
  table.add("shared_group_low", full.groupLow, blocks.p.i32(rowGroups));
  table.add("shared_group_high", full.groupHigh, blocks.p.i32(rowGroups));
  return table.build();
}
