//===- Quantize.cpp - rows in 8 bits --------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quantize.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

/// The position of the scale of an element.
static int64_t getScale(const Array &scales, ArrayRef<int64_t> at, int64_t width) {
  int64_t block = at[3] / (width / scales.shape[3]);
  return getLinear(scales.shape, {at[0], at[1], at[2], block});
}

Array reference::dequantize(const Array &rows, const Array *scales, Type element,
                            Environment &env) {
  Array result(element, rows.shape);
  forEachIndex(rows.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    Scalar stored = rows.values[linear];
    double &x = result.values[linear].real;
    x = rows.isFloat() ? stored.real : stored.integer;
    if (scales)
      x *= scales->values[getScale(*scales, at, rows.shape[3])].real;
  });
  env.round(result);
  return result;
}

static LogicalResult evaluate(DequantizeOp op, Environment &env) {
  const Array *scales = op.getScales() ? &env.get(op.getScales()) : nullptr;
  return env.set(op,
                 dequantize(env.get(op.getInput()), scales, op.getType().getElementType(), env));
}

/// At most `largest`; 0 unless the scale is positive and finite.
static float divide(float x, float scale, float largest) {
  if (!(scale > 0) || !std::isfinite(scale))
    return 0;
  return std::clamp(x / scale, -largest, largest);
}

/// In f32 and rounded to the scales' type whatever the arithmetic: the op is defined so.
static LogicalResult evaluate(QuantizeOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getScales()));
  SmallVector<int64_t> shape(input.shape);
  shape.back() = op.getScales().getType().getDimSize(3);
  Array scales(type, shape), result(getElementTypeOrSelf(op.getResult()), input.shape);
  int64_t width = input.shape.back();
  auto real = dyn_cast<FloatType>(result.elementType);
  float most = real ? llvm::APFloat::getLargest(real.getFloatSemantics()).convertToDouble() : 127;
  forEachIndex(input.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    double &largest = scales.values[getScale(scales, at, width)].real;
    double x = std::abs(input.values[linear].real);
    if (!(x <= largest))
      largest = std::isnan(largest) ? largest : x;
  });
  for (Scalar &scale : scales.values)
    scale.real = roundTo(static_cast<float>(scale.real) / most, type);
  forEachIndex(input.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    Scalar &rounded = result.values[linear];
    float x =
        divide(input.values[linear].real, scales.values[getScale(scales, at, width)].real, most);
    if (real)
      rounded.real = roundTo(x, real);
    else
      rounded.integer = std::nearbyint(x);
  });
  if (failed(env.set(op.getResult(), std::move(result))))
    return failure();
  return env.set(op.getScales(), std::move(scales));
}

void reference::addQuantize(Evaluators &evaluators) {
  evaluators.add<DequantizeOp>(::evaluate);
  evaluators.add<QuantizeOp>(::evaluate);
}
