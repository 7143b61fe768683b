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

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The factor of `arg` in a sum, if the value is linear in it.
static std::optional<int64_t> coefficient(Value value, Value arg) {
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
    return *parts[0] + *parts[1];
  if (isa<arith::SubIOp>(op))
    return *parts[0] - *parts[1];
  return std::nullopt;
}

/// Whether a sum of positions and this constant, or of such constants, may wrap around. Those of
/// index are cut off where they are inlined.
static bool mayWrap(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return !value.getType().isIndex() &&
           !constant.isSignedIntN(value.getType().isInteger(64) ? 62 : 31);
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::IndexCastOp, arith::AddIOp, arith::SubIOp>(op) &&
         llvm::any_of(op->getOperands(), mayWrap);
}

/// Whether 32 bits hold sums of the value and a position: it is not just anything that a tensor
/// holds, unless that was cut off as it became an index.
static bool isSmall(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<arith::ConstantOp, tensor::DimOp>(op))
    return true;
  if (isa<arith::IndexCastOp>(op) && op->getOperand(0).getType().isInteger(64))
    return true;
  return isa<arith::IndexCastOp, arith::AddIOp, arith::SubIOp>(op) &&
         llvm::all_of(op->getOperands(), isSmall);
}

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
  KeyBounds fromComparison(arith::CmpIOp op);
  /// `value` for key 0 of row `q`.
  FailureOr<Scalar> at(Value value, Scalar q);

  PipelineBuilder &p;
  Region &mask;
  const RowTile &tile;
  bool ofAllRows;
};
} // namespace

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

/// For lhs - rhs = ±k + c·q + rest, the comparison bounds k on one side or, when it is an
/// equation, on both.
KeyBounds BoundsBuilder::fromComparison(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  Value q = mask.getArgument(2), k = mask.getArgument(3), lhs = op.getLhs(), rhs = op.getRhs();
  auto lk = coefficient(lhs, k), rk = coefficient(rhs, k);
  auto lq = coefficient(lhs, q), rq = coefficient(rhs, q);
  if (!lk || !rk || !lq || !rq || std::abs(*lk - *rk) != 1 || mayWrap(lhs) || mayWrap(rhs))
    return {};
  bool isWide = lhs.getType().isInteger(64) || !isSmall(lhs) || !isSmall(rhs);
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
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
    return fromComparison(compare);
  if (!isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op))
    return {};
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
