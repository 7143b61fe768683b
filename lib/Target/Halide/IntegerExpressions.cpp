//===- IntegerExpressions.cpp - integer ops as Halide expressions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where Halide and MLIR mean different things by an operator (division, shifts, overflow, i1),
// MLIR's meaning is built from Halide's.
//
//===----------------------------------------------------------------------===//

#include "IntegerExpressions.h"

#include "attnc/Dialect/Halide/Halide.h"

#include "MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;
using H::Expr;

Expr halide::toUnsigned(Expr e) { return H::cast(e.type().with_code(H::Type::UInt), e); }
Expr halide::toSigned(Expr e) { return H::cast(e.type().with_code(H::Type::Int), e); }

Expr halide::boolToSigned(Expr e, H::Type type) {
  return choose(e, H::cast(type, -1), H::cast(type, 0));
}

/// Halide assumes that signed ints of 32 and 64 bits don't overflow; unsigned ones wrap.
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

/// The divisor, but 1 where a CPU would trap: if it is 0, as in lanes past the end of a tensor, and
/// if the quotient overflows, which then wraps.
static Expr withoutTrap(Expr a, Expr b) {
  std::optional<int64_t> divisor = H::Internal::as_const_int(b),
                         dividend = H::Internal::as_const_int(a);
  if (divisor && *divisor != 0 && *divisor != -1)
    return b;
  Expr smallest = a.type().min(), traps = b == 0;
  // Halide subtracts constants to compare them, which may overflow.
  if (!dividend)
    traps = traps || (b == -1 && a == smallest);
  else if (*dividend == *H::Internal::as_const_int(smallest))
    traps = traps || b == -1;
  return choose(traps, H::cast(b.type(), 1), b);
}

/// Halide's own division rounds down for a positive divisor.
static Expr floorDivide(Expr a, Expr b) {
  if (isPositiveConstant(b))
    return a / b;
  Expr quotient = H::div_round_to_zero(a, b);
  Expr inexact = H::mod_round_to_zero(a, b) != 0;
  return choose(inexact && (a < 0) != (b < 0), quotient - 1, quotient);
}

static Expr ceilDivide(Expr a, Expr b) {
  if (isPositiveConstant(b))
    return a / b + H::cast(a.type(), a % b != 0); // -a may overflow
  Expr quotient = H::div_round_to_zero(a, b);
  Expr inexact = H::mod_round_to_zero(a, b) != 0;
  return choose(inexact && (a < 0) == (b < 0), quotient + 1, quotient);
}

/// Divides unsigned by a constant in signed arithmetic: bounds inference finds no bounds for an
/// unsigned quotient used as an index. A negative dividend is `half` plus its other bits.
static Expr divideUnsigned(Expr a, Expr b) {
  if (a.type().bits() != 32 || !isPositiveConstant(b))
    return toSigned(toUnsigned(a) / toUnsigned(b));
  int64_t half = int64_t(1) << 31, divisor = *H::Internal::as_const_int(b);
  auto constant = [&](int64_t value) { return H::cast(a.type(), int32_t(value)); };
  if (divisor == 1)
    return a;
  Expr low = a & constant(half - 1);
  Expr carry = H::cast(a.type(), low % b >= constant(divisor - half % divisor));
  return choose(a >= 0, a / b, low / b + constant(half / divisor) + carry);
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

/// Shift amounts are unsigned, but Halide shifts the other way by a negative amount.
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

/// `e` with its sign bit flipped: comparing two such numbers as signed compares the originals as
/// unsigned. Halide's simplifier takes unsigned differences that wrap around for negative ones.
static Expr asComparedUnsigned(Expr e) {
  return e.type().is_bool() ? e : toSigned(e) ^ e.type().with_code(H::Type::Int).min();
}

static Expr translateCmpI(arith::CmpIOp op, Expr a, Expr b) {
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  bool isUnsigned = llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
  if (a.type().is_bool() && !isUnsigned)
    a = boolToSigned(a, H::Int(8)), b = boolToSigned(b, H::Int(8));
  if (isUnsigned)
    a = asComparedUnsigned(a), b = asComparedUnsigned(b);
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

/// Halide's sources for OpenCL call a function that they lack.
static Expr countOnes(Expr x, const H::Target &target) {
  if (!target.has_feature(H::Target::OpenCL))
    return H::cast(x.type(), H::popcount(x));
  int bits = x.type().bits();
  auto repeat = [&](uint64_t byte) {
    return H::Internal::make_const(H::UInt(bits),
                                   (byte * 0x0101010101010101) & (~UINT64_C(0) >> (64 - bits)));
  };
  Expr counts = toUnsigned(x);
  counts = counts - ((counts >> 1) & repeat(0x55));
  counts = (counts & repeat(0x33)) + ((counts >> 2) & repeat(0x33));
  counts = (counts + (counts >> 4)) & repeat(0x0f);
  return toSigned((counts * repeat(0x01)) >> (bits - 8));
}

Expr halide::translateInteger(Operation *op, ArrayRef<Expr> in, bool nowrap,
                              const H::Target &target) {
  return llvm::TypeSwitch<Operation *, Expr>(op)
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
      .Case([&](math::AbsIOp) { return H::cast(in[0].type(), H::abs(in[0])); })
      .Case([&](math::CtPopOp) { return countOnes(in[0], target); })
      .Case([&](ModOp) { return in[0] % in[1]; })
      .Default([](Operation *) { return Expr(); });
}
