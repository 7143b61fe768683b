//===- Tensor.cpp - tensors of an ONNX graph ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Sizes and scalars
//===----------------------------------------------------------------------===//

std::optional<int64_t> imports::getStatic(OpFoldResult size) {
  return mlir::getConstantIntValue(size);
}

bool imports::sameSize(OpFoldResult a, OpFoldResult b) {
  return a == b || Polynomial::of(a) == Polynomial::of(b);
}

bool imports::sameSizes(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
  return a.size() == b.size() && llvm::all_of_zip(a, b, sameSize);
}

OpFoldResult imports::fixedSize(MLIRContext *context, int64_t size) {
  return Builder(context).getIndexAttr(size);
}

std::optional<int64_t> imports::getConstantInt(Value scalar) {
  APInt value;
  if (!matchPattern(scalar, m_ConstantInt(&value)))
    return std::nullopt;
  // A bool is 0 or 1.
  return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
}

std::optional<double> imports::getConstantFloat(Value scalar) {
  APFloat value(0.0);
  if (!matchPattern(scalar, m_ConstantFloat(&value)))
    return std::nullopt;
  bool lost;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

Value imports::toIndex(Body &body, OpFoldResult size) {
  if (auto known = getStatic(size))
    return body.index(*known);
  return cast<Value>(size);
}

Value imports::toScalar(Body &body, OpFoldResult size) {
  Type i64 = body.b.getI64Type();
  if (auto known = getStatic(size))
    return arith::ConstantOp::create(body.b, body.loc, body.b.getI64IntegerAttr(*known));
  // The same scalar for the same size keeps sizes comparable.
  Value value = cast<Value>(size);
  for (Operation *user : value.getUsers())
    if (isa<arith::IndexCastOp>(user) && user->getResult(0).getType() == i64)
      return user->getResult(0);
  return arith::IndexCastOp::create(body.b, body.loc, i64, value);
}

OpFoldResult imports::toSize(Body &body, Value scalar) {
  if (auto known = getConstantInt(scalar))
    return fixedSize(body.b.getContext(), *known);
  if (auto cast = scalar.getDefiningOp<arith::IndexCastOp>())
    return cast.getIn();
  return arith::IndexCastOp::create(body.b, body.loc, body.b.getIndexType(), scalar).getResult();
}

OpFoldResult imports::multiply(Body &body, ArrayRef<OpFoldResult> sizes) {
  return Polynomial::multiply(body, sizes).build(body);
}

Value imports::flatten(Body &body, ArrayRef<Value> indices, ArrayRef<OpFoldResult> sizes) {
  Value flat = body.index(0);
  for (auto [index, size] : llvm::zip(indices, sizes))
    flat = body.make<arith::AddIOp>(body.make<arith::MulIOp>(flat, toIndex(body, size)), index);
  return flat;
}

RankedTensorType imports::getTensorType(Type element, ArrayRef<OpFoldResult> sizes) {
  auto shape = llvm::map_to_vector(
      sizes, [](OpFoldResult size) { return getStatic(size).value_or(ShapedType::kDynamic); });
  return RankedTensorType::get(shape, element);
}

RankedTensorType Tensor::getType() const { return getTensorType(element, sizes); }

bool Tensor::isSingle() const {
  return llvm::all_of(sizes, [](OpFoldResult size) { return getStatic(size) == 1; });
}

SmallVector<Value> imports::broadcastIndices(Body &body, ArrayRef<OpFoldResult> sizes,
                                             ArrayRef<Value> indices) {
  SmallVector<Value> own(indices.take_back(sizes.size()));
  for (auto [index, size] : llvm::zip(own, sizes))
    if (getStatic(size) == 1)
      index = body.index(0);
  return own;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Constants are made anew at every use; two that are equal are the same place.
static bool samePlace(ArrayRef<Value> a, ArrayRef<Value> b) {
  return llvm::all_of_zip(a, b, [](Value x, Value y) {
    auto known = getConstantInt(x), other = getConstantInt(y);
    return known || other ? known == other : x == y;
  });
}

static Value selectElement(Body &body, Type type, ArrayRef<Value> elements, Value index);

/// The element of a list.
static Value readList(Body &body, const Tensor &list, ArrayRef<Value> indices) {
  return selectElement(body, list.element, *list.elements, flatten(body, indices, list.sizes));
}

Value Body::read(const TensorRef &tensor, ArrayRef<Value> indices) {
  if (tensor->elements && tensor->elements->size() == 1)
    return tensor->elements->front();
  if (!tensor->value)
    return readList(*this, *tensor, indices);
  SplatElementsAttr splat;
  if (matchPattern(tensor->value, m_Constant(&splat)))
    return arith::ConstantOp::create(b, loc, splat.getSplatValue<TypedAttr>());
  for (auto &[place, scalar] : known[tensor->value])
    if (samePlace(place, indices))
      return scalar;
  Value scalar = tensor::ExtractOp::create(b, loc, tensor->value, indices);
  known[tensor->value].push_back({SmallVector<Value>(indices), scalar});
  return scalar;
}

Value Body::readSingle(const TensorRef &tensor) {
  return read(tensor, SmallVector<Value>(tensor->getRank(), index(0)));
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

TensorRef imports::makeTensor(Type element, ArrayRef<OpFoldResult> sizes) {
  auto tensor = std::make_shared<Tensor>();
  tensor->element = element;
  tensor->sizes.assign(sizes.begin(), sizes.end());
  return tensor;
}

TensorRef imports::makeComputed(Value value, ArrayRef<OpFoldResult> sizes) {
  TensorRef tensor = makeTensor(cast<RankedTensorType>(value.getType()).getElementType(), sizes);
  tensor->value = value;
  return tensor;
}

static bool readData(ArrayRef<TensorRef> tensors) {
  return llvm::any_of(tensors, [](const TensorRef &tensor) { return tensor && tensor->isData(); });
}

TensorRef imports::makeComputed(Value value, ArrayRef<OpFoldResult> sizes,
                                ArrayRef<TensorRef> sources) {
  TensorRef tensor = makeComputed(value, sizes);
  if (readData(sources))
    return tensor;
  int64_t depth = 0;
  for (const TensorRef &source : sources)
    depth = std::max(depth, source ? source->indexDepth : 0);
  tensor->indexDepth = depth < kMaxIndexDepth ? depth + 1 : 0;
  return tensor;
}

TensorRef imports::makeGenerate(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                                ArrayRef<TensorRef> sources, ElementFn at) {
  return makeComputed(generate(body, getTensorType(element, sizes), sizes, at), sizes, sources);
}

TensorRef imports::makeConstant(Body &body, ElementsAttr elements) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : elements.getShapedType().getShape())
    sizes.push_back(fixedSize(body.b.getContext(), size));
  auto constant = arith::ConstantOp::create(body.b, body.loc, cast<TypedAttr>(elements));
  TensorRef tensor = makeComputed(constant, sizes);
  if (elements.getNumElements() > kMaxElements)
    return tensor;
  tensor->elements.emplace();
  for (TypedAttr element : cast<DenseElementsAttr>(elements).getValues<TypedAttr>())
    tensor->elements->push_back(arith::ConstantOp::create(body.b, body.loc, element));
  return tensor;
}

/// The step between the integers of a list, if there is one.
static std::optional<int64_t> getStep(ArrayRef<Value> elements) {
  if (elements.size() < 2 || !isa<IntegerType>(elements.front().getType()))
    return std::nullopt;
  auto numbers = llvm::map_to_vector(elements, getConstantInt);
  if (llvm::is_contained(numbers, std::nullopt))
    return std::nullopt;
  // Index arithmetic wraps around as well.
  auto stepTo = [&](size_t i) { return uint64_t(*numbers[i]) - uint64_t(*numbers[i - 1]); };
  for (size_t i = 2; i < numbers.size(); ++i)
    if (stepTo(i) != stepTo(1))
      return std::nullopt;
  return int64_t(stepTo(1));
}

/// The scalar of a list that `index` tells.
static Value selectElement(Body &body, Type type, ArrayRef<Value> elements, Value index) {
  // Nothing is read of a tensor without elements.
  if (elements.empty())
    return arith::ConstantOp::create(body.b, body.loc, body.b.getZeroAttr(type));
  // Analyses see through an index expression, not through a list.
  if (auto step = type.isInteger(1) ? std::nullopt : getStep(elements)) {
    Value steps = arith::ConstantOp::create(body.b, body.loc, body.b.getIntegerAttr(type, *step));
    Value count = body.make<arith::IndexCastOp>(type, index);
    return body.make<arith::AddIOp>(elements.front(), body.make<arith::MulIOp>(count, steps));
  }
  Value selected = elements.back();
  for (int64_t i = elements.size() - 2; i >= 0; --i) {
    Value here = body.make<arith::CmpIOp>(arith::CmpIPredicate::eq, index, body.index(i));
    selected = body.make<arith::SelectOp>(here, elements[i], selected);
  }
  return selected;
}

TensorRef imports::makeElements(Body &, Type element, ArrayRef<Value> elements,
                                ArrayRef<OpFoldResult> sizes) {
  TensorRef tensor = makeTensor(element, sizes);
  tensor->elements.emplace(elements);
  return tensor;
}

/// The number of elements; none if it is dynamic or above kMaxElements.
static std::optional<int64_t> countFew(ArrayRef<OpFoldResult> sizes) {
  int64_t count = 1;
  for (OpFoldResult size : sizes) {
    if (!getStatic(size))
      return std::nullopt;
    if (*getStatic(size) < 0 || *getStatic(size) > kMaxElements)
      return std::nullopt;
    count *= *getStatic(size);
    if (count > kMaxElements)
      return std::nullopt;
  }
  return count;
}

std::optional<SmallVector<Value>>
imports::moveElements(const Tensor &source, ArrayRef<OpFoldResult> sizes,
                      function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> place) {
  auto count = countFew(sizes);
  if (!source.elements || !count)
    return std::nullopt;
  SmallVector<Value> result;
  SmallVector<int64_t> indices(sizes.size());
  for (int64_t flat = 0; flat < *count; ++flat) {
    int64_t rest = flat, own = 0;
    for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
      indices[dim] = rest % *getStatic(sizes[dim]);
      rest /= *getStatic(sizes[dim]);
    }
    for (auto [index, size] : llvm::zip_equal(place(indices), source.sizes))
      own = own * *getStatic(size) + index;
    if (own < 0 || own >= int64_t(source.elements->size()))
      return std::nullopt;
    result.push_back((*source.elements)[own]);
  }
  return result;
}

/// The elements of a tensor broadcast to `sizes`, one by one; none where they are
/// not known.
static std::optional<SmallVector<Value>> broadcastElements(const Tensor &tensor,
                                                           ArrayRef<OpFoldResult> sizes) {
  return moveElements(tensor, sizes, [&](ArrayRef<int64_t> indices) {
    SmallVector<int64_t> own(indices.take_back(tensor.getRank()));
    for (auto [index, size] : llvm::zip(own, tensor.sizes))
      if (getStatic(size) == 1)
        index = 0;
    return own;
  });
}

/// Computes every element at import where those of all sources are known.
static void foldElements(Body &body, Tensor &map, ArrayRef<TensorRef> sources, ScalarFn scalar) {
  // Analyses of masks see through an index expression, not through a table.
  if (sources.empty() || (map.getRank() > 1 && !map.isSingle()))
    return;
  SmallVector<SmallVector<Value>> operands;
  for (const TensorRef &source : sources) {
    auto elements = broadcastElements(*source, map.sizes);
    if (!elements)
      return;
    operands.push_back(*elements);
  }
  map.elements.emplace();
  for (size_t i = 0; i < operands.front().size(); ++i) {
    auto scalars = llvm::map_to_vector(operands, [&](const auto &list) { return list[i]; });
    map.elements->push_back(scalar(body, scalars));
  }
}

TensorRef imports::makeMap(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                           ArrayRef<TensorRef> sources, ScalarFn scalar) {
  if (readData(sources))
    return makeComputed(emitMap(body, getTensorType(element, sizes), sources, scalar), sizes);
  // A map would check sizes that are known to be equal.
  TensorRef tensor =
      makeGenerate(body, element, sizes, sources, [&](Body &at, ArrayRef<Value> indices) {
        auto scalars = llvm::map_to_vector(sources, [&](const TensorRef &source) {
          return at.read(source, broadcastIndices(at, source->sizes, indices));
        });
        return scalar(at, scalars);
      });
  foldElements(body, *tensor, sources, scalar);
  return tensor;
}

TensorRef imports::makeScaled(Body &body, const TensorRef &source, double factor) {
  return makeMap(
      body, source->element, source->sizes, {source}, [factor](Body &at, ArrayRef<Value> x) {
        auto constant = at.b.getFloatAttr(x[0].getType(), factor);
        return at.make<arith::MulFOp>(x[0], arith::ConstantOp::create(at.b, at.loc, constant));
      });
}

TensorRef imports::makeExpand(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes) {
  if (sameSizes(source->sizes, sizes))
    return source;
  TensorRef tensor = makeGenerate(
      body, source->element, sizes, {source}, [source](Body &at, ArrayRef<Value> indices) {
        return at.read(source, broadcastIndices(at, source->sizes, indices));
      });
  if (tensor->isData())
    // Not the source itself: however long a chain of repeats, nothing holds all of it.
    tensor->unexpanded =
        source->unexpanded ? source->unexpanded : makeComputed(source->value, source->sizes);
  else
    tensor->elements = broadcastElements(*source, sizes);
  return tensor;
}
