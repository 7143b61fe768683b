//===- MathFunctions.cpp - elementary functions as expressions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/unit/ExpressionsTest.cpp measures their errors over a million arguments each.
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"

#include "StrictFloat.h"

#include "attnc/Dialect/Attn/Erf.h"

#include "llvm/ADT/ArrayRef.h"

#include <limits>

using namespace Halide;

namespace mlir::halide {

/// One strict operation. (Halide's strict_float would make its whole operand tree strict, which
/// costs the operands their fused multiply-adds.)
static Expr strictOp(Type type, Internal::Call::IntrinsicOp op, Expr a, Expr b) {
  return Internal::Call::make(type, op, {std::move(a), std::move(b)},
                              Internal::Call::PureIntrinsic);
}

static Expr strictAdd(Expr a, Expr b) {
  return strictOp(a.type(), Internal::Call::strict_add, a, b);
}
static Expr strictSub(Expr a, Expr b) {
  return strictOp(a.type(), Internal::Call::strict_sub, a, b);
}
static Expr strictMul(Expr a, Expr b) {
  return strictOp(a.type(), Internal::Call::strict_mul, a, b);
}
static Expr strictDiv(Expr a, Expr b) {
  return strictOp(a.type(), Internal::Call::strict_div, a, b);
}

Expr strictLess(Expr a, Expr b) { return strictOp(Bool(), Internal::Call::strict_lt, a, b); }
// Halide 21 compiles its own strict_le as "not greater", which is true for NaN.
Expr strictLessEqual(Expr a, Expr b) { return strictLess(a, b) || strictEqual(a, b); }
Expr strictEqual(Expr a, Expr b) { return strictOp(Bool(), Internal::Call::strict_eq, a, b); }

Expr readOnce(Expr x, const std::function<Expr(Expr)> &function) {
  std::string name = Internal::unique_name('x');
  return Internal::Let::make(name, x, function(Internal::Variable::make(x.type(), name)));
}

/// Coefficients from the highest power down.
static Expr polynomial(Expr x, llvm::ArrayRef<float> coefficients) {
  Expr result;
  for (float c : coefficients)
    result = result.defined() ? result * x + c : Expr(c);
  return result;
}

// A select whose condition reads a func keeps Halide from skipping the loops that compute an unused
// func; LLVM makes the same instructions of this. Bits are signed, as `widenHalf` says.
Expr blend(Expr condition, Expr yes, Expr no) {
  if (yes.type().is_bool())
    return (condition && yes) || (!condition && no);
  Type bits = Int(yes.type().bits());
  Expr mask = -cast(bits, condition);
  return reinterpret(yes.type(), (reinterpret(bits, yes) & mask) | (reinterpret(bits, no) & ~mask));
}

namespace {
class FindCalls : public Internal::IRGraphVisitor {
public:
  bool found = false;

private:
  using IRGraphVisitor::visit;
  void visit(const Internal::Call *call) override {
    found |= call->call_type == Internal::Call::Halide;
    IRGraphVisitor::visit(call);
  }
};
} // namespace

Expr choose(Expr condition, Expr yes, Expr no) {
  FindCalls calls;
  condition.accept(&calls);
  return calls.found ? blend(condition, yes, no) : select(condition, yes, no);
}

Expr magnitude(Expr e) {
  Type bits = UInt(e.type().bits());
  return reinterpret(bits, e) & (bits.max() >> 1);
}
Expr magnitudeOfInfinity(Type type) {
  Type bits = UInt(type.bits());
  return Internal::make_const(bits, type.bits() == 32 ? 0x7f800000 : 0x7ff0000000000000);
}
Expr isNaN(Expr e) { return magnitude(e) > magnitudeOfInfinity(e.type()); }
Expr isFinite(Expr e) { return magnitude(e) < magnitudeOfInfinity(e.type()); }

/// max and min that let NaN through.
static Expr clampBelow(Expr x, float low) { return blend(strictLess(x, low), low, x); }
static Expr clampAbove(Expr x, float high) { return blend(strictLess(high, x), high, x); }

namespace {
/// x = integer + fraction, fraction within ±1/2; half is 2^(integer - 1).
struct Split2 {
  Expr integer, half;
};
} // namespace

/// Adding 1.5·2^23 rounds to an integer in the low bits of the sum; with another 126 added those
/// bits are the exponent field of 2^(n - 1).
static Split2 roundToExponent(Expr x) {
  const float magic = 12582912.0f + 126.0f;
  Expr shifted = strictAdd(x, magic);
  Expr half = reinterpret<float>(reinterpret<int>(shifted) << 23);
  return {strictSub(shifted, magic), half};
}

// The polynomial is minimax with 2^0 exact, so integers have exact powers; its error is about 2
// ulp. The scale is 2^(n - 1) and the polynomial twice as large, so that 2^128 - 1ulp is still
// finite. It multiplies, rather than adds to the exponent's bits, to propagate NaN.
static Expr twiceExp2(Expr fraction) {
  return polynomial(fraction, {2 * 1.326472614891827e-3f, 2 * 9.671512991189957e-3f,
                               2 * 5.550733581185341e-2f, 2 * 2.4022242426872253e-1f,
                               2 * 6.931470036506653e-1f, 2.0f});
}

Expr exp2F32(Expr x, bool clampLow, bool clampHigh) {
  if (clampLow)
    x = clampBelow(x, -126.0f);
  if (clampHigh)
    x = clampAbove(x, 129.0f);
  Split2 n = roundToExponent(x);
  return twiceExp2(strictSub(x, n.integer)) * n.half;
}

Expr exp2BF16(Expr x) {
  Split2 n = roundToExponent(x);
  Expr p =
      polynomial(strictSub(x, n.integer), {2 * 0.05500864f, 2 * 0.2422105f, 2 * 0.69328291f, 2.0f});
  return p * n.half;
}

/// `function` of x clamped to a range where sums and products in it are numbers; NaN for NaN.
static Expr ofNumbers(Expr x, float least, float most, const std::function<Expr(Expr)> &function) {
  Expr low = Internal::make_const(x.type(), least), high = Internal::make_const(x.type(), most);
  return readOnce(x, [&](const Expr &once) {
    Expr above = blend(strictLess(low, once), once, low); // also for NaN
    Expr number = blend(strictLess(above, high), above, high);
    return blend(isNaN(once), once, keepFast(number, function));
  });
}

/// `function` of x with the sign of x, also where x is -0.
static Expr keepSign(Expr x, const std::function<Expr(Expr)> &function) {
  return readOnce(x, [&](const Expr &once) {
    Expr sign = reinterpret<int>(once) & std::numeric_limits<int>::min();
    return reinterpret<float>(reinterpret<int>(function(once)) | sign);
  });
}

static Expr exp2WithinRange(Expr x) {
  return readOnce(
      x, [](const Expr &once) { return exp2F32(once, /*clampLow=*/false, /*clampHigh=*/false); });
}

/// exp(x) = 2 · half · (less + 1).
struct PowerOfE {
  Expr less, half;
};

/// exp(x) = 2^n · exp(r), r = x - n·ln 2 in two steps (Cody and Waite); the polynomial is Cephes'
/// expf.
static PowerOfE raiseE(Expr x) {
  Split2 n = roundToExponent(strictMul(x, 1.44269504088896341f));
  Expr r = strictSub(x, strictMul(n.integer, 0.693359375f));
  r = strictSub(r, strictMul(n.integer, -2.12194440e-4f));
  Expr p = polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                          1.6666665459e-1f, 5.0000001201e-1f});
  return {p * (r * r) + r, n.half};
}

// Results below 2^-125.5 are 0.
static Expr expOfNumber(Expr x) {
  PowerOfE power = raiseE(x);
  Expr p = power.less + 1.0f;
  return strictMul(p + p, power.half); // may overflow
}

Expr expF32(Expr x) { return ofNumbers(x, -87.5f, 89.0f, expOfNumber); }

// Exact near 0, where half is 1/2.
static Expr expM1OfNumber(Expr x) {
  PowerOfE power = raiseE(x);
  Expr half = power.less * power.half + strictSub(power.half, 0.5f);
  return strictMul(half, 2.0f); // may overflow
}

Expr expM1F32(Expr x) {
  return keepSign(x, [](Expr once) { return ofNumbers(once, -20.0f, 89.0f, expM1OfNumber); });
}

// tanh(x) = E / (E + 2), E = exp(2x) - 1 = 2^n · (2^f - 1) + (2^n - 1): exact near 0, where n is 0,
// and never beyond 1. The polynomial is minimax relative to its product with f.
static Expr tanhOfNumber(Expr x) {
  Expr power = strictMul(x, 2.88539008177792681f);
  Split2 n = roundToExponent(power);
  Expr f = strictSub(power, n.integer);
  Expr p = polynomial(f, {1.5403512613882275e-4f, 1.3390826965359662e-3f, 9.61823784123007e-3f,
                          5.550357262750452e-2f, 2.402264979063553e-1f, 6.93147187961991e-1f});
  Expr half = strictMul(p, f) * n.half + strictSub(n.half, 0.5f);
  return half / (half + 1.0f);
}

Expr tanhF32(Expr x) {
  return keepSign(x, [](Expr once) { return ofNumbers(once, -10.0f, 10.0f, tanhOfNumber); });
}

/// x = 2^exponent · (1 + f), 1 + f between the roots of 1/2 and 2, and log(1 + f) = f + cubic -
/// square / 2.
struct LogParts {
  Expr f, square, cubic, exponent;
};

namespace {
/// A positive normal number as 2^exponent · significand.
struct NumberParts {
  Expr exponent, significand; // between the roots of 1/2 and 2
};
} // namespace

static NumberParts splitNumber(Expr x) {
  const int rootOfHalf = 0x3f3504f3;
  Expr n = (reinterpret<int>(x) - rootOfHalf) >> 23;
  return {n, reinterpret<float>(reinterpret<int>(x) - (n << 23))};
}

/// Of a positive normal number; of others its sums are numbers, too. The polynomial is Cephes'
/// logf.
static LogParts splitLog(Expr x) {
  NumberParts number = splitNumber(x);
  Expr f = strictSub(number.significand, 1.0f);
  Expr p = polynomial(f, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                          1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f,
                          3.3333331174e-1f});
  Expr square = f * f;
  return {f, square, p * f * square, cast<float>(number.exponent)};
}

/// The logarithm of 2 is in two parts, the first of few bits.
static Expr joinLog(const LogParts &log) {
  Expr small = strictAdd(log.cubic, strictMul(log.exponent, -2.12194440e-4f));
  small = strictSub(small, 0.5f * log.square);
  return strictAdd(strictAdd(log.f, small), strictMul(log.exponent, 0.693359375f));
}

/// Powers of 2 have exact logarithms.
static Expr joinLog2(const LogParts &log) {
  const float rest = 0.44269504088896341f; // log2 e - 1
  Expr small = strictSub(log.cubic, 0.5f * log.square);
  Expr less = strictAdd(strictMul(log.f, rest), strictMul(small, rest));
  return strictAdd(strictAdd(strictAdd(less, small), log.f), log.exponent);
}

/// Both log10 e and log10 2 are in two parts.
static Expr joinLog10(const LogParts &log) {
  Expr small = strictSub(log.cubic, 0.5f * log.square);
  Expr sum = strictMul(strictAdd(log.f, small), 7.00731903251827651e-4f);
  sum = strictAdd(sum, strictMul(small, 4.3359375e-1f));
  sum = strictAdd(sum, strictMul(log.f, 4.3359375e-1f));
  sum = strictAdd(sum, strictMul(log.exponent, 2.48745663981195214e-4f));
  return strictAdd(sum, strictMul(log.exponent, 3.0078125e-1f));
}

Expr boundedLogF32(Expr x) {
  return readOnce(x, [](const Expr &once) {
    return blend(strictEqual(once, 0.0f), -std::numeric_limits<float>::infinity(),
                 joinLog(splitLog(once)));
  });
}

static Expr isPositiveNumber(Expr x) {
  return strictLess(0.0f, x) && strictLess(x, std::numeric_limits<float>::infinity());
}

/// Denormals are scaled by 2^23.
static Expr logOfAny(Expr x, Expr (*join)(const LogParts &)) {
  const float inf = std::numeric_limits<float>::infinity();
  return readOnce(x, [&](const Expr &once) {
    Expr isTiny = strictLess(once, std::numeric_limits<float>::min());
    Expr scaled = blend(isTiny, strictMul(once, 8388608.0f), once);
    Expr log = keepFast(scaled, [&](const Expr &number) {
      LogParts parts = splitLog(number);
      parts.exponent = strictSub(parts.exponent, blend(isTiny, 23.0f, 0.0f));
      return join(parts);
    });
    Expr ofOthers = blend(strictLess(0.0f, once), inf, std::numeric_limits<float>::quiet_NaN());
    Expr ofNumber =
        blend(isPositiveNumber(once), log, blend(strictEqual(once, 0.0f), -inf, ofOthers));
    return blend(isNaN(once), once, ofNumber);
  });
}

Expr logF32(Expr x) { return logOfAny(x, joinLog); }
Expr log2F32(Expr x) { return logOfAny(x, joinLog2); }
Expr log10F32(Expr x) { return logOfAny(x, joinLog10); }

// log(1 + x) = log(u) + (x - (u - 1)) / u, u = 1 + x rounded.
Expr log1pF32(Expr x) {
  return keepSign(x, [](const Expr &once) {
    return readOnce(strictAdd(once, 1.0f), [&](const Expr &u) {
      Expr lost = strictSub(once, strictSub(u, 1.0f));
      return strictAdd(logF32(u), blend(isPositiveNumber(u), strictDiv(lost, u), 0.0f));
    });
  });
}

/// log2 of a positive normal number to 2^-38 of it: the series of the inverse hyperbolic tangent,
/// log(m) = 2 · atanh((m - 1) / (m + 1)).
static Expr log2InF64(Expr x) {
  NumberParts number = splitNumber(x);
  const Expr one = Internal::make_one(Float(64));
  Expr m = cast<double>(number.significand), s = (m - one) / (m + one), square = s * s;
  Expr sum;
  for (int odd = 15; odd > 0; odd -= 2) {
    Expr term = Internal::make_const(Float(64), 2 * 1.44269504088896340736 / odd);
    sum = sum.defined() ? sum * square + term : term;
  }
  return sum * s + cast<double>(number.exponent);
}

/// 2^power, of which the fraction alone is computed in f32.
static Expr exp2OfF64(Expr power) {
  const Expr magic = Internal::make_const(Float(64), 0x1.8p52 + 126);
  Expr shifted = strictAdd(power, magic);
  Expr fraction = cast<float>(strictSub(power, strictSub(shifted, magic)));
  Expr half = reinterpret<float>(cast<int>(reinterpret<int64_t>(shifted)) << 23);
  return twiceExp2(fraction) * half;
}

/// The same of any number that is positive.
static Expr log2OfAnyInF64(Expr x) {
  Expr isTiny = reinterpret<int>(x) < 0x00800000;
  Expr scaled = blend(isTiny, strictMul(x, 8388608.0f), x);
  return log2InF64(scaled) - cast<double>(blend(isTiny, 23.0f, 0.0f));
}

namespace {
/// An exponent: whether it is an integer, and an odd one.
struct Parity {
  Expr isInteger, isOdd;
};
} // namespace

/// Numbers of 2^24 and more are even.
static Parity findParity(Expr y) {
  Expr small = blend((reinterpret<int>(y) & 0x7fffffff) < 0x4b800000, y, 0.0f);
  Expr whole = cast<int>(small);
  Expr isInteger = strictEqual(cast<float>(whole), small);
  return {isInteger, isInteger && (whole & 1) != 0};
}

/// Of |x|, that is neither 0 nor infinite, and a finite y: a product of two powers of 2 covers all
/// results.
static Expr powOfNumbers(Expr x, Expr y) {
  auto clampTo = [](Expr t, double limit) {
    return clamp(t, Internal::make_const(Float(64), -limit),
                 Internal::make_const(Float(64), limit));
  };
  return readOnce(clampTo(cast<double>(y) * log2OfAnyInF64(x), 250), [&](Expr power) {
    return readOnce(clampTo(power, 125),
                    [&](Expr most) { return exp2OfF64(most) * exp2OfF64(power - most); });
  });
}

/// Of numbers, then the special cases of C's pow, each over those before. All are told by bits.
static Expr powOfOnce(Expr x, Expr y) {
  const float inf = std::numeric_limits<float>::infinity();
  const int one = 0x3f800000, infinite = 0x7f800000, most = 0x7fffffff;
  Expr ofX = reinterpret<int>(x), ofY = reinterpret<int>(y), sizeOfX = ofX & most,
       sizeOfY = ofY & most;
  Expr isXNegative = ofX < 0, isYNegative = ofY < 0;
  Expr isXZero = sizeOfX == 0, isXInfinite = sizeOfX == infinite, isYInfinite = sizeOfY == infinite;
  Parity parity = findParity(y);

  Expr result = powOfNumbers(reinterpret<float>(sizeOfX), blend(sizeOfY < infinite, y, 0.0f));
  result = blend(isXZero, blend(isYNegative, inf, 0.0f), result);
  result = blend(isXInfinite, blend(isYNegative, 0.0f, inf), result);
  Expr grows = (sizeOfX > one) != isYNegative;
  result = blend(isYInfinite, blend(sizeOfX == one, 1.0f, blend(grows, inf, 0.0f)), result);
  result = blend(isXNegative && parity.isOdd, copySign(result, -1.0f), result);
  Expr isReal = !isXNegative || parity.isInteger || isXZero || isXInfinite;
  Expr isNumber = isReal && sizeOfX <= infinite && sizeOfY <= infinite;
  result = blend(isNumber, result, std::numeric_limits<float>::quiet_NaN());
  return blend(sizeOfY == 0 || ofX == one, 1.0f, result);
}

Expr powF32(Expr x, Expr y) {
  return readOnce(x, [&](const Expr &base) {
    return readOnce(y, [&](const Expr &exponent) { return powOfOnce(base, exponent); });
  });
}

static Expr erfOfNumber(Expr x) {
  Expr t = abs(x);
  Expr small = polynomial(x * x, attn::kErfNearZero), tail = polynomial(t, attn::kErfTail);
  Expr large = 1.0f - exp2WithinRange(tail * t);
  // Not strict, x · (small + 1) would be as good, and other roundings in one kernel than in the
  // next.
  return blend(strictLess(t, attn::kErfTailFrom), strictAdd(strictMul(small, x), x),
               copySign(large, x));
}

Expr erfF32(Expr x) { return ofNumbers(x, -attn::kLargestErf, attn::kLargestErf, erfOfNumber); }

namespace {
/// x - quarter · π/2, within ±π/4, for the nearest `quarter`.
struct QuarterParts {
  Expr rest, quarter;
};
} // namespace

/// Cody and Waite's reduction: `parts` add up to π/2. All but the last have few bits: their
/// products with as many quarters as the type has more bits are exact. They are positive, so that
/// -0 stays -0. Adding `magic`, 1.5 · 2^23 or 2^52, rounds to an integer in the low bits of the
/// sum.
static QuarterParts splitQuarter(Expr x, double magic, llvm::ArrayRef<double> parts) {
  Type type = x.type();
  auto constant = [&](double c) { return Internal::make_const(type, c); };
  Expr shifted = strictAdd(strictMul(x, constant(0x1.45f306dc9c883p-1)), constant(magic));
  Expr n = strictSub(shifted, constant(magic)), rest = x;
  for (double part : parts)
    rest = strictSub(rest, strictMul(n, constant(part)));
  return {rest, cast<int>(reinterpret(Int(type.bits()), shifted))};
}

/// sin(rest + (quarter + quarters) · π/2). The polynomials are Cephes' sinf and cosf.
static Expr sineOf(QuarterParts parts, int quarters) {
  Expr quadrant = parts.quarter + quarters;
  return ofNumbers(parts.rest, -1.0f, 1.0f, [&](Expr number) {
    Expr r = cast<float>(number), square = r * r;
    Expr p = polynomial(square, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f});
    Expr odd = copySign(p * square * r + r, r); // also of -0
    Expr even = polynomial(square, {2.443315711809948e-5f, -1.388731625493765e-3f,
                                    4.166664568298827e-2f, -0.5f, 1.0f});
    Expr value = blend((quadrant & 1) == 0, odd, even);
    Expr negative = reinterpret<float>(reinterpret<int>(value) ^ std::numeric_limits<int>::min());
    return cast(number.type(), blend((quadrant & 2) != 0, negative, value));
  });
}

static Expr shortSineF64(Expr x, int quarters) {
  return readOnce(x, [&](Expr once) {
    return sineOf(
        splitQuarter(once, 0x1.8p52, {0x1.921fb5p+0, 0x1.110b46p-26, 0x1.1a62633145c07p-54}),
        quarters);
  });
}

Expr shortSinF64(Expr x) { return shortSineF64(x, 0); }
Expr shortCosF64(Expr x) { return shortSineF64(x, 1); }

static Expr shortSineF32(Expr x, int quarters) {
  return readOnce(x, [&](Expr once) {
    QuarterParts parts = splitQuarter(
        once, 0x1.8p23, {0x1.92p+0, 0x1.fap-12, 0x1.54p-20, 0x1.1p-30, 0x1.68c234p-39});
    return blend(strictLess(abs(once), 1e5f), sineOf(parts, quarters),
                 std::numeric_limits<float>::quiet_NaN());
  });
}

Expr shortSinF32(Expr x) { return shortSineF32(x, 0); }
Expr shortCosF32(Expr x) { return shortSineF32(x, 1); }

/// Subtracting the sign's bit sets it, too. Where a select takes this or `sign`, LLVM makes one
/// masked vpternlogd of AVX-512 of what is and'ed and or'ed, with its operands in the wrong order.
Expr copySign(Expr magnitude, Expr sign) {
  Type type = magnitude.type();
  Type bits = UInt(type.bits());
  Expr mask = cast(bits, 1) << (type.bits() - 1);
  Expr value = (reinterpret(bits, magnitude) & ~mask) - (reinterpret(bits, sign) & mask);
  return reinterpret(type, value);
}

} // namespace mlir::halide
