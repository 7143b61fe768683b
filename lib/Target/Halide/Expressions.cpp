//===- Expressions.cpp - scalar ops as Halide expressions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"
#include "BF16Pairs.h"
#include "BF16Tiles.h"
#include "FetchAhead.h"
#include "Float8.h"
#include "FloatExpressions.h"
#include "I8Quads.h"
#include "IntegerExpressions.h"
#include "MarkedStores.h"
#include "MathFunctions.h"
#include "StrictFloat.h"

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;
using H::Expr;

std::optional<H::Type> halide::getHalideType(Type type) {
  if (isFloat8(type))
    return H::Int(8);
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
// Constants
//===----------------------------------------------------------------------===//

static Expr translateConstant(arith::ConstantOp op) {
  std::optional<H::Type> type = getHalideType(op.getType());
  if (!type)
    return {};
  auto real = dyn_cast<FloatAttr>(op.getValue());
  if (real && isFloat8(op.getType()))
    return H::Internal::make_const(*type, real.getValue().bitcastToAPInt().getSExtValue());
  if (real)
    return H::Internal::make_const(*type, real.getValueAsDouble());
  auto integer = dyn_cast<IntegerAttr>(op.getValue());
  if (!integer)
    return {};
  return type->is_bool() ? H::Internal::make_bool(!integer.getValue().isZero())
                         : H::Internal::make_const(*type, integer.getValue().getSExtValue());
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Halide's simplifier wrongly drops the middle of int8(int32(float)). Two xors, which LLVM
/// removes, hide the inner cast from it.
static Expr truncateFloat(H::Type type, Expr in) {
  Expr one = H::Internal::make_one(type);
  return (H::cast(type, in) ^ one) ^ one;
}

namespace {
/// What maxima and minima with constants from `least` to `most` promise of a number.
struct Promise {
  Promise(Value number, double least, double most);
  bool isAbove = false, isBelow = false, isNumber = false;
};
} // namespace

Promise::Promise(Value number, double least, double most) {
  while (Operation *op = number.getDefiningOp()) {
    FloatAttr constant;
    if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op) &&
        matchPattern(op->getOperand(1), m_Constant(&constant))) {
      double bound = constant.getValueAsDouble();
      if (!(bound >= least && bound <= most))
        return;
      (isa<arith::MaximumFOp, arith::MaxNumFOp>(op) ? isAbove : isBelow) = true;
      isNumber |= isa<arith::MaxNumFOp, arith::MinNumFOp>(op);
    } else if (!isa<StrictFloatOp>(op)) {
      return;
    }
    number = op->getOperand(0);
  }
}

/// Numbers beyond the range of `type` give its ends, and NaN 0.
static Expr saturateFloat(H::Type type, Expr in, Value number) {
  int bits = type.bits() - type.is_int(), mantissa = in.type().bits() == 32 ? 24 : 53;
  double end = std::ldexp(1.0, bits), least = type.is_int() ? -end : 0;
  double most = bits <= mantissa ? end - 1 : end - std::ldexp(1.0, bits - mantissa);
  Promise promise(number, least, most);
  auto constant = [&](double x) { return H::Internal::make_const(in.type(), x); };
  return readOnce(in, [&](Expr x) {
    Expr inside = promise.isNumber ? x : blend(isNaN(x), constant(0), x);
    inside = promise.isBelow ? inside : H::min(inside, constant(most));
    inside = promise.isAbove ? inside : H::max(inside, constant(least));
    Expr result = truncateFloat(type, inside);
    return promise.isBelow || bits <= mantissa
               ? result
               : blend(strictLess(x, constant(end)) || isNaN(x), result, type.max());
  });
}

static Expr translateFloatToInt(Operation *op, H::Type type, Expr in, bool isCoordinate) {
  if (type.is_bool())
    return {};
  if (isCoordinate)
    return H::cast(type, in);
  Expr wide = widenHalf(in);
  return isa<arith::FPToSIOp>(op)
             ? saturateFloat(type, wide, op->getOperand(0))
             : toSigned(saturateFloat(H::UInt(type.bits()), wide, op->getOperand(0)));
}

/// Between floats: shorter ones are widened to f32 and narrowed from there.
static Expr translateFloatCast(Operation *op, H::Type type, Expr in) {
  Expr wide = isFloat8(op->getOperand(0).getType()) ? widenFloat8(in) : widenHalf(in);
  if (isFloat8(op->getResult(0).getType()))
    return narrowToFloat8(strictFloat(H::cast(H::Float(32), wide)));
  return convertFloat(type, wide, /*isTested=*/!assumesNoNaN(op));
}

static Expr translateCast(Operation *op, Expr in, bool isCoordinate) {
  std::optional<H::Type> type = getHalideType(op->getResult(0).getType());
  if (!type)
    return {};
  bool fromBool = in.type().is_bool();
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return translateFloatCast(op, *type, in); })
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
// All scalar ops
//===----------------------------------------------------------------------===//

Expr halide::translateScalarOp(Operation *op, ArrayRef<Expr> in, bool nowrap,
                               const H::Target &target) {
  if (computesFloat8(op))
    return {};
  Expr integer = translateInteger(op, in, nowrap, target);
  if (integer.defined())
    return integer;
  return llvm::TypeSwitch<Operation *, Expr>(op)
      .Case([&](arith::ConstantOp constant) { return translateConstant(constant); })
      .Case([&](arith::SelectOp) {
        if (in[1].type().is_float())
          return blend(in[0], in[1], in[2]);
        return nowrap ? H::select(in[0], in[1], in[2]) : choose(in[0], in[1], in[2]);
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
            arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp>(
          [&](auto) { return translateCast(op, in[0], nowrap); })
      .Case([&](StrictFloatOp) { return in[0].type().is_float() ? strictFloat(in[0]) : in[0]; })
      .Case([&](LikelyOp) { return H::likely(in[0]); })
      .Case([&](UndefOp undef) { return H::undef(*getHalideType(undef.getType())); })
      .Case([&](FetchAheadOp fetch) { return fetchAhead(in[0], in[1], fetch.getLocality()); })
      .Case([&](MakeBF16PairOp) { return makeBF16Pair(in[0], in[1]); })
      .Case([&](DotBF16PairOp) { return dotBF16Pair(in[0], in[1], in[2]); })
      .Case([&](MakeI8QuadOp) { return makeI8Quad({in[0], in[1], in[2], in[3]}); })
      .Case([&](DotI8QuadOp) { return dotI8Quad(in[0], in[1], in[2]); })
      .Case([&](DotBF16TilesOp) { return dotBF16Tiles(in[0], in[1], in[2], in[3], in[4]); })
      .Case([&](Exp2BF16Op) { return exp2BF16(in[0]); })
      .Case([&](RoundBF16PairOp) { return roundBF16Pair(in[0], in[1]); })
      .Case([&](StoreBesideOp) {
        return storeBeside(in[0], in[1], in[2], in.size() > 3 ? in[3] : H::Internal::const_true());
      })
      .Case([&](StoreWhereOp) { return storeWhere(in[0], in[1]); })
      .Case([&](PromiseClampedOp) { return H::unsafe_promise_clamped(in[0], in[1], in[2]); })
      .Default([&](Operation *) { return translateFloat(op, in, target); });
}
