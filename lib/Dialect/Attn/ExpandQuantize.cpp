//===- ExpandQuantize.cpp - quantization in terms of maps -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row with several scales becomes rows of its blocks, of rank 5, which are views.
//
//===----------------------------------------------------------------------===//

#include "ExpandQuantize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::attn;

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

static int64_t countBlocks(Value scales) { return typeOf(scales).getDimSize(3); }

static SmallVector<ReassociationIndices> getBlockGroups() { return {{0}, {1}, {2}, {3, 4}}; }

/// The last dimension as `blocks` blocks; `tensor` itself if there is one.
static Value splitBlocks(ImplicitLocOpBuilder &b, Value tensor, int64_t blocks) {
  if (blocks == 1)
    return tensor;
  SmallVector<int64_t> shape(typeOf(tensor).getShape());
  shape.push_back(shape.back() / blocks);
  shape[3] = blocks;
  return tensor::ExpandShapeOp::create(b, typeOf(tensor).clone(shape), tensor, getBlockGroups());
}

/// The inverse.
static Value joinBlocks(ImplicitLocOpBuilder &b, Value tensor, RankedTensorType type) {
  if (typeOf(tensor).getRank() == type.getRank())
    return tensor;
  return tensor::CollapseShapeOp::create(b, type, tensor, getBlockGroups());
}

/// A map over `inputs` with the sizes of the first, whose region `body` builds.
static Value map(ImplicitLocOpBuilder &b, Type element, ArrayRef<Value> inputs,
                 function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body) {
  auto op = MapOp::create(b, typeOf(inputs.front()).clone(element), inputs);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types =
      llvm::map_to_vector(inputs, [](Value input) { return typeOf(input).getElementType(); });
  Block *block =
      b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), b.getLoc()));
  YieldOp::create(b, body(b, block->getArguments()));
  return op.getResult();
}

/// `x`, an integer or float, as a float of another type.
static Value toFloat(ImplicitLocOpBuilder &b, Value x, Type type) {
  if (x.getType() == type)
    return x;
  if (!isa<FloatType>(x.getType()))
    return arith::SIToFPOp::create(b, type, x);
  if (x.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, x);
  return arith::TruncFOp::create(b, type, x);
}

static Value real(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

//===----------------------------------------------------------------------===//
// attn.quantize
//===----------------------------------------------------------------------===//

/// The number that the largest magnitude of a block becomes.
static double getLargest(QuantizeOp op) {
  auto type = dyn_cast<FloatType>(typeOf(op.getResult()).getElementType());
  return type ? APFloat::getLargest(type.getFloatSemantics()).convertToDouble() : 127;
}

/// The largest magnitude of each block / the largest number of 8 bits.
static Value buildScales(ImplicitLocOpBuilder &b, QuantizeOp op, Value input) {
  Value magnitudes = map(b, b.getF32Type(), {input}, [](ImplicitLocOpBuilder &b, ValueRange x) {
    return math::AbsFOp::create(b, toFloat(b, x[0], b.getF32Type()));
  });
  bool isWhole = countBlocks(op.getScales()) == 1;
  auto type = typeOf(op.getScales());
  Value largest = ReduceOp::create(b, type.clone(b.getF32Type()), ReduceKind::max, magnitudes,
                                   ArrayRef<int64_t>{-1}, isWhole);
  return map(b, type.getElementType(), {largest}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
    // The maximum of no elements is -inf; their scale is 0.
    Value most = arith::MaximumFOp::create(b, x[0], real(b, 0));
    return toFloat(b, arith::DivFOp::create(b, most, real(b, getLargest(op))),
                   type.getElementType());
  });
}

/// round(x / scale), at most `largest`; 0 unless the scale is positive and finite.
static Value quantize(ImplicitLocOpBuilder &b, Value x, Value scale, Type type, double largest) {
  Value quotient = arith::DivFOp::create(b, x, scale);
  auto compare = [&](arith::CmpFPredicate predicate, double limit) -> Value {
    return arith::CmpFOp::create(b, predicate, scale, real(b, limit));
  };
  Value isUsable = arith::AndIOp::create(
      b, compare(arith::CmpFPredicate::OGT, 0),
      compare(arith::CmpFPredicate::OLT, std::numeric_limits<double>::infinity()));
  Value rounded = arith::SelectOp::create(b, isUsable, quotient, real(b, 0));
  if (!isa<FloatType>(type))
    rounded = math::RoundEvenOp::create(b, rounded);
  // A scale rounded down would give more.
  rounded = arith::MinNumFOp::create(b, rounded, real(b, largest));
  rounded = arith::MaxNumFOp::create(b, rounded, real(b, -largest));
  if (isa<FloatType>(type))
    return arith::TruncFOp::create(b, type, rounded);
  return arith::FPToSIOp::create(b, type, rounded);
}

void attn::expandQuantize(QuantizeOp op, RewriterBase &rewriter) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  int64_t blocks = countBlocks(op.getScales());
  Value input = splitBlocks(b, op.getInput(), blocks);
  Value scales = buildScales(b, op, input);
  Value of = scales;
  if (blocks != 1)
    of = splitBlocks(b, scales, blocks);
  Type f32 = b.getF32Type();
  Type element = typeOf(op.getResult()).getElementType();
  Value rounded = map(b, element, {input, of}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
    return quantize(b, toFloat(b, x[0], f32), toFloat(b, x[1], f32), element, getLargest(op));
  });
  rewriter.replaceOp(op, {joinBlocks(b, rounded, op.getResult().getType()), scales});
}

//===----------------------------------------------------------------------===//
// attn.dequantize
//===----------------------------------------------------------------------===//

void attn::expandDequantize(DequantizeOp op, RewriterBase &rewriter) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Type element = op.getType().getElementType();
  Type wide = element.isF64() ? element : b.getF32Type();
  SmallVector<Value> inputs = {op.getInput()};
  if (Value scales = op.getScales()) {
    int64_t blocks = countBlocks(scales);
    inputs = {splitBlocks(b, op.getInput(), blocks), splitBlocks(b, scales, blocks)};
  }
  Value result = map(b, element, inputs, [&](ImplicitLocOpBuilder &b, ValueRange x) {
    Value product = toFloat(b, x[0], wide);
    if (x.size() > 1)
      product = arith::MulFOp::create(b, product, toFloat(b, x[1], wide));
    return toFloat(b, product, element);
  });
  rewriter.replaceOp(op, joinBlocks(b, result, op.getType()));
}
