//===- Scalar.cpp - operators that build arith ops ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

/// Builds `FloatOp` or `IntOp`, by the operands' type.
template <typename FloatOp, typename IntOp>
static Scalar build(Scalar x, Scalar y) {
  if (isa<FloatType>(x.getType()))
    return {x.b(), FloatOp::create(x.b(), x, y)};
  return {x.b(), IntOp::create(x.b(), x, y)};
}

static Scalar compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers, Scalar x,
                      Scalar y) {
  if (isa<FloatType>(x.getType()))
    return {x.b(), arith::CmpFOp::create(x.b(), floats, x, y)};
  return {x.b(), arith::CmpIOp::create(x.b(), integers, x, y)};
}

template <typename OpTy>
static Scalar unary(Scalar x) {
  return {x.b(), OpTy::create(x.b(), x)};
}

TypedAttr Number::getAttr(Builder &builder, Type type) const {
  if (isa<FloatType>(type))
    return builder.getFloatAttr(type, real);
  assert(integer && "expected an integer for an integer type");
  return builder.getIntegerAttr(type, *integer);
}

Scalar Scalar::constant(ImplicitLocOpBuilder &builder, Type type, Number c) {
  return {builder, arith::ConstantOp::create(builder, c.getAttr(builder, type))};
}

Scalar Scalar::operator-() const {
  if (isa<FloatType>(getType()))
    return unary<arith::NegFOp>(*this);
  return constant(0) - *this;
}

Scalar Scalar::operator!() const {
  return {*builder, arith::XOrIOp::create(*builder, value, constant(1))};
}

namespace mlir::attn {

Scalar operator+(Scalar x, Scalar y) { return build<arith::AddFOp, arith::AddIOp>(x, y); }
Scalar operator-(Scalar x, Scalar y) { return build<arith::SubFOp, arith::SubIOp>(x, y); }
Scalar operator*(Scalar x, Scalar y) { return build<arith::MulFOp, arith::MulIOp>(x, y); }
Scalar operator/(Scalar x, Scalar y) { return build<arith::DivFOp, arith::FloorDivSIOp>(x, y); }
Scalar operator%(Scalar x, Scalar y) { return build<arith::RemFOp, halide::ModOp>(x, y); }

Scalar operator<(Scalar x, Scalar y) {
  return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, x, y);
}
Scalar operator<=(Scalar x, Scalar y) {
  return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, x, y);
}
Scalar operator>(Scalar x, Scalar y) {
  return compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, x, y);
}
Scalar operator>=(Scalar x, Scalar y) {
  return compare(arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge, x, y);
}
Scalar operator==(Scalar x, Scalar y) {
  return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, x, y);
}
Scalar operator&&(Scalar x, Scalar y) { return x & y; }
Scalar operator||(Scalar x, Scalar y) { return x | y; }

Scalar operator&(Scalar x, Scalar y) { return {x.b(), arith::AndIOp::create(x.b(), x, y)}; }
Scalar operator|(Scalar x, Scalar y) { return {x.b(), arith::OrIOp::create(x.b(), x, y)}; }
Scalar operator<<(Scalar x, Scalar y) { return {x.b(), arith::ShLIOp::create(x.b(), x, y)}; }

Scalar bits(Scalar x) {
  Type type = x.b().getIntegerType(x.getType().getIntOrFloatBitWidth());
  return {x.b(), arith::BitcastOp::create(x.b(), type, x)};
}
Scalar fromBits(Scalar x, Type type) { return {x.b(), arith::BitcastOp::create(x.b(), type, x)}; }

Scalar min(Scalar x, Scalar y) { return build<arith::MinimumFOp, arith::MinSIOp>(x, y); }
Scalar max(Scalar x, Scalar y) { return build<arith::MaximumFOp, arith::MaxSIOp>(x, y); }
Scalar machineMax(Scalar x, Scalar y) {
  auto max = arith::MaximumFOp::create(x.b(), x, y);
  max.setFastmath(arith::FastMathFlags::nnan);
  return strictFloat({x.b(), max});
}
Scalar clamp(Scalar x, Scalar low, Scalar high) { return max(min(x, high), low); }

Scalar select(Scalar condition, Scalar yes, Scalar no) {
  return {condition.b(), arith::SelectOp::create(condition.b(), condition, yes, no)};
}

Scalar convert(Scalar x, Type type) {
  Type from = x.getType();
  if (from == type)
    return x;
  auto &b = x.b();
  if (isa<FloatType>(from) && isa<FloatType>(type)) {
    if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
      return {b, arith::ExtFOp::create(b, type, Value(x))};
    return {b, arith::TruncFOp::create(b, type, Value(x))};
  }
  if (isa<FloatType>(type))
    return {b, arith::SIToFPOp::create(b, type, x)};
  if (isa<FloatType>(from))
    return {b, arith::FPToSIOp::create(b, type, x)};
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return {b, arith::TruncIOp::create(b, type, x)};
  if (from.isInteger(1))
    return {b, arith::ExtUIOp::create(b, type, x)};
  return {b, arith::ExtSIOp::create(b, type, x)};
}

Scalar exp(Scalar x) { return unary<math::ExpOp>(x); }
Scalar tanh(Scalar x) { return unary<math::TanhOp>(x); }
Scalar boundedExp2(Scalar x) {
  auto exp2 = math::Exp2Op::create(x.b(), x);
  exp2.setFastmath(arith::FastMathFlags::ninf | arith::FastMathFlags::afn);
  return {x.b(), exp2};
}
Scalar exp2BF16(Scalar x) { return unary<halide::Exp2BF16Op>(x); }
Scalar deviceExp2(Scalar x) {
  auto exp2 = math::Exp2Op::create(x.b(), x);
  exp2.setFastmath(arith::FastMathFlags::fast);
  return {x.b(), exp2};
}
Scalar log(Scalar x) { return unary<math::LogOp>(x); }
Scalar boundedLog(Scalar x) {
  auto log = math::LogOp::create(x.b(), x);
  log.setFastmath(arith::FastMathFlags::afn);
  return {x.b(), log};
}
Scalar sqrt(Scalar x) { return unary<math::SqrtOp>(x); }
Scalar round(Scalar x) { return unary<math::RoundEvenOp>(x); }
Scalar strictFloat(Scalar x) { return unary<halide::StrictFloatOp>(x); }
Scalar fetchAhead(Scalar x, Scalar element, int64_t locality) {
  return {x.b(), halide::FetchAheadOp::create(x.b(), x, element, locality)};
}
Scalar storeBeside(Scalar x, Scalar stored, Scalar element, Scalar where) {
  return {x.b(), halide::StoreBesideOp::create(x.b(), x, stored, element, where)};
}
Scalar storeWhere(Scalar x, Scalar condition) {
  return {x.b(), halide::StoreWhereOp::create(x.b(), x, condition)};
}
Scalar pairOf(Scalar low, Scalar high) {
  return {low.b(), halide::MakeBF16PairOp::create(low.b(), bits(low), bits(high))};
}
Scalar roundBF16Pair(Scalar low, Scalar high) {
  return {low.b(), halide::RoundBF16PairOp::create(low.b(), low, high)};
}
Scalar dotBF16Pair(Scalar acc, Scalar a, Scalar b) {
  return {acc.b(), halide::DotBF16PairOp::create(acc.b(), acc, a, b)};
}
Scalar quadOf(ArrayRef<Scalar> bytes) {
  return {bytes[0].b(),
          halide::MakeI8QuadOp::create(bytes[0].b(), bytes[0], bytes[1], bytes[2], bytes[3])};
}
Scalar dotI8Quad(Scalar acc, Scalar a, Scalar b) {
  return {acc.b(), halide::DotI8QuadOp::create(acc.b(), acc, a, b)};
}
Scalar dotBF16Tiles(Scalar acc, Scalar a, Scalar b, Scalar rows, Scalar depth) {
  return {acc.b(), halide::DotBF16TilesOp::create(acc.b(), acc, a, b, rows, depth)};
}
Scalar likely(Scalar x) { return unary<halide::LikelyOp>(x); }

Scalar unsafePromiseClamped(Scalar x, Scalar low, Scalar high) {
  return {x.b(), halide::PromiseClampedOp::create(x.b(), x, low, high)};
}

Scalar undef(ImplicitLocOpBuilder &builder, Type type) {
  return {builder, halide::UndefOp::create(builder, type)};
}

} // namespace mlir::attn
