//===- IntegerProducts.cpp - products of quantized integers as layers -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn.linear` multiplies bytes 0 to 255 by a matrix of -128 to 127. An i8 factor is shifted by
// 128 to 0 to 255, and its zero point likewise. The zero point times the sum of a feature's weights
// is then subtracted from each of its products.
//
//===----------------------------------------------------------------------===//

#include "Quantize.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
/// A constant matrix, a row for each feature.
struct Matrix {
  int64_t features, depth;
  std::vector<int8_t> numbers;
  /// The sum of each row.
  std::vector<int32_t> sums;
};
} // namespace

/// The matrix of `right` less its zero points; none if it isn't constant, is too large or empty for
/// a layer, or zero points are not the middle of its numbers' range.
static std::optional<Matrix> readMatrix(Node &node, const IntegerFactor &right, bool isTransposed) {
  const TensorRef &tensor = right.tensor;
  if (tensor->getRank() != 2 || !tensor->hasBytes())
    return std::nullopt;
  auto rows = getStatic(tensor->sizes[0]), columns = getStatic(tensor->sizes[1]);
  if (!rows || !columns)
    return std::nullopt;
  Matrix matrix{isTransposed ? *rows : *columns, isTransposed ? *columns : *rows, {}, {}};
  if (matrix.features == 0 || matrix.depth == 0 || matrix.depth > LinearOp::kMostIntegerFeatures)
    return std::nullopt;
  auto zeros = right.zero ? readNumbers(node, right.zero) : std::vector<float>{0};
  float middle = tensor->isByte ? 128 : 0;
  if (!zeros || !llvm::all_of(*zeros, [&](float zero) { return zero == middle; }))
    return std::nullopt;
  auto numbers = readNumbers(node, tensor);
  if (!numbers)
    return std::nullopt;
  for (int64_t n = 0; n < matrix.features; ++n) {
    matrix.sums.push_back(0);
    for (int64_t k = 0; k < matrix.depth; ++k) {
      float number = (*numbers)[isTransposed ? n * matrix.depth + k : k * matrix.features + n];
      matrix.numbers.push_back(int8_t(number - middle));
      matrix.sums.back() += matrix.numbers.back();
    }
  }
  return matrix;
}

template <typename T>
static TensorRef makeIntegers(Node &node, ArrayRef<int64_t> shape, const std::vector<T> &numbers) {
  auto type = RankedTensorType::get(shape, node.body.b.getIntegerType(8 * sizeof(T)));
  return makeNumbers(node, type,
                     {reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T)});
}

/// The numbers of UINT8, or those of i8 plus 128, in the bits of i8.
static TensorRef makeUnsigned(Node &node, const TensorRef &tensor) {
  if (tensor->unsignedBytes)
    return tensor->unsignedBytes;
  Type i8 = node.body.b.getI8Type();
  return tensor->unsignedBytes =
             *applyElementwise(node, {tensor}, i8, [&](Body &at, ArrayRef<Value> x) -> Value {
               if (tensor->isByte)
                 return castScalar(at, x[0], i8);
               Value half = arith::ConstantIntOp::create(at.b, at.loc, -128, 8);
               return at.make<arith::XOrIOp>(x[0], half);
             });
}

TensorRef imports::multiplyIntegers(Node &node, const IntegerFactor &left,
                                    const IntegerFactor &right, bool isTransposed) {
  const TensorRef &tensor = left.tensor;
  if (tensor->getRank() < 2 || !tensor->hasBytes() || (left.zero && !left.zero->isSingle()))
    return nullptr;
  std::optional<Matrix> matrix = readMatrix(node, right, isTransposed);
  if (!matrix || getStatic(tensor->sizes.back()) != matrix->depth)
    return nullptr;
  Type i32 = node.body.b.getI32Type();
  int32_t more = tensor->isByte ? 0 : 128;
  TensorRef bytes = makeUnsigned(node, tensor);
  SmallVector<OpFoldResult> sizes(tensor->sizes);
  sizes.back() = fixedSize(node.model.context, matrix->features);
  TensorRef weight = makeIntegers(node, {matrix->features, matrix->depth}, matrix->numbers);
  TensorRef sum = makeComputed(LinearOp::create(node.body.b, node.body.loc,
                                                getTensorType(i32, sizes), node.materialize(bytes),
                                                node.materialize(weight), /*bias=*/Value()),
                               sizes);
  SmallVector<TensorRef> operands = {sum, makeIntegers(node, {matrix->features}, matrix->sums)};
  if (left.zero)
    operands.push_back(makeReshape(node.body, left.zero, {}));
  if (!left.zero && !more)
    return sum;
  return *applyElementwise(node, operands, i32, [&](Body &at, ArrayRef<Value> x) -> Value {
    Value zero = arith::ConstantIntOp::create(at.b, at.loc, more, 32);
    if (x.size() > 2)
      zero = at.make<arith::AddIOp>(castScalar(at, x[2], i32), zero);
    return at.make<arith::SubIOp>(x[0], at.make<arith::MulIOp>(zero, x[1]));
  });
}

TensorRef imports::multiplyQuantized(Node &node, const TensorRef &left, const TensorRef &right,
                                     bool isTransposed) {
  if (!left->quantized || !right->quantized)
    return nullptr;
  TensorRef leftScale = left->quantized->scale, rightScale = right->quantized->scale;
  int64_t features = isTransposed ? 0 : 1;
  bool isOfFeatures = rightScale->getRank() == 1 && right->quantized->axis == features;
  if (!leftScale->element.isF32() || !rightScale->element.isF32() || !leftScale->isSingle() ||
      !(rightScale->isSingle() || isOfFeatures))
    return nullptr;
  TensorRef sum =
      multiplyIntegers(node, left->quantized->integers, right->quantized->integers, isTransposed);
  if (!sum)
    return nullptr;
  leftScale = makeReshape(node.body, leftScale, {});
  if (rightScale->isSingle())
    rightScale = makeReshape(node.body, rightScale, {});
  Type f32 = node.body.b.getF32Type();
  return *applyElementwise(node, {sum, leftScale, rightScale}, f32,
                           [&](Body &at, ArrayRef<Value> x) -> Value {
                             Value scale = at.make<arith::MulFOp>(x[1], x[2]);
                             return at.make<arith::MulFOp>(castScalar(at, x[0], f32), scale);
                           });
}
