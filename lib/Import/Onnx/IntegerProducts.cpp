//===- IntegerProducts.cpp - products of quantized integers as layers -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn.linear` multiplies bytes 0 to 255 by a matrix of -128 to 127. Bytes of i8 take 128 more, as
// does their zero point, which is subtracted from sums times the sums of the matrix's columns.
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

/// The matrix of `right`; none if it isn't constant, is too large or small for a layer, or has zero
/// points in the range of i8.
static std::optional<Matrix> readMatrix(Node &node, const IntegerFactor &right, bool isTransposed) {
  constexpr int64_t kMostDepth = 65536;
  const TensorRef &tensor = right.tensor;
  if (tensor->getRank() != 2 || !(tensor->isByte || tensor->element.isInteger(8)))
    return std::nullopt;
  auto rows = getStatic(tensor->sizes[0]), columns = getStatic(tensor->sizes[1]);
  if (!rows || !columns)
    return std::nullopt;
  Matrix matrix{isTransposed ? *rows : *columns, isTransposed ? *columns : *rows, {}, {}};
  if (matrix.features == 0 || matrix.depth == 0 || matrix.depth > kMostDepth)
    return std::nullopt;
  auto numbers = readNumbers(node, tensor),
       zeros = right.zero ? readNumbers(node, right.zero) : std::vector<float>{0};
  float middle = tensor->isByte ? 128 : 0;
  if (!numbers || !zeros || !llvm::all_of(*zeros, [&](float zero) { return zero == middle; }))
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

TensorRef imports::multiplyIntegers(Node &node, const IntegerFactor &left,
                                    const IntegerFactor &right, bool isTransposed) {
  const TensorRef &tensor = left.tensor;
  if (tensor->getRank() < 2 || !(tensor->isByte || tensor->element.isInteger(8)) ||
      (left.zero && !left.zero->isSingle()))
    return nullptr;
  std::optional<Matrix> matrix = readMatrix(node, right, isTransposed);
  if (!matrix || getStatic(tensor->sizes.back()) != matrix->depth)
    return nullptr;
  Type i8 = node.body.b.getI8Type(), i32 = node.body.b.getI32Type();
  int32_t more = tensor->isByte ? 0 : 128;
  auto bytes = applyElementwise(node, {tensor}, i8, [&](Body &at, ArrayRef<Value> x) -> Value {
    if (!more)
      return castScalar(at, x[0], i8);
    Value half = arith::ConstantIntOp::create(at.b, at.loc, -128, 8);
    return at.make<arith::XOrIOp>(x[0], half);
  });
  SmallVector<OpFoldResult> sizes(tensor->sizes);
  sizes.back() = fixedSize(node.model.context, matrix->features);
  TensorRef weight = makeIntegers(node, {matrix->features, matrix->depth}, matrix->numbers);
  TensorRef sum = makeComputed(LinearOp::create(node.body.b, node.body.loc,
                                                getTensorType(i32, sizes), node.materialize(*bytes),
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

/// A scale of `quantized` that broadcasts to a product's features; null if it has others.
static TensorRef getScale(Node &node, const Quantized &quantized, int64_t features) {
  const TensorRef &scale = quantized.scale;
  if (!scale->element.isF32())
    return nullptr;
  if (scale->isSingle())
    return makeReshape(node.body, scale, {});
  bool isOfFeatures = scale->getRank() == 1 && quantized.axis == features;
  return isOfFeatures ? scale : TensorRef();
}

TensorRef imports::multiplyQuantized(Node &node, const TensorRef &left, const TensorRef &right,
                                     bool isTransposed) {
  if (!left->quantized || !right->quantized || !left->quantized->scale->isSingle())
    return nullptr;
  TensorRef leftScale = getScale(node, *left->quantized, /*features=*/-1),
            rightScale = getScale(node, *right->quantized, isTransposed ? 0 : 1);
  if (!leftScale || !rightScale)
    return nullptr;
  TensorRef sum =
      multiplyIntegers(node, {left->quantized->tensor, left->quantized->zero},
                       {right->quantized->tensor, right->quantized->zero}, isTransposed);
  if (!sum)
    return nullptr;
  Type f32 = node.body.b.getF32Type();
  return *applyElementwise(node, {sum, leftScale, rightScale}, f32,
                           [&](Body &at, ArrayRef<Value> x) -> Value {
                             return at.make<arith::MulFOp>(castScalar(at, x[0], f32),
                                                           at.make<arith::MulFOp>(x[1], x[2]));
                           });
}
