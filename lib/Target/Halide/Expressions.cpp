//===- Expressions.cpp - scalar ops as Halide expressions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where Halide and MLIR mean different things by an operator (division, shifts,
// overflow, NaN, i1), MLIR's meaning is built from Halide's.
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"
#include "MathFunctions.h"

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;
using H::Expr;

std::optional<H::Type> halide::getHalideType(Type type) {
  if (type.isF16())
    return H::Float(16);
  if (type.isBF16())
    return H::BFloat(16);
  if (type.isF32())
    return H::Float(32);
  if (type.isF64())
    return H::Float(64);
  if (type.isSignlessInteger(1))
    return H::Bool();
  for (int width : {8, 16, 32, 64})
    if (type.isSignlessInteger(width))
      return H::Int(width);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static Expr toUnsigned(Expr e) { return H::cast(e.type().with_code(H::Type::UInt), e); }
static Expr toSigned(Expr e) { return H::cast(e.type().with_code(H::Type::Int), e); }

/// An i1 as the signed number it is: true is -1.
static Expr boolToSigned(Expr e, H::Type type) {
  return H::select(e, H::cast(type, -1), H::cast(type, 0));
}

static Expr translateConstant(arith::ConstantOp op) {
  std::optional<H::Type> type = getHalideType(op.getType());
  if (!type)
    return {};
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    return H::Internal::make_const(*type, real.getValueAsDouble());
  auto integer = dyn_cast<IntegerAttr>(op.getValue());
  if (!integer)
    return {};
  return type->is_bool() ? H::Internal::make_bool(!integer.getValue().isZero())
                         : H::Internal::make_const(*type, integer.getValue().getSExtValue());
}

/// Halide takes signed overflow of 32 and 64 bits to be impossible; unsigned wraps.
static Expr wrapping(bool nowrap, Expr a, Expr b, llvm::function_ref<Expr(Expr, Expr)> op) {
  return nowrap ? op(a, b) : toSigned(op(toUnsigned(a), toUnsigned(b)));
}

static Expr translateOverflowing(Operation *op, Expr a, Expr b, bool nowrap) {
  if (a.type().is_bool())
    return isa<arith::MulIOp>(op) ? a && b : a != b;
  auto flags = cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  nowrap |= flags.hasNoSignedWrap();
  if (isa<arith::AddIOp>(op))
    return wrapping(nowrap, a, b, [](Expr x, Expr y) { return x + y; });
  if (isa<arith::SubIOp>(op))
    return wrapping(nowrap, a, b, [](Expr x, Expr y) { return x - y; });
  return wrapping(nowrap, a, b, [](Expr x, Expr y) { return x * y; });
}

static bool isPositiveConstant(Expr e) {
  std::optional<int64_t> value = H::Internal::as_const_int(e);
  return value && *value > 0;
}

/// The divisor, and 1 where a processor would trap: at 0, which lanes past the end of a tensor
/// hold as well, and where the quotient is too large, which then wraps.
static Expr withoutTrap(Expr a, Expr b) {
  std::optional<int64_t> value = H::Internal::as_const_int(b);
  if (value && *value != 0 && *value != -1)
    return b;
  return H::select(b == 0 || (b == -1 && a == a.type().min()), H::cast(b.type(), 1), b);
}

/// Halide's own division rounds down for a positive divisor.
static Expr floorDivide(Expr a, Expr b) {
  if (isPositiveConstant(b))
    return a / b;
  Expr quotient = H::div_round_to_zero(a, b);
  Expr inexact = H::mod_round_to_zero(a, b) != 0;
  return H::select(inexact && (a < 0) != (b < 0), quotient - 1, quotient);
}

static Expr ceilDivide(Expr a, Expr b) {
  if (isPositiveConstant(b))
    return -((-a) / b);
  Expr quotient = H::div_round_to_zero(a, b);
  Expr inexact = H::mod_round_to_zero(a, b) != 0;
  return H::select(inexact && (a < 0) == (b < 0), quotient + 1, quotient);
}

/// By a constant in signed numbers: bounds inference finds none for an unsigned quotient that is
/// an index. A negative dividend stands for `half` and what its other bits are.
static Expr divideUnsigned(Expr a, Expr b) {
  if (a.type().bits() != 32 || !isPositiveConstant(b))
    return toSigned(toUnsigned(a) / toUnsigned(b));
  int64_t half = int64_t(1) << 31, divisor = *H::Internal::as_const_int(b);
  auto constant = [&](int64_t value) { return H::cast(a.type(), int32_t(value)); };
  if (divisor == 1)
    return a;
  Expr low = a & constant(half - 1);
  Expr carry = H::cast(a.type(), low % b >= constant(divisor - half % divisor));
  return H::select(a >= 0, a / b, low / b + constant(half / divisor) + carry);
}

static Expr translateDivision(Operation *op, Expr a, Expr b) {
  if (a.type().is_bool())
    return {};
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    b = withoutTrap(a, b);
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<arith::DivSIOp>([&](auto) { return H::div_round_to_zero(a, b); })
      .Case<arith::RemSIOp>([&](auto) { return H::mod_round_to_zero(a, b); })
      .Case<arith::FloorDivSIOp>([&](auto) { return floorDivide(a, b); })
      .Case<arith::CeilDivSIOp>([&](auto) { return ceilDivide(a, b); })
      .Case<arith::DivUIOp>([&](auto) { return divideUnsigned(a, b); })
      .Case<arith::RemUIOp>([&](auto) { return toSigned(toUnsigned(a) % toUnsigned(b)); })
      .Case<arith::CeilDivUIOp>([&](auto) {
        Expr x = toUnsigned(a), y = toUnsigned(b);
        return toSigned(x / y + H::cast(x.type(), x % y != 0));
      })
      .Default([](Operation *) { return Expr(); });
}

/// Amounts are unsigned: Halide shifts the other way by a negative one.
static Expr translateShift(Operation *op, Expr a, Expr b) {
  if (a.type().is_bool())
    return {};
  Expr amount = toUnsigned(b);
  if (isa<arith::ShRSIOp>(op))
    return a >> amount;
  if (isa<arith::ShLIOp>(op))
    return toSigned(toUnsigned(a) << amount);
  return toSigned(toUnsigned(a) >> amount);
}

static Expr translateBitwise(Operation *op, Expr a, Expr b) {
  bool isBool = a.type().is_bool();
  if (isa<arith::AndIOp>(op))
    return isBool ? a && b : a & b;
  if (isa<arith::OrIOp>(op))
    return isBool ? a || b : a | b;
  return isBool ? a != b : a ^ b;
}

/// Both halves of a product, through a type twice as wide.
static SmallVector<Expr> translateWideProduct(Operation *op, Expr a, Expr b) {
  int width = a.type().bits();
  if (width != 8 && width != 16 && width != 32)
    return {};
  bool isSigned = isa<arith::MulSIExtendedOp>(op);
  H::Type wide = isSigned ? H::Int(2 * width) : H::UInt(2 * width);
  auto widen = [&](Expr e) { return H::cast(wide, isSigned ? e : toUnsigned(e)); };
  Expr product = widen(a) * widen(b);
  return {H::cast(a.type(), product),
          H::cast(a.type(), product >> H::cast(H::UInt(2 * width), width))};
}

static Expr translateCmpI(arith::CmpIOp op, Expr a, Expr b) {
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  bool isUnsigned = llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
  if (a.type().is_bool() && !isUnsigned)
    a = boolToSigned(a, H::Int(8)), b = boolToSigned(b, H::Int(8));
  if (isUnsigned)
    a = toUnsigned(a), b = toUnsigned(b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
  case P::ult:
    return a < b;
  case P::sle:
  case P::ule:
    return a <= b;
  case P::sgt:
  case P::ugt:
    return a > b;
  case P::sge:
  case P::uge:
    return a >= b;
  }
  return {};
}

static Expr translateIntegerMinMax(Operation *op, Expr a, Expr b) {
  if (a.type().is_bool()) // true is -1 when signed
    return isa<arith::MaxUIOp, arith::MinSIOp>(op) ? a || b : a && b;
  if (isa<arith::MaxSIOp>(op))
    return H::max(a, b);
  if (isa<arith::MinSIOp>(op))
    return H::min(a, b);
  if (isa<arith::MaxUIOp>(op))
    return toSigned(H::max(toUnsigned(a), toUnsigned(b)));
  return toSigned(H::min(toUnsigned(a), toUnsigned(b)));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// f16 and bf16 are computed in f32, as exact as they can be.
static bool isHalf(H::Type type) { return type.is_float() && type.bits() == 16; }
/// Halide's own conversion promises LLVM that there are no infinities and no NaN, and tests
/// for them would be folded away: this one is made of bits.
static Expr widenOnce(Expr e) {
  H::Type f32 = H::Float(32), u32 = H::UInt(32);
  Expr bits = H::cast(u32, H::reinterpret(H::UInt(16), e));
  if (e.type().is_bfloat())
    return H::reinterpret(f32, bits << 16);
  // The product moves the exponent, of denormals too; infinities and NaN have the largest.
  Expr magnitude = (bits & 0x7fff) << 13;
  Expr moved = H::strict_float(H::reinterpret(f32, magnitude) * H::Expr(0x1p112f));
  Expr special =
      H::select(magnitude >= H::cast(u32, 0x0f800000), H::cast(u32, 0x7f800000), H::cast(u32, 0));
  return H::reinterpret(f32, H::reinterpret(u32, moved) | special | ((bits & 0x8000) << 16));
}

static Expr widenHalf(Expr e) { return isHalf(e.type()) ? readOnce(e, widenOnce) : e; }

static bool assumesNoNaN(Operation *op) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  return fast && arith::bitEnumContainsAll(fast.getFastMathFlagsAttr().getValue(),
                                           arith::FastMathFlags::nnan);
}

/// |e| of f32 or f64 as an unsigned integer. NaN and infinities are looked for in the bits: sums
/// outside of regions promise LLVM that there are none, and `e != e` of what comes from one would
/// be folded away.
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

/// f32 or f64 as `type`. Halide's own conversions make infinities or zeros of some NaN.
static Expr narrow(H::Type type, Expr e) {
  if (!isHalf(type))
    return H::cast(type, e);
  Expr quiet = H::reinterpret(type, H::cast(H::UInt(16), type.is_bfloat() ? 0x7fc0 : 0x7e00));
  return readOnce(e, [&](Expr x) { return blend(isNaN(x), quiet, H::cast(type, x)); });
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

/// maximumf and minimumf give NaN where one operand is NaN, maxnumf and minnumf the
/// other operand.
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

/// Of zero times a sum, which promises to be no NaN, LLVM makes zero.
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

/// Whether a value is a maximum with a constant of at least -126.
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

/// `fastmath<ninf>` promises that 2^x is finite, so x below 128; `fastmath<afn>` asks for
/// nothing below -126.
static Expr translateExp2(math::Exp2Op op, Expr x) {
  if (x.type().bits() == 64)
    return callLibm("exp2", {x});
  auto has = [&](arith::FastMathFlags flag) {
    return arith::bitEnumContainsAll(op.getFastmath(), flag);
  };
  bool isAbove = has(arith::FastMathFlags::afn) || isAboveExp2Range(op.getOperand());
  return exp2F32(x, !isAbove, !has(arith::FastMathFlags::ninf));
}

static Expr translateMathF32OrF64(Operation *op, ArrayRef<Expr> in) {
  bool isF32 = in[0].type().bits() == 32;
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case([&](math::Exp2Op exp2) { return translateExp2(exp2, in[0]); })
      .Case([&](math::ExpOp) { return isF32 ? expF32(in[0]) : callLibm("exp", in); })
      .Case([&](math::TanhOp) { return isF32 ? tanhF32(in[0]) : callLibm("tanh", in); })
      .Case([&](math::ErfOp) { return isF32 ? erfF32(in[0]) : callLibm("erf", in); })
      .Case([&](math::ErfcOp) { return callLibm("erfc", in); })
      .Case([&](math::ExpM1Op) { return callLibm("expm1", in); })
      .Case([&](math::LogOp) { return callLibm("log", in); })
      .Case([&](math::Log2Op) { return callLibm("log2", in); })
      .Case([&](math::Log10Op) { return callLibm("log10", in); })
      .Case([&](math::Log1pOp) { return callLibm("log1p", in); })
      .Case([&](math::SinOp) { return callLibm("sin", in); })
      .Case([&](math::CosOp) { return callLibm("cos", in); })
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
      .Case([&](arith::NegFOp) { return -in[0]; })
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
      .Case([&](math::AbsFOp) { return H::abs(in[0]); })
      .Case([&](math::CopySignOp) { return copySign(in[0], in[1]); })
      .Case([&](math::IsNaNOp) { return isNaN(in[0]); })
      .Case([&](math::IsInfOp) { return isInf(in[0]); })
      .Case([&](math::IsFiniteOp) { return isFinite(in[0]); })
      .Default([](Operation *) { return Expr(); });
}

static Expr translateMath(Operation *op, ArrayRef<Expr> operands) {
  if (operands.empty() || !operands[0].type().is_float())
    return {};
  SmallVector<Expr> wide = llvm::map_to_vector(operands, widenHalf);
  Expr result = translateMathF32OrF64(op, wide);
  if (!result.defined() || result.type().is_bool())
    return result;
  return narrow(operands[0].type(), result);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Halide's simplifier drops the middle of int8(int32(float)), as if both meant the same.
/// Two xors, which LLVM removes, keep it from seeing through.
static Expr truncateFloat(H::Type type, Expr in) {
  Expr one = H::Internal::make_one(type);
  return (H::cast(type, in) ^ one) ^ one;
}

static Expr translateFloatToInt(Operation *op, H::Type type, Expr in, bool isCoordinate) {
  if (type.is_bool())
    return {};
  if (isCoordinate)
    return H::cast(type, in);
  return isa<arith::FPToSIOp>(op) ? truncateFloat(type, in)
                                  : toSigned(truncateFloat(H::UInt(type.bits()), in));
}

static Expr translateCast(Operation *op, Expr in, bool isCoordinate) {
  std::optional<H::Type> type = getHalideType(op->getResult(0).getType());
  if (!type)
    return {};
  bool fromBool = in.type().is_bool();
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return narrow(*type, widenHalf(in)); })
      .Case<arith::ExtSIOp, arith::SIToFPOp>(
          [&](auto) { return fromBool ? boolToSigned(in, *type) : H::cast(*type, in); })
      .Case<arith::ExtUIOp, arith::UIToFPOp>(
          [&](auto) { return H::cast(*type, fromBool ? in : toUnsigned(in)); })
      .Case<arith::FPToSIOp, arith::FPToUIOp>(
          [&](auto) { return translateFloatToInt(op, *type, in, isCoordinate); })
      .Case<arith::TruncIOp>([&](auto) {
        return type->is_bool() ? (in & 1) != 0 : toSigned(H::cast(H::UInt(type->bits()), in));
      })
      .Case<arith::BitcastOp>([&](auto) { return H::reinterpret(*type, in); })
      .Default([](Operation *) { return Expr(); });
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static Expr translateOne(Operation *op, ArrayRef<Expr> in, bool nowrap) {
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case([&](arith::ConstantOp constant) { return translateConstant(constant); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>(
          [&](auto) { return translateOverflowing(op, in[0], in[1], nowrap); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
            arith::CeilDivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return translateDivision(op, in[0], in[1]); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(
          [&](auto) { return translateShift(op, in[0], in[1]); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](auto) { return translateBitwise(op, in[0], in[1]); })
      .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
          [&](auto) { return translateIntegerMinMax(op, in[0], in[1]); })
      .Case([&](arith::CmpIOp compare) { return translateCmpI(compare, in[0], in[1]); })
      .Case([&](arith::CmpFOp compare) { return translateCmpF(compare, in[0], in[1]); })
      .Case([&](arith::SelectOp) {
        return in[1].type().is_float() ? blend(in[0], in[1], in[2])
                                       : H::select(in[0], in[1], in[2]);
      })
      .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(
          [&](auto) { return translateFloatMinMax(op, in[0], in[1]); })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
            arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp>(
          [&](auto) { return translateCast(op, in[0], nowrap); })
      .Case([&](math::AbsIOp) { return H::cast(in[0].type(), H::abs(in[0])); })
      .Case([&](math::CtPopOp) { return H::cast(in[0].type(), H::popcount(in[0])); })
      .Case([&](ModOp) { return in[0] % in[1]; })
      .Case([&](StrictFloatOp) { return H::strict_float(in[0]); })
      .Case([&](LikelyOp) { return H::likely(in[0]); })
      .Case([&](PromiseClampedOp) { return H::unsafe_promise_clamped(in[0], in[1], in[2]); })
      .Default([&](Operation *) { return translateMath(op, in); });
}

SmallVector<Expr> halide::translateScalarOp(Operation *op, ArrayRef<Expr> operands, bool nowrap) {
  if (isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp>(op))
    return translateWideProduct(op, operands[0], operands[1]);
  Expr result = translateOne(op, operands, nowrap);
  return result.defined() ? SmallVector<Expr>{result} : SmallVector<Expr>();
}
