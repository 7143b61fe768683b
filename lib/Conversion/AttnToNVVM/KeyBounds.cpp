//===- KeyBounds.cpp - the keys that rows see -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mask's bounds are linear in the row: that of the first or of the last row encloses the keys
// that any row sees, and the other one those that all rows see. They are computed once for a query
// block, in 64 bits, and saturated to the keys that there are.
//
//===----------------------------------------------------------------------===//

#include "KeyBounds.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;
using Kind = MaskCondition::Kind;

namespace {
/// Bounds in i64; a missing side is unbounded.
struct Bounds {
  Reg low, high;
};

/// Emits the bounds of one mask for the rows of one query block.
class BoundsEmitter {
public:
  BoundsEmitter(KernelBuilder &k, Region &mask, const QueryRows &rows, Reg kvLen, bool ofAllRows)
      : k(k), inliner(k, mask), rows(rows), kvLen(widen(kvLen)), ofAllRows(ofAllRows) {}

  Bounds emit(const MaskCondition &condition);

private:
  Bounds combine(const MaskCondition &condition);
  Bounds fromComparison(const MaskCondition &condition);
  Reg distance(Reg l, Reg r);
  Reg limit(const LinearBound &bound, bool isHighest);
  Reg areSmall(ArrayRef<Value> values);
  Reg at(Value value, Reg row) {
    return inliner.inlined(value, {rows.batch, rows.head, row, k.i32(0)});
  }

  KernelBuilder &k;
  RegionInliner inliner;
  const QueryRows &rows;
  Reg kvLen;
  bool ofAllRows;
  llvm::DenseMap<const MaskCondition *, Bounds> known;
};
} // namespace

/// Whether numbers read from tensors are small enough for their sums not to wrap around.
Reg BoundsEmitter::areSmall(ArrayRef<Value> values) {
  Reg all = Reg::constant(k.b(), k.b().getI1Type(), 1);
  for (Value value : values) {
    Reg x = at(value, rows.first);
    IntegerRange small = IntegerRange::getSmall(value.getType());
    all = all & (x >= small.low) & (x <= x.constant(small.high));
  }
  return all;
}

/// r - l, saturated to [-1, kvLen + 1]. The difference of two i64 may wrap around, that of their
/// halves does not.
Reg BoundsEmitter::distance(Reg l, Reg r) {
  auto half = [&](Reg x) { return Reg(k.b(), arith::ShRSIOp::create(k.b(), x, x.constant(1))); };
  Reg most = kvLen + 4, halves = clamp(half(r) - half(l), most.constant(0) - most, most);
  return clamp(halves * 2 + ((r & 1) - (l & 1)), l.constant(-1), kvLen + 1);
}

/// The bound of the row where it is widest, or narrowest.
Reg BoundsEmitter::limit(const LinearBound &bound, bool isHighest) {
  bool isLast = (bound.slope <= 0) == (isHighest != ofAllRows);
  Reg row = isLast ? rows.last : rows.first;
  return distance(widen(at(bound.lhs, row)), widen(at(bound.rhs, row)));
}

/// If sums may wrap around, a comparison bounds nothing: some row may see any key, and no key is
/// certainly seen by all.
Bounds BoundsEmitter::fromComparison(const MaskCondition &condition) {
  std::optional<LinearBound> bound = condition.boundKey();
  if (!bound)
    return {};
  Bounds bounds;
  if (bound->isUpper())
    bounds.high = limit(*bound, true) + (bound->isStrict() ? 0 : 1);
  if (bound->isLower())
    bounds.low = limit(*bound, false) + (bound->isStrict() ? 1 : 0);
  if (condition.summed.empty())
    return bounds;
  Reg isKnown = areSmall(condition.summed), zero = kvLen.constant(0);
  if (bounds.low)
    bounds.low = select(isKnown, bounds.low, ofAllRows ? kvLen : zero);
  if (bounds.high)
    bounds.high = select(isKnown, bounds.high, ofAllRows ? zero : kvLen);
  return bounds;
}

/// Combines two bounds. If one is missing: the other one if `either`, else none.
static Reg merge(Reg x, Reg y, bool either, Reg (*combine)(Reg, Reg)) {
  if (x && y)
    return combine(x, y);
  return !either ? Reg() : x ? x : y;
}

Bounds BoundsEmitter::combine(const MaskCondition &condition) {
  bool both = condition.kind == Kind::both;
  Bounds x = emit(*condition.left), y = emit(*condition.right);
  return {merge(x.low, y.low, both, both ? &nvvm::max : &nvvm::min),
          merge(x.high, y.high, both, both ? &nvvm::min : &nvvm::max)};
}

Bounds BoundsEmitter::emit(const MaskCondition &condition) {
  if (auto found = known.find(&condition); found != known.end())
    return found->second;
  Bounds bounds = condition.left ? combine(condition) : fromComparison(condition);
  return known[&condition] = bounds;
}

/// A bound within [0, kvLen], or `other` without one.
static Reg within(Reg bound, Reg kvLen, Reg other) {
  if (!bound)
    return other;
  return convert(clamp(bound, bound.constant(0), widen(kvLen)), kvLen.getType());
}

/// Whether the bounds are the same for all heads of `rows`.
static bool hasBounds(const MaskAnalysis &analysis, const QueryRows &rows) {
  return rows.isOneHead || !analysis.dependsOnHead();
}

KeyRange nvvm::findVisibleKeys(KernelBuilder &k, Region &mask, const QueryRows &rows, Reg kvLen) {
  MaskAnalysis analysis(mask);
  Bounds bounds;
  if (analysis.hasMask() && hasBounds(analysis, rows))
    bounds = BoundsEmitter(k, mask, rows, kvLen, /*ofAllRows=*/false).emit(analysis.getCondition());
  return {within(bounds.low, kvLen, k.i32(0)), within(bounds.high, kvLen, kvLen)};
}

KeyRange nvvm::findFullKeys(KernelBuilder &k, Region &mask, const QueryRows &rows,
                            KeyRange visible) {
  MaskAnalysis analysis(mask);
  if (!analysis.hasMask())
    return visible;
  if (!analysis.isComplete() || !analysis.isConjunction() || !hasBounds(analysis, rows))
    return {visible.high, visible.high};
  Bounds bounds =
      BoundsEmitter(k, mask, rows, visible.high, /*ofAllRows=*/true).emit(analysis.getCondition());
  return {max(within(bounds.low, visible.high, visible.low), visible.low),
          within(bounds.high, visible.high, visible.high)};
}
