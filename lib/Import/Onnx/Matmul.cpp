//===- Matmul.cpp - ONNX's matrix products --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every product becomes `attn.matmul`; attn-raise finds scores, contexts and layers among them.
//
//===----------------------------------------------------------------------===//

#include "Quantize.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

static LogicalResult checkInner(Node &node, OpFoldResult left, OpFoldResult right) {
  auto known = getStatic(left), other = getStatic(right);
  if (known && other && *known != *other)
    return node.error() << "expected inner sizes to match, found " << *known << " and " << *other;
  return success();
}

/// The dimensions in front of matrices, as a tensor of their own.
static TensorRef getFront(const TensorRef &matrices) {
  return makeTensor(matrices->element, ArrayRef(matrices->sizes).drop_back(2));
}

FailureOr<TensorRef> imports::multiplyMatrices(Node &node, const TensorRef &left,
                                               const TensorRef &right) {
  if (!isa<FloatType>(left->element) || left->element != right->element)
    return node.error() << "expected floats of one type, found " << left->element << " and "
                        << right->element;
  if (left->getRank() < 2 || right->getRank() < 2)
    return node.error() << "expected ranks of 2 or more, found " << left->getRank() << " and "
                        << right->getRank();
  if (failed(checkInner(node, left->sizes.back(), right->sizes[right->getRank() - 2])))
    return failure();
  FailureOr<SmallVector<OpFoldResult>> sizes = broadcast(node, {getFront(left), getFront(right)});
  if (failed(sizes))
    return failure();
  sizes->push_back(left->sizes[left->getRank() - 2]);
  sizes->push_back(right->sizes.back());
  return makeComputed(MatmulOp::create(node.body.b, node.body.loc,
                                       getTensorType(left->element, *sizes), node.materialize(left),
                                       node.materialize(right)),
                      *sizes);
}

static LogicalResult importGemm(Node &node) {
  TensorRef input = node.input(0), matrix = node.input(1), bias = node.input(2);
  if (input->getRank() != 2 || matrix->getRank() != 2)
    return node.error() << "expected matrices, found ranks " << input->getRank() << " and "
                        << matrix->getRank();
  if (matrix->element != input->element || (bias && bias->element != input->element))
    return node.error() << "expected operands of one type, found " << input->element << " and "
                        << (matrix->element != input->element ? matrix : bias)->element;
  double alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  bool isTransposed = node.getInt("transB", 0);
  if (node.getInt("transA", 0))
    input = makeTranspose(node.body, input, {1, 0});
  FailureOr<TensorRef> product = multiplyQuantized(node, input, matrix, isTransposed);
  if (isTransposed)
    matrix = makeTranspose(node.body, matrix, {1, 0});
  if (!*product)
    product = multiplyMatrices(node, input, matrix);
  if (failed(product))
    return failure();
  if (alpha != 1)
    product = makeScaled(node.body, *product, alpha);
  if (!bias)
    return node.setOutput(*product);
  if (beta != 1)
    bias = makeScaled(node.body, bias, beta);
  FailureOr<TensorRef> sum =
      applyElementwise(node, {*product, bias}, input->element, [](Body &body, ArrayRef<Value> x) {
        return body.make<arith::AddFOp>(x[0], x[1]);
      });
  return node.setOutput(sum);
}

/// A vector is a row on the left and a column on the right, which the result does not show.
static LogicalResult multiplyVector(Node &node, TensorRef left, TensorRef right) {
  bool isRow = left->getRank() == 1, isColumn = right->getRank() == 1;
  OpFoldResult one = fixedSize(node.model.context, 1);
  if (isRow)
    left = makeReshape(node.body, left, {one, left->sizes[0]});
  if (isColumn)
    right = makeReshape(node.body, right, {right->sizes[0], one});
  FailureOr<TensorRef> product = multiplyMatrices(node, left, right);
  if (failed(product))
    return failure();
  SmallVector<OpFoldResult> sizes((*product)->sizes);
  if (isColumn)
    sizes.pop_back();
  if (isRow)
    sizes.erase(sizes.end() - (isColumn ? 1 : 2));
  return node.setOutput(makeReshape(node.body, *product, sizes));
}

static LogicalResult importMatMul(Node &node) {
  TensorRef left = node.input(0), right = node.input(1);
  if (left->getRank() == 1 || right->getRank() == 1)
    return multiplyVector(node, left, right);
  if (TensorRef product = multiplyQuantized(node, left, right))
    return node.setOutput(product);
  FailureOr<TensorRef> product = multiplyMatrices(node, left, right);
  return node.setOutput(product);
}

ArrayRef<OpEntry> imports::getMatmulOps() {
  static const OpEntry entries[] = {
      {"", "Conv", "fff?", "x", getConvAttributes(), importConv},
      {"",
       "ConvTranspose",
       "fff?",
       "x",
       {{"auto_pad", String},
        {"dilations", Ints},
        {"group", Int},
        {"kernel_shape", Ints},
        {"output_padding", Ints},
        {"pads", Ints},
        {"strides", Ints}},
       importConvTranspose},
      {"", "Einsum", "n*", "x", {{"equation", String}}, importEinsum},
      {"",
       "Gemm",
       "fff?",
       "x",
       {{"alpha", Float}, {"beta", Float}, {"transA", Int}, {"transB", Int}},
       importGemm},
      {"", "MatMul", "ff", "x", {}, importMatMul},
  };
  return entries;
}
