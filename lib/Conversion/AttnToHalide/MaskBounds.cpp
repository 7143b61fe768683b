//===- MaskBounds.cpp - which keys a tile of rows may see -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A comparison of k with an expression that is linear in q bounds the keys of a whole
// tile: the bound of the first or of the last row is the widest. "And" intersects, "or"
// unites; anything else bounds nothing, which is always right, and leaves the bounds
// incomplete. With the other row, the narrowest bound is of the keys that all rows see.
//
//===----------------------------------------------------------------------===//

#include "MaskBounds.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/IndexRange.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::attn;

/// r - l in 32 bits, cut off far from all positions.
static Scalar getDistance(Scalar l, Scalar r) {
  Type i32 = l.b().getI32Type(), i64 = l.b().getI64Type();
  auto cut = [](Scalar x, int64_t most) { return clamp(x, x.constant(-most), x.constant(most)); };
  auto widen = [&](Scalar x) { return cut(convert(x, i64), int64_t(1) << 61); };
  return convert(cut(widen(r) - widen(l), int64_t(1) << 30), i32);
}

namespace {
/// Walks one mask region.
class BoundsBuilder {
public:
  BoundsBuilder(PipelineBuilder &p, Region &mask, const RowTile &tile, bool ofAllRows)
      : p(p), mask(mask), tile(tile), ofAllRows(ofAllRows) {}

  KeyBounds build(Value condition);

private:
  KeyBounds combine(Operation *op);
  KeyBounds fromComparison(arith::CmpIOp op);
  std::optional<int64_t> coefficient(Value value, Value arg);
  std::optional<int64_t> computeCoefficient(Value value, Value arg);
  std::optional<Scalar> areSmall(ArrayRef<Value> values);
  void widenUnless(std::optional<Scalar> areSmall, KeyBounds &bounds);
  /// `value` for key 0 of row `q`.
  FailureOr<Scalar> at(Value value, Scalar q);

  PipelineBuilder &p;
  Region &mask;
  const RowTile &tile;
  bool ofAllRows;
  IndexRanges ranges, smallRanges = IndexRanges(/*assumeSmall=*/true);
  llvm::DenseMap<std::pair<Value, Value>, std::optional<int64_t>> coefficients;
  llvm::DenseMap<Value, KeyBounds> known;
};
} // namespace

/// The factor of `arg` in a sum, if the value is linear in it.
std::optional<int64_t> BoundsBuilder::coefficient(Value value, Value arg) {
  if (auto known = coefficients.find({value, arg}); known != coefficients.end())
    return known->second;
  auto result = computeCoefficient(value, arg);
  coefficients[{value, arg}] = result;
  return result;
}

std::optional<int64_t> BoundsBuilder::computeCoefficient(Value value, Value arg) {
  if (value == arg)
    return 1;
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  SmallVector<std::optional<int64_t>> parts;
  for (Value operand : op->getOperands())
    parts.push_back(coefficient(operand, arg));
  if (llvm::all_of(parts, [](auto c) { return c && *c == 0; }))
    return 0;
  if (llvm::is_contained(parts, std::nullopt))
    return std::nullopt;
  Type type = op->getResult(0).getType();
  if (isa<arith::IndexCastOp>(op) && (type.isIndex() || type.getIntOrFloatBitWidth() >= 32))
    return parts[0];
  if (isa<arith::AddIOp>(op))
    return llvm::checkedAdd(*parts[0], *parts[1]);
  if (isa<arith::SubIOp>(op))
    return llvm::checkedSub(*parts[0], *parts[1]);
  return std::nullopt;
}

/// Numbers from tensors that are added up in 32 or 64 bits, where large ones wrap around.
static void collectSummed(Value value, bool isSummed, IndexRanges &ranges, SetVector<Value> &summed,
                          llvm::SmallDenseSet<std::pair<Value, unsigned>> &seen) {
  if (!seen.insert({value, isSummed}).second)
    return;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    for (Value operand : op->getOperands())
      collectSummed(operand, !value.getType().isIndex(), ranges, summed, seen);
    return;
  }
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
    collectSummed(cast.getIn(), /*isSummed=*/false, ranges, summed, seen);
  bool isConstant = op && op->hasTrait<OpTrait::ConstantLike>();
  if (isSummed && !isConstant &&
      !IntegerRange::getSmall(value.getType()).contains(ranges.get(value)))
    summed.insert(value);
}

/// Whether a call's numbers are small enough for their sums; nothing where a region fails.
std::optional<Scalar> BoundsBuilder::areSmall(ArrayRef<Value> values) {
  Scalar all = p.constant(p.b().getI1Type(), 1);
  for (Value value : values) {
    auto x = at(value, tile.first);
    if (failed(x))
      return std::nullopt;
    IntegerRange small = IntegerRange::getSmall(value.getType());
    all = all && *x >= x->constant(small.low) && *x <= x->constant(small.high);
  }
  return all;
}

FailureOr<Scalar> BoundsBuilder::at(Value value, Scalar q) {
  return p.inlineRegionValue(mask, value, {tile.batch, tile.head, q, q.constant(0)});
}

/// The predicate that holds of (b, a) when the given one holds of (a, b).
static arith::CmpIPredicate swapped(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

/// Where sums may wrap around, a comparison bounds nothing: some row may see any key, and none is
/// certain to be seen by all.
void BoundsBuilder::widenUnless(std::optional<Scalar> areSmall, KeyBounds &bounds) {
  if (!areSmall) {
    bounds = {};
    return;
  }
  int64_t lowest = ofAllRows ? kMostIndex : 0, highest = ofAllRows ? 0 : kMostIndex;
  if (bounds.low)
    bounds.low = select(*areSmall, *bounds.low, p.i32(lowest));
  if (bounds.high)
    bounds.high = select(*areSmall, *bounds.high, p.i32(highest));
}

/// For lhs - rhs = ±k + c·q + rest, the comparison bounds k on one side or, when it is an
/// equation, on both.
KeyBounds BoundsBuilder::fromComparison(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  Value q = mask.getArgument(2), k = mask.getArgument(3), lhs = op.getLhs(), rhs = op.getRhs();
  auto lk = coefficient(lhs, k), rk = coefficient(rhs, k);
  auto lq = coefficient(lhs, q), rq = coefficient(rhs, q);
  if (!lk || !rk || !lq || !rq || std::abs(*lk - *rk) != 1 || smallRanges.mayWrap(lhs) ||
      smallRanges.mayWrap(rhs))
    return {};
  SetVector<Value> summed;
  llvm::SmallDenseSet<std::pair<Value, unsigned>> seen;
  for (Value side : {lhs, rhs})
    collectSummed(side, /*isSummed=*/false, ranges, summed, seen);
  bool fits = IntegerRange::differenceFits(ranges.get(lhs), ranges.get(rhs), 32);
  P predicate = op.getPredicate();
  int64_t slope = *lq - *rq;
  if (*lk - *rk == -1) { // turn k around to the left
    std::swap(lhs, rhs);
    slope = -slope;
    predicate = swapped(predicate);
  }
  // k (predicate) -slope·q - rest
  auto limit = [&](bool highest) -> std::optional<Scalar> {
    bool isLast = (slope <= 0) == (highest != ofAllRows);
    Scalar row = isLast ? tile.last : tile.first;
    auto l = at(lhs, row), r = at(rhs, row);
    if (failed(l) || failed(r))
      return std::nullopt;
    bool isWide = !fits || l->getType().isInteger(64) || r->getType().isInteger(64);
    return isWide ? getDistance(*l, *r) : *r - *l;
  };
  KeyBounds bounds;
  if (predicate == P::sle || predicate == P::slt || predicate == P::eq)
    if ((bounds.high = limit(true)) && predicate != P::slt)
      bounds.high = *bounds.high + 1;
  if (predicate == P::sge || predicate == P::sgt || predicate == P::eq)
    if ((bounds.low = limit(false)) && predicate == P::sgt)
      bounds.low = *bounds.low + 1;
  bounds.isComplete = bounds.low || bounds.high;
  if (!summed.empty())
    widenUnless(areSmall(summed.getArrayRef()), bounds);
  return bounds;
}

/// Combines two sides: with both known by `combine`, else as `either` asks.
static std::optional<Scalar> merge(std::optional<Scalar> x, std::optional<Scalar> y, bool either,
                                   Scalar (*combine)(Scalar, Scalar)) {
  if (x && y)
    return combine(*x, *y);
  if (!either)
    return std::nullopt;
  return x ? x : y;
}

KeyBounds BoundsBuilder::build(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!isa_and_nonnull<arith::CmpIOp, arith::AndIOp, arith::OrIOp>(op))
    return {};
  if (auto found = known.find(condition); found != known.end())
    return found->second;
  KeyBounds bounds = isa<arith::CmpIOp>(op) ? fromComparison(cast<arith::CmpIOp>(op)) : combine(op);
  return known[condition] = bounds;
}

/// Of "and" and "or".
KeyBounds BoundsBuilder::combine(Operation *op) {
  bool both = isa<arith::AndIOp>(op);
  assert((both || !ofAllRows) && "keys that all rows see by alternatives need not be one run");
  KeyBounds x = build(op->getOperand(0)), y = build(op->getOperand(1));
  Scalar (*smaller)(Scalar, Scalar) = &min, (*larger)(Scalar, Scalar) = &max;
  return {merge(x.low, y.low, both, both ? larger : smaller),
          merge(x.high, y.high, both, both ? smaller : larger), x.isComplete && y.isComplete};
}

bool attn::isConjunction(Region &mask) {
  return llvm::none_of(mask.getOps(), [](Operation &each) {
    return isa<arith::OrIOp, arith::XOrIOp, arith::SelectOp>(each) &&
           each.getResult(0).getType().isInteger(1);
  });
}

KeyBounds attn::buildKeyBounds(PipelineBuilder &p, Region &mask, const RowTile &tile,
                               bool ofAllRows) {
  if (mask.empty())
    return {std::nullopt, std::nullopt, /*isComplete=*/true};
  Value condition = cast<YieldOp>(mask.front().getTerminator()).getValue();
  return BoundsBuilder(p, mask, tile, ofAllRows).build(condition);
}
