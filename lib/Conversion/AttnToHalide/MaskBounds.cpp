//===- MaskBounds.cpp - emit the key bounds of a query block --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of a query block's first and last row has the widest bound, which encloses the keys that any
// row sees; the other one has the narrowest, for the keys that all rows see.
//
//===----------------------------------------------------------------------===//

#include "MaskBounds.h"

using namespace mlir;
using namespace mlir::attn;
using Kind = MaskCondition::Kind;

/// r - l in 32 bits, saturated far outside all positions. The difference of two i64 may wrap
/// around, that of their halves does not.
static Scalar getDistance(Scalar l, Scalar r) {
  Type i32 = l.b().getI32Type(), i64 = l.b().getI64Type();
  auto cut = [](Scalar x, int64_t most) { return clamp(x, x.constant(-most), x.constant(most)); };
  bool isWide = l.getType().isInteger(64) || r.getType().isInteger(64);
  l = convert(l, i64), r = convert(r, i64);
  if (!isWide)
    return convert(cut(r - l, int64_t(1) << 30), i32);
  Scalar halves = cut(r / 2 - l / 2, int64_t(1) << 29);
  return convert(halves * 2 + (r % 2 - l % 2), i32);
}

namespace {
/// Emits the bounds of one mask for one query block.
class BoundsEmitter {
public:
  BoundsEmitter(PipelineBuilder &p, Region &mask, const QueryRows &rows, SeenBy seenBy)
      : p(p), mask(mask), rows(rows), ofAllRows(seenBy == SeenBy::allRows) {}

  KeyBounds emit(const MaskCondition &condition);
  std::pair<KeyBounds, KeyBounds> emitTwo(const MaskCondition &condition);

private:
  KeyBounds combine(const MaskCondition &condition);
  KeyBounds fromComparison(const MaskCondition &condition);
  std::optional<Scalar> limit(const MaskCondition &condition, const LinearBound &bound,
                              bool highest);
  std::optional<Scalar> areSmall(ArrayRef<Value> values);
  void widenUnless(std::optional<Scalar> areSmall, KeyBounds &bounds);
  /// `value` evaluated for key 0 of row `q`.
  FailureOr<Scalar> at(Value value, Scalar q);

  PipelineBuilder &p;
  Region &mask;
  const QueryRows &rows;
  bool ofAllRows;
  llvm::DenseMap<const MaskCondition *, KeyBounds> known;
};
} // namespace

/// Whether numbers read from tensors are small enough for their sums not to wrap around; none if
/// inlining fails.
std::optional<Scalar> BoundsEmitter::areSmall(ArrayRef<Value> values) {
  Scalar all = p.constant(p.b().getI1Type(), 1);
  for (Value value : values) {
    auto x = at(value, rows.first);
    if (failed(x))
      return std::nullopt;
    IntegerRange small = IntegerRange::getSmall(value.getType());
    all = all && *x >= x->constant(small.low) && *x <= x->constant(small.high);
  }
  return all;
}

FailureOr<Scalar> BoundsEmitter::at(Value value, Scalar q) {
  return p.inlineRegionValue(mask, value, {rows.batch, rows.head, q, q.constant(0)});
}

/// If sums may wrap around, a comparison bounds nothing: some row may see any key, and no key is
/// certainly seen by all.
void BoundsEmitter::widenUnless(std::optional<Scalar> areSmall, KeyBounds &bounds) {
  if (!areSmall) {
    bounds = {};
    return;
  }
  int64_t lowest = ofAllRows ? kMaxIndex : 0, highest = ofAllRows ? 0 : kMaxIndex;
  if (bounds.low)
    bounds.low = select(*areSmall, *bounds.low, p.i32(lowest));
  if (bounds.high)
    bounds.high = select(*areSmall, *bounds.high, p.i32(highest));
}

/// The bound of the query block's row where it is widest, or narrowest.
std::optional<Scalar> BoundsEmitter::limit(const MaskCondition &condition, const LinearBound &bound,
                                           bool highest) {
  bool isLast = (bound.slope <= 0) == (highest != ofAllRows);
  Scalar row = isLast ? rows.last : rows.first;
  auto l = at(bound.lhs, row), r = at(bound.rhs, row);
  if (failed(l) || failed(r))
    return std::nullopt;
  bool isWide = !condition.fits || l->getType().isInteger(64) || r->getType().isInteger(64);
  return isWide ? getDistance(*l, *r) : *r - *l;
}

KeyBounds BoundsEmitter::fromComparison(const MaskCondition &condition) {
  std::optional<LinearBound> bound = condition.boundKey();
  if (!bound)
    return {};
  KeyBounds bounds;
  if (bound->isUpper() && (bounds.high = limit(condition, *bound, true)) && !bound->isStrict())
    bounds.high = *bounds.high + 1;
  if (bound->isLower() && (bounds.low = limit(condition, *bound, false)) && bound->isStrict())
    bounds.low = *bounds.low + 1;
  if (!condition.summed.empty())
    widenUnless(areSmall(condition.summed), bounds);
  return bounds;
}

/// Combines two bounds by `combine`. If one is missing: the other one if `either`, else none.
static std::optional<Scalar> merge(std::optional<Scalar> x, std::optional<Scalar> y, bool either,
                                   Scalar (*combine)(Scalar, Scalar)) {
  if (x && y)
    return combine(*x, *y);
  if (!either)
    return std::nullopt;
  return x ? x : y;
}

KeyBounds BoundsEmitter::emit(const MaskCondition &condition) {
  if (auto found = known.find(&condition); found != known.end())
    return found->second;
  KeyBounds bounds = condition.left ? combine(condition) : fromComparison(condition);
  return known[&condition] = bounds;
}

/// The number of keys in [x.low, x.high).
static Scalar countKeys(PipelineBuilder &p, const KeyBounds &x) {
  Scalar first = p.i32(0), end = p.i32(kMaxIndex);
  return (x.high ? clamp(*x.high, first, end) : end) - (x.low ? clamp(*x.low, first, end) : first);
}

/// The bounds of a conjunction or disjunction. With a disjunction, keys that all rows see need not
/// be contiguous: the longer range of its operands.
KeyBounds BoundsEmitter::combine(const MaskCondition &condition) {
  bool both = condition.kind == Kind::both;
  KeyBounds x = emit(*condition.left), y = emit(*condition.right);
  if (ofAllRows && !both) {
    Scalar isX = countKeys(p, x) >= countKeys(p, y);
    auto pickSide = [&](std::optional<Scalar> ofX, std::optional<Scalar> ofY, int64_t missing) {
      return ofX || ofY ? std::optional(select(isX, ofX.value_or(p.i32(missing)),
                                               ofY.value_or(p.i32(missing))))
                        : std::nullopt;
    };
    return {pickSide(x.low, y.low, 0), pickSide(x.high, y.high, kMaxIndex)};
  }
  Scalar (*smaller)(Scalar, Scalar) = &min, (*larger)(Scalar, Scalar) = &max;
  return {merge(x.low, y.low, both, both ? larger : smaller),
          merge(x.high, y.high, both, both ? smaller : larger)};
}

static KeyBounds intersect(const KeyBounds &x, const KeyBounds &y) {
  return {merge(x.low, y.low, /*either=*/true, &max), merge(x.high, y.high, /*either=*/true, &min)};
}

std::pair<KeyBounds, KeyBounds> BoundsEmitter::emitTwo(const MaskCondition &condition) {
  if (condition.kind == Kind::either)
    return {emit(*condition.left), emit(*condition.right)};
  const MaskCondition *two = condition.left, *other = condition.right;
  if (!two->hasTwoRanges())
    std::swap(two, other);
  auto [x, y] = emitTwo(*two);
  KeyBounds around = emit(*other);
  return {intersect(x, around), intersect(y, around)};
}

KeyBounds attn::emitKeyBounds(PipelineBuilder &p, Region &mask, const MaskCondition &condition,
                              const QueryRows &rows, SeenBy seenBy) {
  return BoundsEmitter(p, mask, rows, seenBy).emit(condition);
}

std::pair<KeyBounds, KeyBounds> attn::emitTwoRanges(PipelineBuilder &p, Region &mask,
                                                    const MaskCondition &condition,
                                                    const QueryRows &rows, SeenBy seenBy) {
  return BoundsEmitter(p, mask, rows, seenBy).emitTwo(condition);
}
