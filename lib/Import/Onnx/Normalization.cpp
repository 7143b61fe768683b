//===- Normalization.cpp - ONNX's softmax and norms -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

LogicalResult imports::checkFloat(Node &node, const TensorRef &tensor) {
  if (!isa<FloatType>(tensor->element))
    return node.error() << "expected floats, found " << tensor->element;
  return success();
}

/// The dimensions from `axis` on as one.
static TensorRef flattenFrom(Body &body, const TensorRef &tensor, int64_t axis) {
  ArrayRef<OpFoldResult> sizes = tensor->sizes;
  SmallVector<OpFoldResult> flat(sizes.take_front(axis));
  flat.push_back(multiply(body, sizes.drop_front(axis)));
  return makeReshape(body, tensor, flat);
}

static TensorRef makeSoftmax(Node &node, const TensorRef &input, int64_t axis) {
  Value scores = node.materialize(input);
  int64_t given = axis == input->getRank() - 1 ? -1 : axis;
  return makeComputed(SoftmaxOp::create(node.body.b, node.body.loc, scores.getType(), scores,
                                        /*sink=*/Value(), node.body.b.getI64IntegerAttr(given)),
                      input->sizes);
}

static LogicalResult importSoftmax(Node &node) {
  TensorRef input = node.input(0);
  // Before opset 13 everything from the axis on was one row.
  bool flattens = node.getOpset() < 13;
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", flattens ? 1 : -1), input->getRank());
  if (failed(axis) || failed(checkFloat(node, input)))
    return failure();
  if (flattens && *axis != input->getRank() - 1) {
    TensorRef rows = flattenFrom(node.body, input, *axis);
    return node.setOutput(makeReshape(node.body, makeSoftmax(node, rows, *axis), input->sizes));
  }
  return node.setOutput(makeSoftmax(node, input, *axis));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Scale or bias, which broadcasts to the input; null if the norm has none.
static FailureOr<TensorRef> getFactor(Node &node, int index) {
  TensorRef input = node.input(0), factor = node.input(index);
  if (!factor)
    return factor;
  if (!isa<FloatType>(factor->element) || factor->getRank() > input->getRank())
    return node.error() << "expected scale and bias that broadcast to " << input->getType()
                        << ", found " << factor->getType();
  for (auto [wanted, size] : llvm::zip(llvm::reverse(input->sizes), llvm::reverse(factor->sizes)))
    if (getStatic(wanted) && getStatic(size) && *getStatic(wanted) != *getStatic(size) &&
        *getStatic(size) != 1)
      return node.error() << "expected scale and bias that broadcast to " << input->getType()
                          << ", found " << factor->getType();
  return factor;
}

/// Whether attn.layer_norm takes `factor`, which it may lack, for a norm of the dimensions from
/// `axis` on.
static bool isRow(const TensorRef &factor, const TensorRef &input, int64_t axis) {
  return !factor ||
         (factor->element == input->element && factor->getRank() <= input->getRank() - axis);
}

/// The row of all dimensions from `axis` on.
static Value getRow(Node &node, const TensorRef &factor, const TensorRef &input, int64_t axis) {
  if (!factor)
    return {};
  ArrayRef<OpFoldResult> sizes = ArrayRef(input->sizes).drop_front(axis);
  return node.materialize(flattenFrom(node.body, makeExpand(node.body, factor, sizes), 0));
}

static TensorRef makeNorm(Node &node, const TensorRef &input, int64_t axis, NormMode mode,
                          const TensorRef &scale, const TensorRef &bias) {
  TensorRef rows = flattenFrom(node.body, input, axis);
  Value norm =
      LayerNormOp::create(node.body.b, node.body.loc, rows->getType(), node.materialize(rows), mode,
                          getRow(node, scale, input, axis), getRow(node, bias, input, axis),
                          APFloat(node.getFloat("epsilon", 1e-5f)));
  return makeReshape(node.body, makeComputed(norm, rows->sizes), input->sizes);
}

/// A norm, then a product and sum of elements in the type of scale, which is the result's.
static FailureOr<TensorRef> makeNormThenScale(Node &node, TensorRef input, int64_t axis,
                                              NormMode mode, const TensorRef &scale,
                                              const TensorRef &bias) {
  Type type = scale->element;
  if (type.getIntOrFloatBitWidth() > input->element.getIntOrFloatBitWidth())
    input = castTensor(node.body, input, type);
  TensorRef norm = makeNorm(node, input, axis, mode, {}, {});
  SmallVector<TensorRef> operands = {castTensor(node.body, norm, type), scale};
  if (bias)
    operands.push_back(castTensor(node.body, bias, type));
  return applyElementwise(node, operands, type, [](Body &at, ArrayRef<Value> x) -> Value {
    Value scaled = at.make<arith::MulFOp>(x[0], x[1]);
    return x.size() > 2 ? at.make<arith::AddFOp>(scaled, x[2]) : scaled;
  });
}

/// Mean and 1 / deviation of the rows, which a layer norm may give as well, in the type of
/// stash_type.
static LogicalResult importMoments(Node &node, TensorRef input, int64_t axis) {
  if (!node.wantsOutput(1) && !node.wantsOutput(2))
    return success();
  FailureOr<Type> given = node.getType("stash_type");
  if (failed(given))
    return failure();
  Type type = *given ? *given : node.body.b.getF32Type();
  if (!isa<FloatType>(type))
    return node.error() << "expected attribute 'stash_type' to be a float type, found " << type;
  input = castTensor(node.body, input, type);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(axis, input->getRank()));
  TensorRef mean = makeReduce(node.body, input, ReduceKind::mean, dims, /*keep=*/true);
  TensorRef square = makeMap(node.body, input->element, input->sizes, {input, mean},
                             [](Body &at, ArrayRef<Value> x) -> Value {
                               Value rest = at.make<arith::SubFOp>(x[0], x[1]);
                               return at.make<arith::MulFOp>(rest, rest);
                             });
  TensorRef variance = makeReduce(node.body, square, ReduceKind::mean, dims, /*keep=*/true);
  double epsilon = node.getFloat("epsilon", 1e-5f);
  node.setOutput(1, mean);
  node.setOutput(2, makeMap(node.body, input->element, variance->sizes, {variance},
                            [=](Body &at, ArrayRef<Value> x) -> Value {
                              Value sum = at.make<arith::AddFOp>(
                                  x[0], floatConstant(at, x[0].getType(), epsilon));
                              return at.make<arith::DivFOp>(floatConstant(at, x[0].getType(), 1),
                                                            at.make<math::SqrtOp>(sum));
                            }));
  return success();
}

static LogicalResult importNorm(Node &node, NormMode mode) {
  TensorRef input = node.input(0);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", -1), input->getRank());
  if (failed(axis) || failed(checkFloat(node, input)))
    return failure();
  FailureOr<TensorRef> scale = getFactor(node, 1), bias = getFactor(node, 2);
  if (failed(scale) || failed(bias))
    return failure();
  if (mode == NormMode::layer && failed(importMoments(node, input, *axis)))
    return failure();
  if (isRow(*scale, input, *axis) && isRow(*bias, input, *axis))
    return node.setOutput(makeNorm(node, input, *axis, mode, *scale, *bias));
  FailureOr<TensorRef> result = makeNormThenScale(node, input, *axis, mode, *scale, *bias);
  return node.setOutput(result);
}

static LogicalResult importLayerNorm(Node &node) { return importNorm(node, NormMode::layer); }
static LogicalResult importRmsNorm(Node &node) { return importNorm(node, NormMode::rms); }

//===----------------------------------------------------------------------===//
// Norms of images and sound, whose channels are dimension 1
//===----------------------------------------------------------------------===//

/// One number for each channel of `input`; the number of channels is known.
static FailureOr<TensorRef> getPerChannel(Node &node, int index, const TensorRef &input) {
  TensorRef row = node.input(index);
  if (row->element != input->element || row->getRank() != 1 ||
      !sameSize(row->sizes[0], input->sizes[1]))
    return node.error() << "expected one number for each channel of " << input->getType()
                        << ", found " << row->getType();
  SmallVector<OpFoldResult> sizes(input->getRank() - 1, fixedSize(node.model.context, 1));
  sizes[0] = row->sizes[0];
  return makeReshape(node.body, row, sizes);
}

static LogicalResult checkChannels(Node &node) {
  TensorRef input = node.input(0);
  if (failed(checkFloat(node, input)))
    return failure();
  if (input->getRank() < 2 || !getStatic(input->sizes[1]))
    return node.error() << "expected a known number of channels, found " << input->getType();
  return success();
}

/// A layer norm of each group of channels and all that follows, then a scale and bias for each
/// channel.
static LogicalResult normalizeGroups(Node &node, int64_t groups) {
  TensorRef input = node.input(0);
  int64_t channels = *getStatic(input->sizes[1]);
  if (groups < 1 || groups > std::max<int64_t>(channels, 1) || channels % groups != 0)
    return node.error() << "expected attribute 'num_groups' to divide " << channels
                        << " channels, found " << groups;
  FailureOr<TensorRef> scale = getPerChannel(node, 1, input), bias = getPerChannel(node, 2, input);
  if (failed(scale) || failed(bias))
    return failure();
  SmallVector<OpFoldResult> sizes(input->sizes);
  sizes[1] = fixedSize(node.model.context, channels / groups);
  OpFoldResult width = multiply(node.body, ArrayRef(sizes).drop_front());
  TensorRef rows =
      makeReshape(node.body, input, {sizes[0], fixedSize(node.model.context, groups), width});
  Value norm = LayerNormOp::create(node.body.b, node.body.loc, rows->getType(),
                                   node.materialize(rows), NormMode::layer, Value(), Value(),
                                   APFloat(node.getFloat("epsilon", 1e-5f)));
  TensorRef whole = makeReshape(node.body, makeComputed(norm, rows->sizes), input->sizes);
  FailureOr<TensorRef> result = applyElementwise(
      node, {whole, *scale, *bias}, input->element, [](Body &at, ArrayRef<Value> x) -> Value {
        return at.make<arith::AddFOp>(at.make<arith::MulFOp>(x[0], x[1]), x[2]);
      });
  return node.setOutput(result);
}

static LogicalResult importGroupNorm(Node &node) {
  if (failed(checkChannels(node)))
    return failure();
  return normalizeGroups(node, node.getInt("num_groups", 0));
}

static LogicalResult importInstanceNorm(Node &node) {
  if (failed(checkChannels(node)))
    return failure();
  return normalizeGroups(node, *getStatic(node.input(0)->sizes[1]));
}

/// Normalizes with the running mean and variance of training.
static LogicalResult importBatchNorm(Node &node) {
  if (failed(checkChannels(node)))
    return failure();
  if (node.getInt("training_mode", 0) != 0 || node.wantsOutput(1))
    return node.error() << "expected a norm as it is at inference, found one for training";
  TensorRef input = node.input(0);
  SmallVector<TensorRef> operands = {input};
  for (int index : {1, 2, 3, 4}) {
    FailureOr<TensorRef> row = getPerChannel(node, index, input);
    if (failed(row))
      return failure();
    operands.push_back(*row);
  }
  double epsilon = node.getFloat("epsilon", 1e-5f);
  FailureOr<TensorRef> result =
      applyElementwise(node, operands, input->element, [=](Body &at, ArrayRef<Value> x) -> Value {
        Value variance = at.make<arith::AddFOp>(x[4], floatConstant(at, x[4].getType(), epsilon));
        Value scale = at.make<arith::DivFOp>(x[1], at.make<math::SqrtOp>(variance));
        Value rest = at.make<arith::SubFOp>(x[0], x[3]);
        return at.make<arith::AddFOp>(at.make<arith::MulFOp>(rest, scale), x[2]);
      });
  return node.setOutput(result);
}

ArrayRef<OpEntry> imports::getNormalizationOps() {
  static const OpEntry entries[] = {
      {"",
       "BatchNormalization",
       "fffff",
       "xx?x?x?x?",
       {{"epsilon", Float}, {"momentum", Float}, {"training_mode", Int}},
       importBatchNorm},
      {"",
       "GroupNormalization",
       "fff",
       "x",
       {{"epsilon", Float}, {"num_groups", Int}, {"stash_type", Int}},
       importGroupNorm},
      {"", "InstanceNormalization", "fff", "x", {{"epsilon", Float}}, importInstanceNorm},
      {"",
       "LayerNormalization",
       "fff?",
       "xx?x?",
       {{"axis", Int}, {"epsilon", Float}, {"stash_type", Int}},
       importLayerNorm},
      {"",
       "RMSNormalization",
       "ff",
       "x",
       {{"axis", Int}, {"epsilon", Float}, {"stash_type", Int}},
       importRmsNorm},
      // ONNX Runtime's name for it, from before ONNX had it.
      {"",
       "SimplifiedLayerNormalization",
       "ff",
       "x",
       {{"axis", Int}, {"epsilon", Float}, {"stash_type", Int}},
       importRmsNorm},
      {"", "Softmax", "f", "x", {{"axis", Int}}, importSoftmax},
  };
  return entries;
}
