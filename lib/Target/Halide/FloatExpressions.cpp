//===- FloatExpressions.cpp - float ops as Halide expressions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NaN and infinities by MLIR's rules; Halide's own operators assume them away.
//
//===----------------------------------------------------------------------===//

#include "FloatExpressions.h"
#include "MathFunctions.h"

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;
using H::Expr;

/// f16 and bf16 are computed in f32 for accuracy.
static bool isHalf(H::Type type) { return type.is_float() && type.bits() == 16; }
/// Halide's own conversion promises LLVM that there are no infinities or NaN, so tests for them
/// would be folded away: this one is built from bits. They are signed: Halide simplifies the bits,
/// as an i32, of an f32 made of a u32 to a cast, and takes what is cast to an i32 not to overflow,
/// so that no bits would be negative.
static Expr widenOnce(Expr e) {
  H::Type f32 = H::Float(32), i32 = H::Int(32);
  Expr bits = H::cast(i32, H::reinterpret(H::Int(16), e));
  if (e.type().is_bfloat())
    return H::reinterpret(f32, bits << 16);
  // The product moves the exponent, of denormals too; infinities and NaN have the largest.
  Expr magnitude = (bits & 0x7fff) << 13;
  Expr moved = H::strict_float(H::reinterpret(f32, magnitude) * H::Expr(0x1p112f));
  Expr special = blend(magnitude >= 0x0f800000, Expr(0x7f800000), Expr(0));
  Expr sign = (bits & ~0x7fff) << 16;
  return H::reinterpret(f32, H::reinterpret(i32, moved) | special | sign);
}

Expr halide::widenHalf(Expr e) { return isHalf(e.type()) ? readOnce(e, widenOnce) : e; }

bool halide::assumesNoNaN(Operation *op) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags = fast ? fast.getFastMathFlagsAttr() : nullptr;
  return flags && arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::nnan);
}

/// |e| of f32 or f64 as an unsigned integer. NaN and infinities are tested in the bits: sums
/// outside of regions promise LLVM that there are none, so `e != e` of such a sum would be folded
/// away.
static Expr magnitude(Expr e) {
  H::Type bits = H::UInt(e.type().bits());
  return H::reinterpret(bits, e) & (bits.max() >> 1);
}
static Expr magnitudeOfInfinity(H::Type type) {
  H::Type bits = H::UInt(type.bits());
  return H::Internal::make_const(bits, type.bits() == 32 ? 0x7f800000 : 0x7ff0000000000000);
}

static Expr isNaN(Expr e) {
  e = widenHalf(e);
  return magnitude(e) > magnitudeOfInfinity(e.type());
}
static Expr isInf(Expr e) { return magnitude(e) == magnitudeOfInfinity(e.type()); }
static Expr isFinite(Expr e) { return magnitude(e) < magnitudeOfInfinity(e.type()); }

static Expr quietNaN(H::Type type) {
  if (!isHalf(type))
    return H::Internal::make_const(type, std::numeric_limits<double>::quiet_NaN());
  return H::reinterpret(type, H::cast(H::UInt(16), type.is_bfloat() ? 0x7fc0 : 0x7e00));
}

Expr halide::convertFloat(H::Type type, Expr e, bool isTested) {
  if (e.type() == type)
    return e;
  if (isHalf(type) && e.type().bits() == 64)
    // No x86 has an instruction, and a call needs the compiler's library.
    return convertFloat(type, convertFloat(H::Float(32), e));
  if (!isTested && !isHalf(type))
    return H::cast(type, e);
  return readOnce(e, [&](Expr x) { return blend(isNaN(x), quietNaN(type), H::cast(type, x)); });
}

static Expr compareFast(arith::CmpFPredicate predicate, Expr a, Expr b) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
  case P::UEQ:
    return a == b;
  case P::ONE:
  case P::UNE:
    return a != b;
  case P::OLT:
  case P::ULT:
    return a < b;
  case P::OLE:
  case P::ULE:
    return a <= b;
  case P::OGT:
  case P::UGT:
    return a > b;
  case P::OGE:
  case P::UGE:
    return a >= b;
  default:
    return H::Internal::make_bool(predicate == P::ORD || predicate == P::AlwaysTrue);
  }
}

static Expr compareOrdered(arith::CmpFPredicate predicate, Expr a, Expr b) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return strictEqual(a, b);
  case P::OLT:
    return strictLess(a, b);
  case P::OLE:
    return strictLessEqual(a, b);
  case P::OGT:
    return strictLess(b, a);
  case P::OGE:
    return strictLessEqual(b, a);
  case P::ONE:
    return strictLess(a, b) || strictLess(b, a);
  case P::ORD:
    return !isNaN(a) && !isNaN(b);
  default:
    return H::Internal::make_bool(true);
  }
}

/// An unordered predicate is the negation of the opposite ordered one.
static std::optional<arith::CmpFPredicate> oppositeOrdered(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::UEQ:
    return P::ONE;
  case P::UNE:
    return P::OEQ;
  case P::ULT:
    return P::OGE;
  case P::ULE:
    return P::OGT;
  case P::UGT:
    return P::OLE;
  case P::UGE:
    return P::OLT;
  case P::UNO:
    return P::ORD;
  case P::AlwaysFalse:
    return P::AlwaysTrue;
  default:
    return std::nullopt;
  }
}

static Expr translateCmpF(arith::CmpFOp op, Expr a, Expr b) {
  a = widenHalf(a), b = widenHalf(b);
  if (assumesNoNaN(op))
    return compareFast(op.getPredicate(), a, b);
  if (auto opposite = oppositeOrdered(op.getPredicate()))
    return !compareOrdered(*opposite, a, b);
  return compareOrdered(op.getPredicate(), a, b);
}

/// maximumf and minimumf give NaN if one operand is NaN; maxnumf and minnumf the other operand.
static Expr translateFloatMinMax(Operation *op, Expr x, Expr y) {
  bool isMax = isa<arith::MaximumFOp, arith::MaxNumFOp>(op);
  if (assumesNoNaN(op))
    return isMax ? H::max(x, y) : H::min(x, y);
  Expr a = widenHalf(x), b = widenHalf(y);
  Expr takeSecond = isMax ? strictLess(a, b) : strictLess(b, a);
  bool propagates = isa<arith::MaximumFOp, arith::MinimumFOp>(op);
  return blend(takeSecond || isNaN(propagates ? b : a), y, x);
}

static Expr callLibm(StringRef name, ArrayRef<Expr> operands) {
  H::Type type = operands.front().type();
  std::string symbol = name.str() + (type.bits() == 32 ? "f" : "");
  return H::Internal::Call::make(type, symbol, {operands.begin(), operands.end()},
                                 H::Internal::Call::PureExtern);
}

/// LLVM folds zero times a sum to zero, since sums promise to be no NaN.
static Expr multiply(Expr a, Expr b) {
  if (H::Internal::is_const_zero(a))
    std::swap(a, b);
  if (!H::Internal::is_const_zero(b))
    return a * b;
  Expr sign = std::signbit(*H::Internal::as_const_float(b)) ? -a : a;
  Expr zero = H::Internal::make_zero(a.type());
  return blend(isFinite(a), copySign(zero, sign), H::Internal::make_const(a.type(), NAN));
}

/// Halide refuses to divide by a constant zero.
static Expr divide(Expr a, Expr b) {
  if (!H::Internal::is_const_zero(b))
    return a / b;
  double infinity = std::copysign(INFINITY, *H::Internal::as_const_float(b));
  return a * H::Internal::make_const(a.type(), infinity);
}

/// Halide's round takes ties to even; math.round takes them away from zero.
static Expr roundAwayFromZero(Expr x) {
  Expr whole = H::trunc(x);
  Expr up = H::cast(x.type(), H::abs(x - whole) >= H::cast(x.type(), 0.5f));
  return whole + copySign(up, x);
}

/// Halide subtracts from 0, which gives 0 for 0.
static Expr negate(Expr x) {
  H::Type bits = H::UInt(x.type().bits());
  Expr sign = H::Internal::make_one(bits) << (x.type().bits() - 1);
  return H::reinterpret(x.type(), H::reinterpret(bits, x) ^ sign);
}

static Expr integerPower(Expr x, int64_t n) {
  Expr result = H::Internal::make_one(x.type());
  for (int64_t i = 0; i < std::abs(n); ++i)
    result = i == 0 ? x : result * x;
  return n < 0 ? H::Internal::make_one(x.type()) / result : result;
}

static std::optional<int64_t> getSmallInteger(Value value) {
  FloatAttr attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  double number = attr.getValueAsDouble();
  if (number != std::floor(number) || std::abs(number) > 8)
    return std::nullopt;
  return int64_t(number);
}

static Expr translatePower(math::PowFOp op, Expr x, Expr y) {
  if (std::optional<int64_t> n = getSmallInteger(op.getRhs()))
    return integerPower(x, *n);
  return callLibm("pow", {x, y});
}

/// Whether `value` is a maximum with a constant of at least -126.
static bool isAboveExp2Range(Value value) {
  if (auto strict = value.getDefiningOp<StrictFloatOp>())
    value = strict.getValue();
  Operation *op = value.getDefiningOp();
  FloatAttr bound;
  return isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op) &&
         (matchPattern(op->getOperand(0), m_Constant(&bound)) ||
          matchPattern(op->getOperand(1), m_Constant(&bound))) &&
         bound.getValueAsDouble() >= -126.0;
}

/// `fastmath<ninf>` promises that 2^x is finite, so x below 128; with `fastmath<afn>` the result is
/// unspecified for x below -126. `fastmath<fast>` selects a GPU's own instruction.
static Expr translateExp2(math::Exp2Op op, Expr x) {
  if (x.type().bits() == 64 || op.getFastmath() == arith::FastMathFlags::fast)
    return callLibm("exp2", {x});
  auto has = [&](arith::FastMathFlags flag) {
    return arith::bitEnumContainsAll(op.getFastmath(), flag);
  };
  bool isAbove = has(arith::FastMathFlags::afn) || isAboveExp2Range(op.getOperand());
  return exp2F32(x, !isAbove, !has(arith::FastMathFlags::ninf));
}

/// With `fastmath<afn>` an f64 is as accurate as f32, and specified below 2^30.
template <typename Op>
static Expr translateSine(Op op, Expr x, Expr (*shortF64)(Expr), StringRef name) {
  bool isShort = arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
  return isShort && x.type().bits() == 64 ? shortF64(x) : callLibm(name, {x});
}

/// With `fastmath<afn>` the result is specified for 0 and positive normal numbers alone.
static Expr translateLogF32(math::LogOp op, Expr x) {
  bool isBounded = arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
  return isBounded ? boundedLogF32(x) : logF32(x);
}

static Expr translateMathF32OrF64(Operation *op, ArrayRef<Expr> in) {
  bool isF32 = in[0].type().bits() == 32;
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case([&](math::Exp2Op exp2) { return translateExp2(exp2, in[0]); })
      .Case([&](math::ExpOp) { return isF32 ? expF32(in[0]) : callLibm("exp", in); })
      .Case([&](math::TanhOp) { return isF32 ? tanhF32(in[0]) : callLibm("tanh", in); })
      .Case([&](math::ErfOp) { return isF32 ? erfF32(in[0]) : callLibm("erf", in); })
      .Case([&](math::ErfcOp) { return callLibm("erfc", in); })
      .Case([&](math::ExpM1Op) { return isF32 ? expM1F32(in[0]) : callLibm("expm1", in); })
      .Case([&](math::LogOp log) {
        return isF32 ? translateLogF32(log, in[0]) : callLibm("log", in);
      })
      .Case([&](math::Log2Op) { return isF32 ? log2F32(in[0]) : callLibm("log2", in); })
      .Case([&](math::Log10Op) { return isF32 ? log10F32(in[0]) : callLibm("log10", in); })
      .Case([&](math::Log1pOp) { return isF32 ? log1pF32(in[0]) : callLibm("log1p", in); })
      .Case([&](math::SinOp op) { return translateSine(op, in[0], shortSinF64, "sin"); })
      .Case([&](math::CosOp op) { return translateSine(op, in[0], shortCosF64, "cos"); })
      .Case([&](math::TanOp) { return callLibm("tan", in); })
      .Case([&](math::SinhOp) { return callLibm("sinh", in); })
      .Case([&](math::CoshOp) { return callLibm("cosh", in); })
      .Case([&](math::AsinOp) { return callLibm("asin", in); })
      .Case([&](math::AcosOp) { return callLibm("acos", in); })
      .Case([&](math::AtanOp) { return callLibm("atan", in); })
      .Case([&](math::Atan2Op) { return callLibm("atan2", in); })
      .Case([&](math::AsinhOp) { return callLibm("asinh", in); })
      .Case([&](math::AcoshOp) { return callLibm("acosh", in); })
      .Case([&](math::AtanhOp) { return callLibm("atanh", in); })
      .Case([&](math::CbrtOp) { return callLibm("cbrt", in); })
      .Case([&](math::PowFOp pow) { return translatePower(pow, in[0], in[1]); })
      .Case([&](arith::AddFOp) { return in[0] + in[1]; })
      .Case([&](arith::SubFOp) { return in[0] - in[1]; })
      .Case([&](arith::MulFOp) { return multiply(in[0], in[1]); })
      .Case([&](arith::DivFOp) { return divide(in[0], in[1]); })
      .Case([&](arith::NegFOp) { return negate(in[0]); })
      .Case([&](arith::RemFOp) { return callLibm("fmod", in); })
      .Case([&](math::SqrtOp) { return H::sqrt(in[0]); })
      .Case([&](math::RsqrtOp) { return H::Internal::make_one(in[0].type()) / H::sqrt(in[0]); })
      // Halide has no fma; LLVM contracts this where the target has one.
      .Case([&](math::FmaOp) { return in[0] * in[1] + in[2]; })
      .Case([&](math::FloorOp) { return H::floor(in[0]); })
      .Case([&](math::CeilOp) { return H::ceil(in[0]); })
      .Case([&](math::TruncOp) { return H::trunc(in[0]); })
      .Case([&](math::RoundEvenOp) { return H::round(in[0]); })
      .Case([&](math::RoundOp) { return roundAwayFromZero(in[0]); })
      .Case([&](math::AbsFOp) { // Halide's of f64 gives -0 for 0
        return isF32 ? H::abs(in[0]) : copySign(in[0], H::Internal::make_one(in[0].type()));
      })
      .Case([&](math::CopySignOp) { return copySign(in[0], in[1]); })
      .Case([&](math::IsNaNOp) { return isNaN(in[0]); })
      .Case([&](math::IsInfOp) { return isInf(in[0]); })
      .Case([&](math::IsFiniteOp) { return isFinite(in[0]); })
      .Default([](Operation *) { return Expr(); });
}

Expr halide::translateFloat(Operation *op, ArrayRef<Expr> in) {
  if (in.empty() || !in[0].type().is_float())
    return {};
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return translateCmpF(compare, in[0], in[1]);
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return translateFloatMinMax(op, in[0], in[1]);
  SmallVector<Expr> wide = llvm::map_to_vector(in, widenHalf);
  Expr result = translateMathF32OrF64(op, wide);
  if (!result.defined() || result.type().is_bool())
    return result;
  return convertFloat(in[0].type(), result);
}
