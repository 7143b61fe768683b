//===- ExpandPositions.cpp - decompose attn.positions into tables ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sines and cosines are computed once per position and column, frequencies once per column.
//
//===----------------------------------------------------------------------===//

#include "ExpandPositions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Builds the replacement of one op.
class Expansion {
public:
  Expansion(PositionsOp op, RewriterBase &rewriter)
      : op(op), b(op.getLoc(), rewriter), rank(op.getType().getRank()),
        width(size(op.getInput(), rank - 1)) {}

  Value build();

private:
  using Element = function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

  Value size(Value tensor, int64_t dim) { return b.createOrFold<tensor::DimOp>(tensor, dim); }
  /// A tensor.generate whose elements `element` builds from their indices.
  Value generate(Type type, ArrayRef<Value> sizes, Element element);
  Value buildPeriods();
  Value buildTable(Value periods);
  Value readTable(ImplicitLocOpBuilder &b, Value table, ValueRange at, Value column);
  Value add(ImplicitLocOpBuilder &b, Value table, ValueRange at);
  Value rotate(ImplicitLocOpBuilder &b, Value table, ValueRange at);

  PositionsOp op;
  ImplicitLocOpBuilder b;
  int64_t rank;
  Value width;
};
} // namespace

static Value index(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// Remainders and quotients of non-negative indices.
static Value rest(ImplicitLocOpBuilder &b, Value x, Value divisor) {
  return b.createOrFold<arith::RemUIOp>(x, divisor);
}
static Value half(ImplicitLocOpBuilder &b, Value x) {
  return b.createOrFold<arith::DivUIOp>(x, index(b, 2));
}
static Value isEven(ImplicitLocOpBuilder &b, Value x) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest(b, x, index(b, 2)), index(b, 0));
}

static Value toFloat(ImplicitLocOpBuilder &b, Value integer) {
  if (integer.getType().isIndex())
    integer = arith::IndexCastOp::create(b, b.getI64Type(), integer);
  return arith::SIToFPOp::create(b, b.getF64Type(), integer);
}

/// `x` truncated to a float type, if that is shorter.
static Value shorten(ImplicitLocOpBuilder &b, Value x, Type type) {
  return x.getType() == type ? x : arith::TruncFOp::create(b, type, x).getResult();
}
static Value widen(ImplicitLocOpBuilder &b, Value x, Type type) {
  return x.getType() == type ? x : arith::ExtFOp::create(b, type, x).getResult();
}

/// The type of the tables: f64 for f64, else f32.
static Type computeType(PositionsOp op) {
  Type element = op.getType().getElementType();
  return element.isF64() ? element : Type(Float32Type::get(op.getContext()));
}

Value Expansion::generate(Type element, ArrayRef<Value> sizes, Element build) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  for (Value size : sizes) {
    std::optional<int64_t> known = getConstantIntValue(size);
    shape.push_back(known.value_or(ShapedType::kDynamic));
    if (!known)
      dynamic.push_back(size);
  }
  return tensor::GenerateOp::create(b, RankedTensorType::get(shape, element), dynamic,
                                    [&](OpBuilder &builder, Location loc, ValueRange at) {
                                      ImplicitLocOpBuilder inner(loc, builder);
                                      tensor::YieldOp::create(inner, build(inner, at));
                                    });
}

/// A constant where the width is known.
static Value makePeriods(ImplicitLocOpBuilder &b, PositionsOp op, int64_t width) {
  double base = op.getBase().convertToDouble();
  SmallVector<double> periods;
  for (int64_t column = 0; column < width; ++column) {
    int64_t numerator = op.isRotary()                              ? column % (width / 2) * 2
                        : op.getKind() == PositionKind::sinusoidal ? column / 2 * 2
                                                                   : column;
    periods.push_back(std::pow(base, double(numerator) / double(width)));
  }
  auto type = RankedTensorType::get({width}, b.getF64Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<double>(periods)));
}

/// The divisor base^e of each column of a table.
Value Expansion::buildPeriods() {
  constexpr int64_t kMostConstant = 4096;
  if (auto known = getConstantIntValue(width); known && *known > 0 && *known <= kMostConstant)
    return makePeriods(b, op, *known);
  return generate(b.getF64Type(), {width}, [&](ImplicitLocOpBuilder &b, ValueRange at) -> Value {
    Value numerator = at[0];
    if (op.isRotary())
      numerator = arith::MulIOp::create(b, rest(b, numerator, half(b, width)), index(b, 2));
    else if (op.getKind() == PositionKind::sinusoidal)
      numerator = arith::MulIOp::create(b, half(b, numerator), index(b, 2));
    Value exponent = arith::DivFOp::create(b, toFloat(b, numerator), toFloat(b, width));
    Value base = arith::ConstantOp::create(b, b.getF64FloatAttr(op.getBase().convertToDouble()));
    return math::PowFOp::create(b, base, exponent);
  });
}

/// A table of shape [position, column], with an offset [batch, position, column]. Sinusoidal: the
/// summands. Rotary: the cosines, then the sines.
Value Expansion::buildTable(Value periods) {
  SmallVector<Value> sizes = {size(op.getInput(), rank - 2), width};
  if (op.getOffset())
    sizes.insert(sizes.begin(), size(op.getInput(), 0));
  return generate(computeType(op), sizes, [&](ImplicitLocOpBuilder &b, ValueRange at) -> Value {
    Value column = at.back(), position = toFloat(b, at[at.size() - 2]);
    if (op.getOffset()) {
      Value offset = tensor::ExtractOp::create(b, op.getOffset(), at.front());
      position = arith::AddFOp::create(b, position, toFloat(b, offset));
    }
    Value period = tensor::ExtractOp::create(b, periods, column);
    Value angle = arith::DivFOp::create(b, position, period);
    Value isSine = isEven(b, column);
    if (op.isRotary())
      isSine = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, column, half(b, width));
    auto accuracy =
        computeType(op).isF64() ? arith::FastMathFlags::none : arith::FastMathFlags::afn;
    Value value = arith::SelectOp::create(b, isSine, math::SinOp::create(b, angle, accuracy),
                                          math::CosOp::create(b, angle, accuracy));
    return shorten(b, value, computeType(op));
  });
}

Value Expansion::readTable(ImplicitLocOpBuilder &b, Value table, ValueRange at, Value column) {
  SmallVector<Value> place = {at[rank - 2], column};
  if (op.getOffset())
    place.insert(place.begin(), at.front());
  return tensor::ExtractOp::create(b, table, place);
}

Value Expansion::add(ImplicitLocOpBuilder &b, Value table, ValueRange at) {
  Value x = tensor::ExtractOp::create(b, op.getInput(), at);
  return arith::AddFOp::create(b, widen(b, x, computeType(op)), readTable(b, table, at, at.back()));
}

/// x cos a - y sin a for the first of a pair, y cos a + x sin a for the second.
Value Expansion::rotate(ImplicitLocOpBuilder &b, Value table, ValueRange at) {
  Value column = at.back(), halfWidth = half(b, width), isFirst, pair, other;
  if (op.getKind() == PositionKind::rotary_halves) {
    isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column, halfWidth);
    pair = rest(b, column, halfWidth);
    other = rest(b, arith::AddIOp::create(b, column, halfWidth), width);
  } else {
    isFirst = isEven(b, column);
    pair = half(b, column);
    other =
        arith::SubIOp::create(b, arith::AddIOp::create(b, column, index(b, 1)),
                              arith::MulIOp::create(b, rest(b, column, index(b, 2)), index(b, 2)));
  }
  Type type = computeType(op);
  auto read = [&](Value c) {
    SmallVector<Value> place(at);
    place.back() = c;
    return widen(b, tensor::ExtractOp::create(b, op.getInput(), place), type);
  };
  Value cosine = readTable(b, table, at, pair);
  Value sine = readTable(b, table, at, arith::AddIOp::create(b, pair, halfWidth));
  Value turned =
      arith::SelectOp::create(b, isFirst, arith::NegFOp::create(b, sine).getResult(), sine);
  return arith::AddFOp::create(b, arith::MulFOp::create(b, read(column), cosine),
                               arith::MulFOp::create(b, read(other), turned));
}

Value Expansion::build() {
  Value table = buildTable(buildPeriods());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < rank; ++dim)
    sizes.push_back(size(op.getInput(), dim));
  Type element = op.getType().getElementType();
  return generate(element, sizes, [&](ImplicitLocOpBuilder &b, ValueRange at) {
    return shorten(b, op.isRotary() ? rotate(b, table, at) : add(b, table, at), element);
  });
}

void attn::expandPositions(PositionsOp op, RewriterBase &rewriter) {
  rewriter.replaceOp(op, Expansion(op, rewriter).build());
}
