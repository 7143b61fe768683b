//===- QuantizedOps.cpp - ops on quantized integers as ops on floats ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands become floats, and a result becomes integers again: by parts of DequantizeLinear, the op
// on floats, and QuantizeLinear.
//
//===----------------------------------------------------------------------===//

#include "Quantize.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The floats of an input, whose scale and zero point are the next two inputs; of one for each
/// index, along `axis`.
static FailureOr<TensorRef> dequantize(Node &node, int index, int64_t axis = 0) {
  return PartNode(node, "DequantizeLinear",
                  {node.input(index), node.input(index + 1), node.input(index + 2)})
      .set("axis", axis)
      .import();
}

/// Sets the result: `floats`, quantized by the input `scale` and the next one. Without a zero point
/// these are of the type of the first input.
static LogicalResult setQuantized(Node &node, FailureOr<TensorRef> floats, int scale) {
  if (failed(floats))
    return failure();
  PartNode quantize(node, "QuantizeLinear", {*floats, node.input(scale), node.input(scale + 1)});
  if (!node.input(scale + 1) && node.input(0)->element.isInteger(8))
    quantize.set("output_dtype", int64_t(::onnx::TensorProto::INT8));
  return node.setOutput(quantize.set("axis", int64_t(0)).import());
}

static FailureOr<TensorRef> addBias(Node &node, FailureOr<TensorRef> sum, const TensorRef &bias) {
  return failed(sum) || !bias ? sum : PartNode(node, "Add", {*sum, bias}).import();
}

/// A bias of integers in steps of the product of two scales.
static FailureOr<TensorRef> dequantizeBias(Node &node, const TensorRef &bias, const TensorRef &a,
                                           const TensorRef &b) {
  if (!bias)
    return bias;
  FailureOr<TensorRef> scale = PartNode(node, "Mul", {a, b}).import();
  if (failed(scale))
    return failure();
  return PartNode(node, "DequantizeLinear", {bias, *scale}).set("axis", int64_t(0)).import();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult importQLinearMatMul(Node &node) {
  FailureOr<TensorRef> left = dequantize(node, 0, -2), right = dequantize(node, 3, -1);
  if (failed(left) || failed(right))
    return failure();
  return setQuantized(node, PartNode(node, "MatMul", {*left, *right}).import(), 6);
}

static LogicalResult importQLinearConv(Node &node) {
  FailureOr<TensorRef> input = dequantize(node, 0), filter = dequantize(node, 3),
                       bias = dequantizeBias(node, node.input(8), node.input(1), node.input(4));
  if (failed(input) || failed(filter) || failed(bias))
    return failure();
  return setQuantized(node, PartNode(node, "Conv", {*input, *filter, *bias}).takeAll().import(), 6);
}

template <bool isSum>
static LogicalResult importQLinearBinary(Node &node) {
  FailureOr<TensorRef> left = dequantize(node, 0), right = dequantize(node, 3);
  if (failed(left) || failed(right))
    return failure();
  return setQuantized(node, PartNode(node, isSum ? "Add" : "Mul", {*left, *right}).import(), 6);
}

/// An op of one operand: `QLinearNAME` of ONNX Runtime is `NAME` on floats.
static LogicalResult importQLinearUnary(Node &node) {
  FailureOr<TensorRef> input = dequantize(node, 0);
  if (failed(input))
    return failure();
  PartNode part(node, node.getOp().drop_front(StringRef("QLinear").size()), {*input});
  return setQuantized(node, part.take("axis").take("alpha").import(), 3);
}

/// An op that ONNX has by the same name.
static LogicalResult importAsOfOnnx(Node &node) {
  FailureOr<TensorRef> result =
      PartNode(node, node.getOp(), {node.input(0), node.input(1), node.input(2)})
          .take("axis")
          .import();
  return node.setOutput(result);
}

static LogicalResult importQGemm(Node &node) {
  bool isTransposed = node.getInt("transB", 0);
  FailureOr<TensorRef> left = dequantize(node, 0),
                       right = dequantize(node, 3, isTransposed ? 0 : 1),
                       bias = dequantizeBias(node, node.input(6), node.input(1), node.input(4));
  if (failed(left) || failed(right) || failed(bias))
    return failure();
  double alpha = node.getFloat("alpha", 1);
  if (*bias && alpha != 1) // in steps of alpha times both scales
    bias = makeScaled(node.body, *bias, alpha);
  FailureOr<TensorRef> sum = PartNode(node, "Gemm", {*left, *right, *bias})
                                 .take("alpha")
                                 .take("transA")
                                 .take("transB")
                                 .import();
  if (node.input(7))
    return setQuantized(node, sum, 7);
  return node.setOutput(sum);
}

/// A product of integers in floats, with a bias: both scales come behind both factors, and then the
/// zero points.
static LogicalResult importMatMulIntegerToFloat(Node &node) {
  auto factor = [&](int index, int64_t axis) {
    return PartNode(node, "DequantizeLinear",
                    {node.input(index), node.input(index + 2), node.input(index + 4)})
        .set("axis", axis)
        .import();
  };
  FailureOr<TensorRef> left = factor(0, -2), right = factor(1, -1);
  if (failed(left) || failed(right))
    return failure();
  FailureOr<TensorRef> sum =
      addBias(node, PartNode(node, "MatMul", {*left, *right}).import(), node.input(6));
  return node.setOutput(sum);
}

static LogicalResult importDynamicQuantizeMatMul(Node &node) {
  FailureOr<DynamicallyQuantized> left = quantizeDynamically(node, node.input(0));
  FailureOr<TensorRef> right = dequantize(node, 1, -1);
  if (failed(left) || failed(right))
    return failure();
  FailureOr<TensorRef> floats =
      PartNode(node, "DequantizeLinear", {left->bytes, left->scale, left->zero}).import();
  if (failed(floats))
    return failure();
  FailureOr<TensorRef> sum =
      addBias(node, PartNode(node, "MatMul", {*floats, *right}).import(), node.input(4));
  return node.setOutput(sum);
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

namespace {
/// A weight [n, k] of `bits` bits, 4 or 8, in blocks of `block` elements of a row, which have one
/// scale and zero point. Bytes hold the lower element first; rows of blocks, and of zero points,
/// are whole bytes.
struct PackedWeight {
  int64_t n, k, bits, block;
  int64_t blocks() const { return llvm::divideCeil(k, block); }
  int64_t bytesOfBlock() const { return block * bits / 8; }
  int64_t bytesOfZeros() const { return llvm::divideCeil(blocks() * bits, 8); }
  int elementOf(ArrayRef<float> bytes, int64_t row, int64_t i) const {
    int byte = int(bytes[row + i * bits / 8]);
    return bits == 8 ? byte : (i % 2 ? byte >> 4 : byte & 15);
  }
};
} // namespace

static FailureOr<TensorRef> unpackWeight(Node &node, const PackedWeight &weight) {
  auto bytes = readNumbers(node, node.input(1)), scales = readNumbers(node, node.input(2));
  TensorRef zeroPoints = node.input(3);
  auto zeros = zeroPoints ? readNumbers(node, zeroPoints) : std::nullopt;
  if (!bytes || !scales || (zeroPoints && !zeros))
    return node.error() << "expected a constant weight with constant scales and zero points";
  int64_t blocks = weight.blocks(), rows = weight.n * blocks;
  bool arePacked = zeroPoints && !isa<FloatType>(zeroPoints->element);
  if (int64_t(bytes->size()) != rows * weight.bytesOfBlock() || int64_t(scales->size()) != rows ||
      (zeros && int64_t(zeros->size()) != (arePacked ? weight.n * weight.bytesOfZeros() : rows)))
    return node.error() << "expected " << weight.n << " rows of " << blocks << " blocks of "
                        << weight.bytesOfBlock() << " bytes, found " << node.input(1)->getType()
                        << " with scales of " << node.input(2)->getType();
  std::vector<float> numbers;
  numbers.reserve(weight.n * weight.k);
  for (int64_t row = 0; row < weight.n; ++row)
    for (int64_t i = 0; i < weight.k; ++i) {
      int64_t block = row * blocks + i / weight.block;
      float zero = !zeros ? float(1 << (weight.bits - 1))
                   : arePacked
                       ? weight.elementOf(*zeros, row * weight.bytesOfZeros(), i / weight.block)
                       : (*zeros)[block];
      int element = weight.elementOf(*bytes, block * weight.bytesOfBlock(), i % weight.block);
      numbers.push_back((float(element) - zero) * (*scales)[block]);
    }
  return makeFloats(node, {weight.n, weight.k}, numbers);
}

static LogicalResult importMatMulNBits(Node &node) {
  TensorRef input = node.input(0);
  PackedWeight shape{node.getInt("N", 0), node.getInt("K", 0), node.getInt("bits", 4),
                     node.getInt("block_size", 0)};
  auto isSize = [](int64_t size) { return size >= 1 && size <= 1 << 24; };
  if ((shape.bits != 4 && shape.bits != 8) || shape.block < 16 || !isSize(shape.block) ||
      !isSize(shape.n) || !isSize(shape.k))
    return node.error()
           << "expected a weight of 4 or 8 bits in blocks of 16 elements or more, found " << shape.n
           << "x" << shape.k << " of " << shape.bits << " bits in blocks of " << shape.block;
  if (node.input(4))
    return node.error() << "expected elements of a weight in order, found an index of their groups";
  FailureOr<TensorRef> weight = unpackWeight(node, shape);
  if (failed(weight))
    return failure();
  PartNode transpose(node, "Transpose", {castTensor(node.body, *weight, input->element)});
  FailureOr<TensorRef> columns = transpose.set("perm", ArrayRef<int64_t>{1, 0}).import();
  if (failed(columns))
    return failure();
  FailureOr<TensorRef> sum =
      addBias(node, PartNode(node, "MatMul", {input, *columns}).import(), node.input(5));
  return node.setOutput(sum);
}

ArrayRef<OpEntry> imports::getQuantizedOps() {
  static constexpr const char *ms = "com.microsoft";
  static const OpEntry entries[] = {
      {ms, "DequantizeLinear", "ifi?", "x", {{"axis", Int}}, importAsOfOnnx},
      {ms, "DynamicQuantizeMatMul", "fifi?f?", "x", {}, importDynamicQuantizeMatMul},
      {ms, "MatMulIntegerToFloat", "iiffi?i?f?", "x", {}, importMatMulIntegerToFloat},
      {ms,
       "MatMulNBits",
       "fifx?i?f?",
       "x",
       {{"K", Int},
        {"N", Int},
        {"accuracy_level", Int},
        {"bits", Int},
        {"block_size", Int},
        {"weight_prepacked", Int}},
       importMatMulNBits},
      {ms,
       "QGemm",
       "ifiifii?f?i?",
       "x",
       {{"alpha", Float}, {"transA", Int}, {"transB", Int}},
       importQGemm},
      {ms, "QLinearAdd", "ifi?ifi?fi?", "x", {}, importQLinearBinary<true>},
      {"", "QLinearConv", "ifiififii?", "x", getConvAttributes(), importQLinearConv},
      {ms, "QLinearLeakyRelu", "ifi?fi?", "x", {{"alpha", Float}}, importQLinearUnary},
      {"", "QLinearMatMul", "ifiififi", "x", {}, importQLinearMatMul},
      {ms, "QLinearMul", "ifi?ifi?fi?", "x", {}, importQLinearBinary<false>},
      {ms, "QLinearSigmoid", "ifi?fi?", "x", {}, importQLinearUnary},
      {ms, "QLinearSoftmax", "ifi?fi?", "x", {{"axis", Int}, {"opset", Int}}, importQLinearUnary},
      {ms, "QuantizeLinear", "ffi?", "x", {{"axis", Int}}, importAsOfOnnx},
  };
  return entries;
}
