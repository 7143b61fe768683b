//===- Quantize.cpp - ONNX's quantized integers ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers that stand for floats: less a zero point, times a scale. Models in QDQ form convert them
// to floats before each `MatMul`, which computes in floats.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

/// Scales or zero points, a number for each block of `size` elements along `dim`, repeated for each
/// element.
static FailureOr<TensorRef> repeatBlocks(Node &node, const TensorRef &factor, int64_t dim,
                                         int64_t size) {
  const TensorRef &input = node.input(0);
  auto width = getStatic(input->sizes[dim]), count = getStatic(factor->sizes[dim]);
  if (factor->getRank() != input->getRank() || !width || !count || *count * size != *width)
    return node.error() << "expected whole blocks of " << size << " elements along axis " << dim
                        << " of " << input->getType() << ", found scales of " << factor->getType();
  SmallVector<OpFoldResult> split(factor->sizes), wide;
  split.insert(split.begin() + dim + 1, fixedSize(node, 1));
  wide = split;
  wide[dim + 1] = fixedSize(node, size);
  TensorRef repeated = makeExpand(node.body, makeReshape(node.body, factor, split), wide);
  wide.erase(wide.begin() + dim + 1);
  wide[dim] = input->sizes[dim];
  return makeReshape(node.body, repeated, wide);
}

/// A scale or zero point so that it broadcasts to the first input: one, one for each index along
/// `axis`, or one for each block along it.
static FailureOr<TensorRef> getFactor(Node &node, int index) {
  TensorRef input = node.input(0), factor = node.input(index);
  if (!factor || factor->getRank() == 0)
    return factor;
  FailureOr<int64_t> dim = node.getDim(node.getInt("axis", 1), input->getRank());
  if (failed(dim))
    return failure();
  if (int64_t size = node.getInt("block_size", 0))
    return repeatBlocks(node, factor, *dim, size);
  if (factor->getRank() != 1)
    return node.error() << "expected a scale, or one for each index along axis " << *dim
                        << ", found " << factor->getType();
  SmallVector<OpFoldResult> sizes(input->getRank() - *dim, fixedSize(node, 1));
  sizes[0] = factor->sizes[0];
  return makeReshape(node.body, factor, sizes);
}

/// The first input, its scales, and its zero points if there are any.
static FailureOr<SmallVector<TensorRef>> getOperands(Node &node) {
  FailureOr<TensorRef> scale = getFactor(node, 1), zero = getFactor(node, 2);
  if (failed(scale) || failed(zero))
    return failure();
  SmallVector<TensorRef> operands = {node.input(0), *scale};
  if (*zero)
    operands.push_back(*zero);
  return operands;
}

static LogicalResult importDequantize(Node &node) {
  FailureOr<SmallVector<TensorRef>> operands = getOperands(node);
  if (failed(operands))
    return failure();
  FailureOr<Type> given = node.getType("output_dtype");
  if (failed(given))
    return failure();
  Type scale = node.input(1)->element, type = *given ? *given : scale;
  FailureOr<TensorRef> result =
      applyElementwise(node, *operands, type, [=](Body &at, ArrayRef<Value> x) -> Value {
        Type i32 = at.b.getI32Type();
        Value number = castScalar(at, x[0], i32);
        if (x.size() > 2)
          number = at.make<arith::SubIOp>(number, castScalar(at, x[2], i32));
        Value product = at.make<arith::MulFOp>(castScalar(at, number, scale), x[1]);
        return castScalar(at, product, type);
      });
  return failed(result) ? failure() : node.setOutput(*result);
}

/// The nearest integer, ties to even, within the range of the type.
static LogicalResult importQuantize(Node &node) {
  FailureOr<Type> given = node.getType("output_dtype");
  if (failed(given))
    return failure();
  Type type = node.input(2) ? node.input(2)->element : *given;
  if (!type)
    return node.error() << "expected a zero point of i8 or i16, or their output_dtype, as the "
                           "result is uint8 without one";
  if (!type.isInteger(8) && !type.isInteger(16))
    return node.error() << "expected a zero point of i8 or i16, found " << type;
  FailureOr<SmallVector<TensorRef>> operands = getOperands(node);
  if (failed(operands))
    return failure();
  double most = type.isInteger(8) ? 127 : 32767;
  FailureOr<TensorRef> result =
      applyElementwise(node, *operands, type, [=](Body &at, ArrayRef<Value> x) -> Value {
        Type f32 = at.b.getF32Type();
        Value quotient =
            at.make<arith::DivFOp>(castScalar(at, x[0], f32), castScalar(at, x[1], f32));
        Value number = at.make<math::RoundEvenOp>(quotient);
        if (x.size() > 2)
          number = at.make<arith::AddFOp>(number, castScalar(at, x[2], f32));
        number = at.make<arith::MaximumFOp>(number, floatConstant(at, f32, -most - 1));
        number = at.make<arith::MinimumFOp>(number, floatConstant(at, f32, most));
        return castScalar(at, number, type);
      });
  return failed(result) ? failure() : node.setOutput(*result);
}

ArrayRef<OpEntry> imports::getQuantizeOps() {
  static const OpEntry entries[] = {
      {"",
       "DequantizeLinear",
       "ifi?",
       "x",
       {{"axis", Int}, {"block_size", Int}, {"output_dtype", Int}},
       importDequantize},
      {"",
       "QuantizeLinear",
       "ffi?",
       "x",
       {{"axis", Int},
        {"block_size", Int},
        {"output_dtype", Int},
        {"precision", Int},
        {"saturate", Int}},
       importQuantize},
  };
  return entries;
}
