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
#include "attnc/Target/Halide/Export.h"

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

static bool hasFlag(Operation *op, arith::FastMathFlags flag) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags = fast ? fast.getFastMathFlagsAttr() : nullptr;
  return flags && arith::bitEnumContainsAll(flags.getValue(), flag);
}

bool halide::assumesNoNaN(Operation *op) { return hasFlag(op, arith::FastMathFlags::nnan); }

static Expr isInf(Expr e) { return magnitude(e) == magnitudeOfInfinity(e.type()); }

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
  std::optional<double> bound = H::Internal::as_const_float(y);
  if (!propagates && bound && !std::isnan(*bound))
    return blend(isMax ? strictLess(b, a) : strictLess(a, b), x, y);
  return blend(takeSecond || isNaN(propagates ? b : a), y, x);
}

//===----------------------------------------------------------------------===//
// Elementary functions
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getSmallInteger(Value value) {
  FloatAttr attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  double number = attr.getValueAsDouble();
  if (number != std::floor(number) || std::abs(number) > 8)
    return std::nullopt;
  return int64_t(number);
}

static bool isApproximate(Operation *op) { return hasFlag(op, arith::FastMathFlags::afn); }

/// With `fastmath<fast>` exp2 selects a GPU's own instruction.
static bool callsLibm(Operation *op, bool isF32, bool isOnGpu) {
  if (isa<arith::RemFOp, math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp, math::AtanOp,
          math::Atan2Op, math::AtanhOp, math::CbrtOp, math::CoshOp, math::ErfcOp, math::SinhOp,
          math::TanOp>(op))
    return true;
  if (isa<math::SinOp, math::CosOp>(op))
    return isF32 ? isOnGpu : !isApproximate(op);
  if (auto power = dyn_cast<math::PowFOp>(op))
    return (!isF32 || isOnGpu) && !getSmallInteger(power.getRhs());
  if (auto exp2 = dyn_cast<math::Exp2Op>(op))
    return !isF32 || exp2.getFastmath() == arith::FastMathFlags::fast;
  return !isF32 && isa<math::ErfOp, math::ExpM1Op, math::ExpOp, math::LogOp, math::Log10Op,
                       math::Log1pOp, math::Log2Op, math::TanhOp>(op);
}

bool halide::callsLibm(Operation *op) {
  return op->getNumOperands() > 0 &&
         ::callsLibm(op, !op->getOperand(0).getType().isF64(), /*isOnGpu=*/false);
}

static Expr callLibm(Operation *op, ArrayRef<Expr> in) {
  StringRef name = isa<arith::RemFOp>(op)  ? "fmod"
                   : isa<math::PowFOp>(op) ? "pow"
                                           : op->getName().stripDialect();
  H::Type type = in.front().type();
  std::string symbol = name.str() + (type.bits() == 32 ? "f" : "");
  return H::Internal::Call::make(type, symbol, {in.begin(), in.end()},
                                 H::Internal::Call::PureExtern);
}

/// `value`, or libm's where that is NaN: one branch for each lane.
static Expr elseCallLibm(Expr value, Operation *op, ArrayRef<Expr> in) {
  return readOnce(value, [&](Expr once) {
    return H::Internal::Call::make(once.type(), H::Internal::Call::if_then_else,
                                   {!isNaN(once), once, callLibm(op, in)},
                                   H::Internal::Call::PureIntrinsic);
  });
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

/// `fastmath<ninf>` promises that 2^x is finite, so x below 128; an approximate result is
/// unspecified for x below -126.
static Expr translateExp2(math::Exp2Op op, Expr x) {
  bool isAbove = isApproximate(op) || isAboveExp2Range(op.getOperand());
  return exp2F32(x, !isAbove, !hasFlag(op, arith::FastMathFlags::ninf));
}

static Expr translatePower(math::PowFOp op, Expr x, Expr y) {
  std::optional<int64_t> n = getSmallInteger(op.getRhs());
  return n ? integerPower(x, *n) : powF32(x, y);
}

/// An f64 that is approximate is as accurate as f32, and specified below 2^30.
static Expr translateSine(Operation *op, Expr x, Expr (*shortF32)(Expr), Expr (*shortF64)(Expr)) {
  if (x.type().bits() == 64)
    return shortF64(x);
  return readOnce(x, [&](Expr once) { return elseCallLibm(shortF32(once), op, once); });
}

/// An approximate one is specified for 0 and positive normal numbers alone.
static Expr translateLog(math::LogOp op, Expr x) {
  return isApproximate(op) ? boundedLogF32(x) : logF32(x);
}

/// Each of these features implies it.
static bool hasSSE41(const H::Target &target) {
  return target.features_any_of({H::Target::SSE41, H::Target::AVX, H::Target::AVX2,
                                 H::Target::AVX512_Skylake, H::Target::AVX512_KNL,
                                 H::Target::AVX512_Cannonlake, H::Target::AVX512_SapphireRapids,
                                 H::Target::AVX512_Zen4, H::Target::AVX512_Zen5});
}

/// Without SSE4.1, Halide rounds by way of integers: what they don't hold is whole, infinite or
/// NaN.
static Expr roundToEven(Expr x, const H::Target &target) {
  if (target.arch != H::Target::X86 || hasSSE41(target))
    return H::round(x);
  Expr firstWhole = H::Internal::make_const(x.type(), x.type().bits() == 32 ? 0x1p23 : 0x1p52);
  return blend(strictLess(H::abs(x), firstWhole), copySign(H::round(x), x), x);
}

/// Rounded once. A sum of a product would be two roundings, or one where LLVM contracts it; on GPUs
/// it does.
static Expr fuseMultiplyAdd(ArrayRef<Expr> in, const H::Target &target) {
  H::Type type = in[0].type();
  if (target.has_gpu_feature())
    return in[0] * in[1] + in[2];
  return H::Internal::Call::make(type, type.bits() == 32 ? "llvm.fma.f32" : "llvm.fma.f64",
                                 {in[0], in[1], in[2]}, H::Internal::Call::PureExtern);
}

static Expr translateMathF32OrF64(Operation *op, ArrayRef<Expr> in, const H::Target &target) {
  bool isF32 = in[0].type().bits() == 32, isOnGpu = target.has_gpu_feature();
  if (callsLibm(op, isF32, isOnGpu))
    return callLibm(op, in);
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case([&](math::Exp2Op exp2) { return translateExp2(exp2, in[0]); })
      .Case([&](math::ExpOp) { return expF32(in[0]); })
      .Case([&](math::TanhOp) { return tanhF32(in[0]); })
      .Case([&](math::ErfOp) { return erfF32(in[0]); })
      .Case([&](math::ExpM1Op) { return expM1F32(in[0]); })
      .Case([&](math::LogOp log) { return translateLog(log, in[0]); })
      .Case([&](math::Log2Op) { return log2F32(in[0]); })
      .Case([&](math::Log10Op) { return log10F32(in[0]); })
      .Case([&](math::Log1pOp) { return log1pF32(in[0]); })
      .Case([&](math::SinOp) { return translateSine(op, in[0], shortSinF32, shortSinF64); })
      .Case([&](math::CosOp) { return translateSine(op, in[0], shortCosF32, shortCosF64); })
      .Case([&](math::PowFOp power) { return translatePower(power, in[0], in[1]); })
      .Case([&](arith::AddFOp) { return in[0] + in[1]; })
      .Case([&](arith::SubFOp) { return in[0] - in[1]; })
      .Case([&](arith::MulFOp) { return multiply(in[0], in[1]); })
      .Case([&](arith::DivFOp) { return divide(in[0], in[1]); })
      .Case([&](arith::NegFOp) { return negate(in[0]); })
      .Case([&](math::SqrtOp) { return H::sqrt(in[0]); })
      .Case([&](math::RsqrtOp) { return H::Internal::make_one(in[0].type()) / H::sqrt(in[0]); })
      .Case([&](math::FmaOp) { return fuseMultiplyAdd(in, target); })
      .Case([&](math::FloorOp) { return H::floor(in[0]); })
      .Case([&](math::CeilOp) { return H::ceil(in[0]); })
      .Case([&](math::TruncOp) { return H::trunc(in[0]); })
      .Case([&](math::RoundEvenOp) { return roundToEven(in[0], target); })
      .Case([&](math::RoundOp) { return roundAwayFromZero(in[0]); })
      .Case([&](math::AbsFOp) { // Halide's gives -0 for it in f64, and on GPUs
        return isF32 && !isOnGpu ? H::abs(in[0])
                                 : copySign(in[0], H::Internal::make_one(in[0].type()));
      })
      .Case([&](math::CopySignOp) { return copySign(in[0], in[1]); })
      .Case([&](math::IsNaNOp) { return isNaN(in[0]); })
      .Case([&](math::IsInfOp) { return isInf(in[0]); })
      .Case([&](math::IsFiniteOp) { return isFinite(in[0]); })
      .Default([](Operation *) { return Expr(); });
}

Expr halide::translateFloat(Operation *op, ArrayRef<Expr> in, const H::Target &target) {
  if (in.empty() || !in[0].type().is_float())
    return {};
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return translateCmpF(compare, in[0], in[1]);
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return translateFloatMinMax(op, in[0], in[1]);
  SmallVector<Expr> wide = llvm::map_to_vector(in, widenHalf);
  Expr result = translateMathF32OrF64(op, wide, target);
  if (!result.defined() || result.type().is_bool())
    return result;
  return convertFloat(in[0].type(), result);
}
