//===- Elementwise.cpp - arith and math on scalars and tensors ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

#include "attnc/Reference/ShortFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static unsigned getWidth(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

/// The low bits, sign-extended as in Scalar.
static int64_t wrap(int64_t value, unsigned width) {
  return width == 1 ? value & 1 : llvm::SignExtend64(value, width);
}

static uint64_t asUnsigned(int64_t value, unsigned width) {
  return value & llvm::maskTrailingOnes<uint64_t>(width);
}

/// A wrapping function of two integers; unsigned ops get unsigned arguments.
template <typename F>
static ScalarFunction onIntegers(Operation *op, F f) {
  unsigned width = getWidth(getElementTypeOrSelf(op->getResult(0)));
  return [=](const Scalar *x) { return integer(wrap(f(x[0].integer, x[1].integer), width)); };
}

/// The same, of which a true i1 is -1.
template <typename F>
static ScalarFunction onSigned(Operation *op, F f) {
  bool isBool = getWidth(getElementTypeOrSelf(op->getResult(0))) == 1;
  return onIntegers(op, [=](int64_t x, int64_t y) { return isBool ? -f(-x, -y) : f(x, y); });
}

template <typename F>
static ScalarFunction onUnsigned(Operation *op, F f) {
  unsigned width = getWidth(getElementTypeOrSelf(op->getOperand(0)));
  return [=](const Scalar *x) {
    uint64_t a = asUnsigned(x[0].integer, width), b = asUnsigned(x[1].integer, width);
    return integer(wrap(f(a, b), width));
  };
}

/// Division by zero is undefined in arith: 0 here, rather than a trap.
template <typename T, typename F>
static auto dividing(F f) {
  return [=](T x, T y) -> T { return y == 0 ? 0 : f(x, y); };
}

static FailureOr<ScalarFunction> getIntegerFunction(Operation *op) {
  using I = int64_t;
  using U = uint64_t;
  return llvm::TypeSwitch<Operation *, FailureOr<ScalarFunction>>(op)
      .Case([&](arith::AddIOp) { return onIntegers(op, [](U x, U y) { return x + y; }); })
      .Case([&](arith::SubIOp) { return onIntegers(op, [](U x, U y) { return x - y; }); })
      .Case([&](arith::MulIOp) { return onIntegers(op, [](U x, U y) { return x * y; }); })
      .Case([&](arith::AndIOp) { return onIntegers(op, [](I x, I y) { return x & y; }); })
      .Case([&](arith::OrIOp) { return onIntegers(op, [](I x, I y) { return x | y; }); })
      .Case([&](arith::XOrIOp) { return onIntegers(op, [](I x, I y) { return x ^ y; }); })
      .Case([&](arith::MinSIOp) { return onSigned(op, [](I x, I y) { return std::min(x, y); }); })
      .Case([&](arith::MaxSIOp) { return onSigned(op, [](I x, I y) { return std::max(x, y); }); })
      .Case([&](arith::MinUIOp) { return onUnsigned(op, [](U x, U y) { return std::min(x, y); }); })
      .Case([&](arith::MaxUIOp) { return onUnsigned(op, [](U x, U y) { return std::max(x, y); }); })
      .Case([&](arith::DivSIOp) {
        return onIntegers(op, dividing<I>([](I x, I y) { return y == -1 ? -x : x / y; }));
      })
      .Case([&](arith::RemSIOp) {
        return onIntegers(op, dividing<I>([](I x, I y) { return y == -1 ? 0 : x % y; }));
      })
      .Case([&](arith::FloorDivSIOp) {
        return onIntegers(op, dividing<I>([](I x, I y) { return llvm::divideFloorSigned(x, y); }));
      })
      .Case([&](arith::CeilDivSIOp) {
        return onIntegers(op, dividing<I>([](I x, I y) { return llvm::divideCeilSigned(x, y); }));
      })
      .Case([&](arith::DivUIOp) {
        return onUnsigned(op, dividing<U>([](U x, U y) { return x / y; }));
      })
      .Case([&](arith::RemUIOp) {
        return onUnsigned(op, dividing<U>([](U x, U y) { return x % y; }));
      })
      .Case([&](arith::CeilDivUIOp) {
        return onUnsigned(op, dividing<U>([](U x, U y) { return x / y + (x % y != 0); }));
      })
      .Case([&](arith::ShLIOp) {
        return onIntegers(op, [](U x, U y) { return y < 64 ? x << y : 0; });
      })
      .Case([&](arith::ShRSIOp) {
        return onIntegers(op, [](I x, I y) { return x >> std::min<U>(y, 63); });
      })
      .Case([&](arith::ShRUIOp) {
        return onUnsigned(op, [](U x, U y) { return y < 64 ? x >> y : 0; });
      })
      .Default([](Operation *op) { return reportUnknown(op); });
}

static bool compare(arith::CmpIPredicate predicate, int64_t x, int64_t y, uint64_t ux,
                    uint64_t uy) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  case P::ult:
    return ux < uy;
  case P::ule:
    return ux <= uy;
  case P::ugt:
    return ux > uy;
  case P::uge:
    return ux >= uy;
  }
  llvm_unreachable("unknown predicate");
}

static ScalarFunction getComparison(arith::CmpIOp op) {
  unsigned width = getWidth(getElementTypeOrSelf(op.getLhs()));
  return [width, predicate = op.getPredicate()](const Scalar *x) {
    int64_t a = x[0].integer, b = x[1].integer;
    // As an i1, 1 is -1.
    if (width == 1)
      a = -a, b = -b;
    return integer(compare(predicate, a, b, asUnsigned(a, width), asUnsigned(b, width)));
  };
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static bool compare(arith::CmpFPredicate predicate, double x, double y) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return !unordered && x != y;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || x == y;
  case P::UGT:
    return unordered || x > y;
  case P::UGE:
    return unordered || x >= y;
  case P::ULT:
    return unordered || x < y;
  case P::ULE:
    return unordered || x <= y;
  case P::UNE:
    return x != y;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("unknown predicate");
}

static ScalarFunction getComparison(arith::CmpFOp op) {
  return [predicate = op.getPredicate()](const Scalar *x) {
    return integer(compare(predicate, x[0].real, x[1].real));
  };
}

/// NaN if an operand is; -0 is less than 0.
static double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return x + y;
  return x > y || (x == y && !std::signbit(x)) ? x : y;
}
static double minimum(double x, double y) { return -maximum(-x, -y); }

template <typename F>
static ScalarFunction unary(F f) {
  return [f](const Scalar *x) { return real(f(x[0].real)); };
}
template <typename F>
static ScalarFunction binary(F f) {
  return [f](const Scalar *x) { return real(f(x[0].real, x[1].real)); };
}
template <typename F>
static ScalarFunction predicate(F f) {
  return [f](const Scalar *x) { return integer(f(x[0].real)); };
}

static FailureOr<ScalarFunction> getArithFloatFunction(Operation *op) {
  using D = double;
  return llvm::TypeSwitch<Operation *, FailureOr<ScalarFunction>>(op)
      .Case([](arith::AddFOp) { return binary([](D x, D y) { return x + y; }); })
      .Case([](arith::SubFOp) { return binary([](D x, D y) { return x - y; }); })
      .Case([](arith::MulFOp) { return binary([](D x, D y) { return x * y; }); })
      .Case([](arith::DivFOp) { return binary([](D x, D y) { return x / y; }); })
      .Case([](arith::RemFOp) { return binary([](D x, D y) { return std::fmod(x, y); }); })
      .Case([](arith::NegFOp) { return unary([](D x) { return -x; }); })
      .Case([](arith::MaximumFOp) { return binary(maximum); })
      .Case([](arith::MinimumFOp) { return binary(minimum); })
      .Case([](arith::MaxNumFOp) { return binary([](D x, D y) { return std::fmax(x, y); }); })
      .Case([](arith::MinNumFOp) { return binary([](D x, D y) { return std::fmin(x, y); }); })
      .Default([](Operation *op) { return getIntegerFunction(op); });
}

static FailureOr<ScalarFunction> getMathFunction(Operation *op) {
  using D = double;
  return llvm::TypeSwitch<Operation *, FailureOr<ScalarFunction>>(op)
      .Case([](math::AbsFOp) { return unary([](D x) { return std::fabs(x); }); })
      .Case([](math::ExpOp) { return unary([](D x) { return std::exp(x); }); })
      .Case([](math::Exp2Op) { return unary([](D x) { return std::exp2(x); }); })
      .Case([](math::ExpM1Op) { return unary([](D x) { return std::expm1(x); }); })
      .Case([](math::LogOp) { return unary([](D x) { return std::log(x); }); })
      .Case([](math::Log2Op) { return unary([](D x) { return std::log2(x); }); })
      .Case([](math::Log10Op) { return unary([](D x) { return std::log10(x); }); })
      .Case([](math::Log1pOp) { return unary([](D x) { return std::log1p(x); }); })
      .Case([](math::SqrtOp) { return unary([](D x) { return std::sqrt(x); }); })
      .Case([](math::RsqrtOp) { return unary([](D x) { return 1 / std::sqrt(x); }); })
      .Case([](math::CbrtOp) { return unary([](D x) { return std::cbrt(x); }); })
      .Case([](math::SinOp) { return unary([](D x) { return std::sin(x); }); })
      .Case([](math::CosOp) { return unary([](D x) { return std::cos(x); }); })
      .Case([](math::TanOp) { return unary([](D x) { return std::tan(x); }); })
      .Case([](math::AsinOp) { return unary([](D x) { return std::asin(x); }); })
      .Case([](math::AcosOp) { return unary([](D x) { return std::acos(x); }); })
      .Case([](math::AtanOp) { return unary([](D x) { return std::atan(x); }); })
      .Case([](math::SinhOp) { return unary([](D x) { return std::sinh(x); }); })
      .Case([](math::CoshOp) { return unary([](D x) { return std::cosh(x); }); })
      .Case([](math::TanhOp) { return unary([](D x) { return std::tanh(x); }); })
      .Case([](math::AsinhOp) { return unary([](D x) { return std::asinh(x); }); })
      .Case([](math::AcoshOp) { return unary([](D x) { return std::acosh(x); }); })
      .Case([](math::AtanhOp) { return unary([](D x) { return std::atanh(x); }); })
      .Case([](math::ErfOp) { return unary([](D x) { return std::erf(x); }); })
      .Case([](math::ErfcOp) { return unary([](D x) { return std::erfc(x); }); })
      .Case([](math::FloorOp) { return unary([](D x) { return std::floor(x); }); })
      .Case([](math::CeilOp) { return unary([](D x) { return std::ceil(x); }); })
      .Case([](math::TruncOp) { return unary([](D x) { return std::trunc(x); }); })
      .Case([](math::RoundOp) { return unary([](D x) { return std::round(x); }); })
      .Case([](math::RoundEvenOp) { return unary([](D x) { return std::nearbyint(x); }); })
      .Case([](math::PowFOp) { return binary([](D x, D y) { return std::pow(x, y); }); })
      .Case([](math::Atan2Op) { return binary([](D x, D y) { return std::atan2(x, y); }); })
      .Case([](math::CopySignOp) { return binary([](D x, D y) { return std::copysign(x, y); }); })
      .Case([](math::IsNaNOp) { return predicate([](D x) { return std::isnan(x); }); })
      .Case([](math::IsInfOp) { return predicate([](D x) { return std::isinf(x); }); })
      .Case([](math::IsFiniteOp) { return predicate([](D x) { return std::isfinite(x); }); })
      .Case([](math::FmaOp) {
        return [](const Scalar *x) { return real(std::fma(x[0].real, x[1].real, x[2].real)); };
      })
      .Case([](math::AbsIOp) {
        return [](const Scalar *x) { return integer(std::abs(x[0].integer)); };
      })
      .Case([](math::CtPopOp op) {
        return [width = getWidth(getElementTypeOrSelf(op))](const Scalar *x) {
          return integer(llvm::popcount(asUnsigned(x[0].integer, width)));
        };
      })
      .Default([](Operation *op) { return getArithFloatFunction(op); });
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Numbers beyond the range give its ends, and NaN 0.
static int64_t toInteger(double value, unsigned width, bool isSigned) {
  llvm::APSInt result(width, /*isUnsigned=*/!isSigned);
  bool isExact;
  llvm::APFloat(value).convertToInteger(result, llvm::APFloat::rmTowardZero, &isExact);
  return wrap(int64_t(result.getZExtValue()), width);
}

static llvm::APInt getBits(Scalar scalar, Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return llvm::APInt(type.getIntOrFloatBitWidth(), scalar.integer, /*isSigned=*/true);
  llvm::APFloat value(scalar.real);
  bool inexact;
  value.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.bitcastToAPInt();
}

static Scalar fromBits(const llvm::APInt &bits, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return real(llvm::APFloat(floatType.getFloatSemantics(), bits).convertToDouble());
  return integer(wrap(bits.getZExtValue(), bits.getBitWidth()));
}

static FailureOr<ScalarFunction> getConversion(Operation *op) {
  if (op->getNumOperands() != 1)
    return getMathFunction(op);
  Type from = getElementTypeOrSelf(op->getOperand(0)), to = getElementTypeOrSelf(op->getResult(0));
  return llvm::TypeSwitch<Operation *, FailureOr<ScalarFunction>>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [](auto) { return [](const Scalar *x) { return x[0]; }; })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([=](auto) {
        unsigned width = getWidth(from), result = getWidth(to);
        return
            [=](const Scalar *x) { return integer(wrap(asUnsigned(x[0].integer, width), result)); };
      })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([=](auto) {
        unsigned result = getWidth(to);
        bool isBool = getWidth(from) == 1;
        return [=](const Scalar *x) {
          return integer(wrap(isBool ? -x[0].integer : x[0].integer, result));
        };
      })
      .Case([=](arith::SIToFPOp) {
        bool isBool = getWidth(from) == 1;
        return [=](const Scalar *x) { return real(isBool ? -x[0].integer : x[0].integer); };
      })
      .Case([=](arith::UIToFPOp) {
        unsigned width = getWidth(from);
        return [=](const Scalar *x) { return real(asUnsigned(x[0].integer, width)); };
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([=](auto) {
        unsigned width = getWidth(to);
        bool isSigned = isa<arith::FPToSIOp>(op);
        return [=](const Scalar *x) { return integer(toInteger(x[0].real, width, isSigned)); };
      })
      .Case([=](arith::BitcastOp) {
        return [=](const Scalar *x) { return fromBits(getBits(x[0], from), to); };
      })
      .Default([](Operation *op) { return getMathFunction(op); });
}

FailureOr<ScalarFunction> reference::getScalarFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, FailureOr<ScalarFunction>>(op)
      .Case<arith::CmpIOp, arith::CmpFOp>([](auto compare) { return getComparison(compare); })
      .Case([](arith::SelectOp) {
        return [](const Scalar *x) { return x[0].integer ? x[1] : x[2]; };
      })
      .Default([](Operation *op) { return getConversion(op); });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult reference::evaluateElementwise(Operation *op, Environment &env) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return reportUnknown(op);
  FailureOr<ScalarFunction> function = getScalarFunction(op);
  if (failed(function))
    return failure();
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return &env.get(v); });
  // A select may have a scalar condition with tensors.
  const Array *largest = operands.back();
  for (const Array *operand : operands)
    if (operand->getRank() > 0 && operand->shape != largest->shape)
      return op->emitError("expected operands of equal sizes");
  Array result(getElementTypeOrSelf(op->getResult(0)), largest->shape);
  SmallVector<Scalar, 3> scalars(operands.size());
  for (int64_t at = 0; at < result.size(); ++at) {
    for (auto [scalar, operand] : llvm::zip(scalars, operands))
      scalar = operand->values[operand->getRank() > 0 ? at : 0];
    result.values[at] = (*function)(scalars.data());
    if (result.isFloat())
      result.values[at].real = env.blur(result.values[at].real, op);
  }
  return env.set(op->getResult(0), std::move(result));
}

/// The elements of a constant, inline or in a resource.
static DenseElementsAttr getElements(Attribute attribute) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return DenseElementsAttr::getFromRawBuffer(resource.getType(), blob->getData());
  return dyn_cast<DenseElementsAttr>(attribute);
}

static Array getArray(DenseElementsAttr elements) {
  Array array(elements.getElementType(), elements.getType().getShape());
  size_t at = 0;
  Type element = elements.getElementType();
  if ((element.isF16() || element.isBF16()) && !elements.isSplat())
    for (Scalar &value : array.values) {
      uint16_t bits;
      std::memcpy(&bits, elements.getRawData().data() + sizeof(bits) * at++, sizeof(bits));
      value.real = readShort(bits, cast<FloatType>(element));
    }
  else if (array.isFloat())
    for (const llvm::APFloat &value : elements.getValues<llvm::APFloat>())
      array.values[at++] = real(value.convertToDouble());
  else
    for (const llvm::APInt &value : elements.getValues<llvm::APInt>())
      array.values[at++] = integer(wrap(value.getZExtValue(), value.getBitWidth()));
  return array;
}

LogicalResult reference::evaluateConstant(arith::ConstantOp op, Environment &env) {
  Attribute value = op.getValue();
  if (DenseElementsAttr elements = getElements(value))
    return env.set(op, getArray(elements));
  Array scalar(op.getType(), {});
  if (auto number = dyn_cast<FloatAttr>(value))
    scalar.values[0] = real(number.getValueAsDouble());
  else if (auto number = dyn_cast<IntegerAttr>(value))
    scalar.values[0] =
        integer(wrap(number.getValue().getZExtValue(), number.getValue().getBitWidth()));
  else
    return reportUnknown(op);
  return env.set(op, std::move(scalar));
}
