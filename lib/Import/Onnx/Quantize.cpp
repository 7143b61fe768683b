//===- Quantize.cpp - ONNX's quantized integers ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers that stand for floats: less a zero point, times a scale. Models in QDQ form convert them
// to floats before each `MatMul`; others multiply integers. Where these aren't linear layers of i8
// (IntegerProducts.cpp), they are multiplied in floats, too: sums are exact up to 2^24. Constants
// become floats here, so that other layers have weights like others; those that nothing reads are
// freed after the import.
//
//===----------------------------------------------------------------------===//

#include "Quantize.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

template <typename T>
static std::vector<float> readAs(ElementsAttr constant, ArrayRef<char> bytes) {
  std::vector<float> numbers(constant.getNumElements());
  size_t step = constant.isSplat() ? 0 : sizeof(T);
  for (size_t i = 0; i < numbers.size(); ++i) {
    T number;
    std::memcpy(&number, bytes.data() + i * step, sizeof(T));
    numbers[i] = float(number);
  }
  return numbers;
}

namespace {
/// The f32 that bits of f16 are.
struct Half {
  uint16_t bits;
  explicit operator float() const {
    return llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits)).convertToFloat();
  }
};
} // namespace

std::optional<std::vector<float>> imports::readNumbers(Node &node, const TensorRef &tensor) {
  ElementsAttr constant;
  if (!matchPattern(node.materialize(tensor), m_Constant(&constant)))
    return std::nullopt;
  ArrayRef<char> bytes = getConstantBytes(constant);
  if (tensor->element.isF32())
    return readAs<float>(constant, bytes);
  if (tensor->element.isF16())
    return readAs<Half>(constant, bytes);
  if (tensor->element.isInteger(8))
    return readAs<int8_t>(constant, bytes);
  if (tensor->element.isInteger(16))
    return readAs<int16_t>(constant, bytes);
  if (tensor->element.isInteger(32))
    return readAs<int32_t>(constant, bytes);
  return std::nullopt;
}

TensorRef imports::makeNumbers(Node &node, RankedTensorType type, ArrayRef<char> bytes) {
  if (int64_t(bytes.size()) < kLeastWeightBytes)
    return makeConstant(node.body, DenseElementsAttr::getFromRawBuffer(type, bytes));
  auto blob = HeapAsmResourceBlob::allocate(bytes.size(), type.getElementTypeBitWidth() / 8);
  llvm::copy(bytes, blob.getMutableData().begin());
  return makeConstant(node.body, DenseResourceElementsAttr::get(type, "weight", std::move(blob)));
}

TensorRef imports::makeFloats(Node &node, ArrayRef<int64_t> shape, ArrayRef<float> numbers) {
  return makeNumbers(
      node, RankedTensorType::get(shape, node.body.b.getF32Type()),
      {reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float)});
}

/// How many elements of `tensor`, row-major, have one element of a factor: all, or those of one
/// index along `dim`; none if it is no such factor.
static std::optional<int64_t> countOfFactor(const TensorRef &tensor, size_t factors, int64_t dim) {
  ArrayRef<int64_t> shape = tensor->getType().getShape();
  if (factors == 1)
    return std::max<int64_t>(ShapedType::getNumElements(shape), 1);
  if (dim < 0 || dim >= int64_t(shape.size()) || shape[dim] != int64_t(factors) || factors == 0)
    return std::nullopt;
  return std::max<int64_t>(ShapedType::getNumElements(shape.drop_front(dim + 1)), 1);
}

/// (tensor - zero) · scale of constants as a constant in f32; null if they aren't. `scale` and
/// `zero` are null, one number, or one for each index along `dim`.
static TensorRef foldFloats(Node &node, const TensorRef &tensor, const TensorRef &scale,
                            const TensorRef &zero, int64_t dim) {
  auto isFactor = [](const TensorRef &factor) { return !factor || factor->getRank() <= 1; };
  if (!isFactor(scale) || !isFactor(zero))
    return nullptr;
  std::optional<std::vector<float>> numbers = readNumbers(node, tensor);
  std::vector<float> one{1}, none{0};
  auto scales = scale ? readNumbers(node, scale) : one,
       zeros = zero ? readNumbers(node, zero) : none;
  if (!numbers || !scales || !zeros)
    return nullptr;
  auto perScale = countOfFactor(tensor, scales->size(), dim),
       perZero = countOfFactor(tensor, zeros->size(), dim);
  if (!perScale || !perZero)
    return nullptr;
  for (auto [i, number] : llvm::enumerate(*numbers))
    number = (number - (*zeros)[i / *perZero % zeros->size()]) *
             (*scales)[i / *perScale % scales->size()];
  return makeFloats(node, tensor->getType().getShape(), *numbers);
}

//===----------------------------------------------------------------------===//
// QuantizeLinear and DequantizeLinear
//===----------------------------------------------------------------------===//

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
  if (factor->isSingle())
    return makeReshape(node.body, factor, {});
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
  FailureOr<TensorRef> scale = getFactor(node, 1);
  if (failed(scale))
    return failure();
  FailureOr<TensorRef> zero = getFactor(node, 2);
  if (failed(zero))
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
  int64_t axis = node.getInt("axis", 1);
  if (axis < 0)
    axis += node.input(0)->getRank();
  auto setOutput = [&](FailureOr<TensorRef> result) {
    bool isWhole = node.getInt("block_size", 0) == 0 && type.isF32();
    if (succeeded(result) && isWhole)
      (*result)->quantized = {{node.input(0), node.input(2)}, node.input(1), axis};
    return node.setOutput(result);
  };
  if (type.isF32() && scale.isF32())
    if (TensorRef folded = foldFloats(node, node.input(0), node.input(1), node.input(2), axis))
      return setOutput(folded);
  FailureOr<TensorRef> result =
      applyElementwise(node, *operands, type, [=](Body &at, ArrayRef<Value> x) -> Value {
        Type i32 = at.b.getI32Type();
        Value number = castScalar(at, x[0], i32);
        if (x.size() > 2)
          number = at.make<arith::SubIOp>(number, castScalar(at, x[2], i32));
        Type wide = type.isF32() ? type : scale;
        Value product =
            at.make<arith::MulFOp>(castScalar(at, number, wide), castScalar(at, x[1], wide));
        return castScalar(at, product, type);
      });
  return setOutput(result);
}

/// The least and the largest of the integers that a type holds as quantized numbers.
static std::pair<double, double> getRange(Type type) {
  if (type.isInteger(8))
    return {-128, 127};
  if (type.isInteger(16))
    return {-32768, 32767};
  return {0, 255};
}

/// The nearest integer to `x`, ties to even, and `zero` more; within the range of `type`.
static Value quantize(Body &at, Value x, Value zero, Type type) {
  auto [least, most] = getRange(type);
  Value number = at.make<math::RoundEvenOp>(x);
  if (zero)
    number = at.make<arith::AddFOp>(number, zero);
  number = at.make<arith::MaximumFOp>(number, floatConstant(at, number.getType(), least));
  number = at.make<arith::MinimumFOp>(number, floatConstant(at, number.getType(), most));
  return castScalar(at, number, type);
}

/// The type of a QuantizeLinear's result: that of the zero point, or the one that the node names,
/// or UINT8.
static FailureOr<Type> getQuantizedType(Node &node) {
  TensorRef zero = node.input(2);
  int64_t given = node.getInt("output_dtype", 0);
  if (zero ? zero->isByte : given == 0 || given == ::onnx::TensorProto::UINT8)
    return getByteType(node.model.context);
  FailureOr<Type> type = zero ? FailureOr<Type>(zero->element) : node.getType("output_dtype");
  if (succeeded(type) && !type->isInteger(8) && !type->isInteger(16))
    return node.error() << "expected quantized numbers of i8, i16 or UINT8, found " << *type;
  return type;
}

static LogicalResult importQuantize(Node &node) {
  FailureOr<Type> found = getQuantizedType(node);
  if (failed(found))
    return failure();
  Type type = *found;
  FailureOr<SmallVector<TensorRef>> operands = getOperands(node);
  if (failed(operands))
    return failure();
  FailureOr<TensorRef> result =
      applyElementwise(node, *operands, type, [=](Body &at, ArrayRef<Value> x) -> Value {
        Type f32 = at.b.getF32Type();
        Value quotient =
            at.make<arith::DivFOp>(castScalar(at, x[0], f32), castScalar(at, x[1], f32));
        return quantize(at, quotient, x.size() > 2 ? castScalar(at, x[2], f32) : Value(), type);
      });
  return node.setOutput(result);
}

FailureOr<DynamicallyQuantized> imports::quantizeDynamically(Node &node, const TensorRef &input) {
  if (!input->element.isF32())
    return node.error() << "expected f32, found " << input->element;
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, input->getRank()));
  auto reduce = [&](ReduceKind kind) {
    return all.empty() ? input : makeReduce(node.body, input, kind, all, /*keep=*/false);
  };
  TensorRef least = reduce(ReduceKind::min), most = reduce(ReduceKind::max);
  Type byte = getByteType(node.model.context), f32 = input->element;
  auto withZero = [=](Body &at, Value least, Value most) {
    Value zero = floatConstant(at, f32, 0);
    return std::pair<Value, Value>(at.make<arith::MinimumFOp>(least, zero),
                                   at.make<arith::MaximumFOp>(most, zero));
  };
  FailureOr<TensorRef> scale =
      applyElementwise(node, {least, most}, f32, [&](Body &at, ArrayRef<Value> x) -> Value {
        auto [low, high] = withZero(at, x[0], x[1]);
        Value steps =
            at.make<arith::DivFOp>(at.make<arith::SubFOp>(high, low), floatConstant(at, f32, 255));
        Value isZero = at.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, low, high);
        return at.make<arith::SelectOp>(isZero, floatConstant(at, f32, 1), steps);
      });
  if (failed(scale))
    return failure();
  FailureOr<TensorRef> zero =
      applyElementwise(node, {least, most, *scale}, byte, [&](Body &at, ArrayRef<Value> x) {
        Value low = withZero(at, x[0], x[1]).first;
        return quantize(at, at.make<arith::DivFOp>(at.make<arith::NegFOp>(low), x[2]), Value(),
                        byte);
      });
  if (failed(zero))
    return failure();
  FailureOr<TensorRef> result =
      applyElementwise(node, {input, *scale, *zero}, byte, [&](Body &at, ArrayRef<Value> x) {
        return quantize(at, at.make<arith::DivFOp>(x[0], x[1]), castScalar(at, x[2], f32), byte);
      });
  if (failed(result))
    return failure();
  (*result)->isByte = (*zero)->isByte = true;
  return DynamicallyQuantized{*result, *scale, *zero};
}

static LogicalResult importDynamicQuantize(Node &node) {
  FailureOr<DynamicallyQuantized> result = quantizeDynamically(node, node.input(0));
  if (failed(result))
    return failure();
  node.setOutput(0, result->bytes);
  node.setOutput(1, result->scale);
  node.setOutput(2, result->zero);
  return success();
}

//===----------------------------------------------------------------------===//
// Products of integers
//===----------------------------------------------------------------------===//

/// A factor of a product less its zero point, in f32; zero points are one, or one for each index
/// along `dim`.
static FailureOr<TensorRef> getFactorOfProduct(Node &node, int index, int zeroIndex, int64_t dim) {
  TensorRef tensor = node.input(index), zero = node.input(zeroIndex);
  for (const TensorRef &each : {tensor, zero})
    if (each && !each->hasBytes())
      return node.error() << "expected factors of i8 or UINT8, found " << each->element;
  Type f32 = node.body.b.getF32Type();
  if (TensorRef folded = foldFloats(node, tensor, /*scale=*/nullptr, zero, dim))
    return folded;
  if (!zero)
    return castTensor(node.body, tensor, f32);
  if (zero->getRank() == 1 && getStatic(zero->sizes[0]) != 1) {
    SmallVector<OpFoldResult> sizes(tensor->getRank() - dim, fixedSize(node, 1));
    sizes[0] = zero->sizes[0];
    zero = makeReshape(node.body, zero, sizes);
  }
  return applyElementwise(node, {tensor, zero}, f32, [=](Body &at, ArrayRef<Value> x) -> Value {
    Type i32 = at.b.getI32Type();
    Value number = castScalar(at, x[0], i32), less = castScalar(at, x[1], i32);
    return castScalar(at, at.make<arith::SubIOp>(number, less), f32);
  });
}

static LogicalResult setSums(Node &node, FailureOr<TensorRef> product) {
  if (failed(product))
    return failure();
  return node.setOutput(castTensor(node.body, *product, node.body.b.getI32Type()));
}

static LogicalResult importMatMulInteger(Node &node) {
  if (TensorRef product =
          multiplyIntegers(node, {node.input(0), node.input(2)}, {node.input(1), node.input(3)}))
    return node.setOutput(product);
  auto lastDim = [&](int index, int64_t back) {
    return std::max<int64_t>(node.input(index)->getRank() - back, 0);
  };
  FailureOr<TensorRef> left = getFactorOfProduct(node, 0, 2, lastDim(0, 2)),
                       right = getFactorOfProduct(node, 1, 3, lastDim(1, 1));
  if (failed(left) || failed(right))
    return failure();
  return setSums(node, PartNode(node, "MatMul", {*left, *right}).import());
}

static LogicalResult importConvInteger(Node &node) {
  FailureOr<TensorRef> input = getFactorOfProduct(node, 0, 2, 0),
                       weight = getFactorOfProduct(node, 1, 3, 0);
  if (failed(input) || failed(weight))
    return failure();
  return setSums(node, PartNode(node, "Conv", {*input, *weight}).takeAll().import());
}

ArrayRef<OpEntry> imports::getQuantizeOps() {
  static const OpEntry entries[] = {
      {"", "ConvInteger", "iii?i?", "x", getConvAttributes(), importConvInteger},
      {"",
       "DequantizeLinear",
       "ifi?",
       "x",
       {{"axis", Int}, {"block_size", Int}, {"output_dtype", Int}},
       importDequantize},
      {"", "DynamicQuantizeLinear", "f", "xx?x?", {}, importDynamicQuantize},
      {"", "MatMulInteger", "iii?i?", "x", {}, importMatMulInteger},
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
