//===- Tensor.cpp - what a name of an ONNX graph stands for ---------------===//
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
  Polynomial product = Polynomial::constant(1);
  for (OpFoldResult size : sizes)
    product = product * Polynomial::of(size);
  return product.build(body);
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

Value Body::read(const TensorRef &tensor, ArrayRef<Value> indices) {
  if (tensor->elements && tensor->elements->size() == 1)
    return tensor->elements->front();
  if (tensor->value) {
    SplatElementsAttr splat;
    if (matchPattern(tensor->value, m_Constant(&splat)))
      return arith::ConstantOp::create(b, loc, splat.getSplatValue<TypedAttr>());
  }
  for (auto &[place, scalar] : known)
    if (place.first == tensor && samePlace(place.second, indices))
      return scalar;
  Value scalar = tensor->value ? tensor::ExtractOp::create(b, loc, tensor->value, indices)
                               : tensor->at(*this, indices);
  known.push_back({{tensor, SmallVector<Value>(indices)}, scalar});
  return scalar;
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

static TensorRef make(Type element, ArrayRef<OpFoldResult> sizes) {
  auto tensor = std::make_shared<Tensor>();
  tensor->element = element;
  tensor->sizes.assign(sizes.begin(), sizes.end());
  return tensor;
}

TensorRef imports::makeComputed(Value value, ArrayRef<OpFoldResult> sizes) {
  TensorRef tensor = make(cast<RankedTensorType>(value.getType()).getElementType(), sizes);
  tensor->value = value;
  return tensor;
}

TensorRef imports::makeLazy(Type element, ArrayRef<OpFoldResult> sizes,
                            std::function<Value(Body &, ArrayRef<Value>)> at) {
  TensorRef tensor = make(element, sizes);
  tensor->at = std::move(at);
  return tensor;
}

TensorRef imports::makeConstant(Body &body, DenseElementsAttr elements) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : elements.getType().getShape())
    sizes.push_back(fixedSize(body.b.getContext(), size));
  TensorRef tensor = makeComputed(arith::ConstantOp::create(body.b, body.loc, elements), sizes);
  if (elements.getNumElements() > kMaxElements)
    return tensor;
  tensor->elements.emplace();
  for (TypedAttr element : elements.getValues<TypedAttr>())
    tensor->elements->push_back(arith::ConstantOp::create(body.b, body.loc, element));
  return tensor;
}

/// The scalar of a list that `index` tells.
static Value selectElement(Body &body, ArrayRef<Value> elements, Value index) {
  Value selected = elements.back();
  for (int64_t i = elements.size() - 2; i >= 0; --i) {
    Value here = body.make<arith::CmpIOp>(arith::CmpIPredicate::eq, index, body.index(i));
    selected = body.make<arith::SelectOp>(here, elements[i], selected);
  }
  return selected;
}

TensorRef imports::makeElements(Body &, Type element, ArrayRef<Value> elements,
                                ArrayRef<OpFoldResult> sizes) {
  TensorRef tensor = make(element, sizes);
  tensor->elements.emplace(elements);
  tensor->at = [kept = SmallVector<Value>(elements),
                dims = SmallVector<OpFoldResult>(sizes)](Body &body, ArrayRef<Value> indices) {
    Value flat = body.index(0);
    for (auto [index, size] : llvm::zip(indices, dims))
      flat = body.make<arith::AddIOp>(body.make<arith::MulIOp>(flat, toIndex(body, size)), index);
    return selectElement(body, kept, flat);
  };
  return tensor;
}

/// How many elements there are, if they are known to be few.
static std::optional<int64_t> countFew(ArrayRef<OpFoldResult> sizes) {
  int64_t count = 1;
  for (OpFoldResult size : sizes) {
    if (!getStatic(size))
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

/// Computes every element at import where all operands are known.
static void foldElements(Body &body, Tensor &map) {
  // Of masks the formula says more than the table.
  if (map.getRank() > 1 && !map.isSingle())
    return;
  SmallVector<SmallVector<Value>> operands;
  for (const TensorRef &source : map.sources) {
    auto elements = broadcastElements(*source, map.sizes);
    if (!elements)
      return;
    operands.push_back(*elements);
  }
  if (operands.empty())
    return;
  map.elements.emplace();
  for (size_t i = 0; i < operands.front().size(); ++i) {
    auto scalars = llvm::map_to_vector(operands, [&](const auto &list) { return list[i]; });
    map.elements->push_back(map.scalar(body, scalars));
  }
}

TensorRef imports::makeMap(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                           ArrayRef<TensorRef> sources, ScalarFn scalar) {
  TensorRef tensor = make(element, sizes);
  tensor->form = Form::Map;
  tensor->sources.assign(sources.begin(), sources.end());
  tensor->scalar = std::move(scalar);
  tensor->at = [sources = tensor->sources, scalar = tensor->scalar](Body &at,
                                                                    ArrayRef<Value> indices) {
    auto scalars = llvm::map_to_vector(sources, [&](const TensorRef &source) {
      return at.read(source, broadcastIndices(at, source->sizes, indices));
    });
    return scalar(at, scalars);
  };
  foldElements(body, *tensor);
  return tensor;
}

TensorRef imports::makeScaled(Body &body, const TensorRef &source, double factor) {
  TensorRef tensor = makeMap(
      body, source->element, source->sizes, {source}, [factor](Body &at, ArrayRef<Value> x) {
        auto constant = at.b.getFloatAttr(x[0].getType(), factor);
        return at.make<arith::MulFOp>(x[0], arith::ConstantOp::create(at.b, at.loc, constant));
      });
  tensor->form = Form::Scale;
  tensor->factor = factor;
  return tensor;
}

TensorRef imports::makeTranspose(const TensorRef &source, ArrayRef<int64_t> permutation) {
  // Two in a row are one.
  if (source->form == Form::Transpose && !source->value) {
    auto composed =
        llvm::map_to_vector(permutation, [&](int64_t dim) { return source->permutation[dim]; });
    return makeTranspose(source->sources[0], composed);
  }
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return source;
  auto sizes = llvm::map_to_vector(permutation, [&](int64_t dim) { return source->sizes[dim]; });
  TensorRef tensor = make(source->element, sizes);
  tensor->form = Form::Transpose;
  tensor->sources = {source};
  tensor->permutation.assign(permutation.begin(), permutation.end());
  tensor->at = [source, order = tensor->permutation](Body &body, ArrayRef<Value> indices) {
    SmallVector<Value> own(indices);
    for (auto [dim, from] : llvm::enumerate(order))
      own[from] = indices[dim];
    return body.read(source, own);
  };
  tensor->elements = moveElements(*source, sizes, [&](ArrayRef<int64_t> indices) {
    SmallVector<int64_t> own(indices);
    for (auto [dim, from] : llvm::enumerate(permutation))
      own[from] = indices[dim];
    return own;
  });
  return tensor;
}

/// An index into dimensions of `sizes` taken as one.
static Value flatten(Body &body, ArrayRef<Value> indices, ArrayRef<OpFoldResult> sizes) {
  Value flat = indices.front();
  for (auto [index, size] : llvm::zip(indices.drop_front(), sizes.drop_front()))
    flat = body.make<arith::AddIOp>(body.make<arith::MulIOp>(flat, toIndex(body, size)), index);
  // Beside zeros an index stays itself.
  if (!llvm::is_contained(indices, flat))
    body.flattened.try_emplace(flat, indices, sizes);
  return flat;
}

/// The indices into dimensions of `sizes` that `flat` stands for. Those that it was made from are
/// taken as they are: a division says less about where they lie.
static SmallVector<Value> unflatten(Body &body, Value flat, ArrayRef<OpFoldResult> sizes) {
  if (sizes.size() == 1)
    return {flat};
  auto made = body.flattened.find(flat);
  if (made != body.flattened.end()) {
    auto [parts, whole] = made->second;
    if (refine(body, whole, sizes))
      return reindex(body, sizes, whole, parts);
  }
  SmallVector<Value> indices(sizes.size());
  for (int64_t dim = sizes.size() - 1; dim > 0; --dim) {
    Value size = toIndex(body, sizes[dim]);
    indices[dim] = body.make<arith::RemUIOp>(flat, size);
    // No index is negative, and signed divisions have bounds that Halide sees.
    flat = body.make<arith::FloorDivSIOp>(flat, size);
  }
  indices[0] = flat;
  return indices;
}

template <typename T>
static SmallVector<T> pick(ArrayRef<T> all, ArrayRef<int64_t> places) {
  return llvm::map_to_vector(places, [&](int64_t place) { return all[place]; });
}

SmallVector<Value> imports::reindex(Body &body, ArrayRef<OpFoldResult> from,
                                    ArrayRef<OpFoldResult> to, ArrayRef<Value> indices) {
  auto common = refine(body, from, to);
  if (!common)
    return from.empty() ? SmallVector<Value>() : unflatten(body, flatten(body, indices, to), from);
  SmallVector<Value> fine(common->sizes.size());
  for (auto [dim, group] : llvm::zip_equal(getWideDims(to), common->to)) {
    SmallVector<Value> parts =
        unflatten(body, indices[dim], pick<OpFoldResult>(common->sizes, group));
    for (auto [place, part] : llvm::zip_equal(group, parts))
      fine[place] = part;
  }
  SmallVector<Value> own(from.size());
  for (auto [dim, group] : llvm::zip_equal(getWideDims(from), common->from))
    own[dim] = flatten(body, pick<Value>(fine, group), pick<OpFoldResult>(common->sizes, group));
  for (Value &index : own)
    if (!index)
      index = body.index(0);
  return own;
}

/// Whether `wide` is keys or values with each head `sizes[1] / source heads` times in
/// a row: what is left of grouped heads written as Unsqueeze, Expand, Reshape.
static TensorRef getRepeatedHeads(Body &body, const TensorRef &wide, ArrayRef<OpFoldResult> sizes) {
  if (wide->form != Form::Expand || wide->getRank() != 5 || sizes.size() != 4)
    return nullptr;
  TensorRef narrow = wide->sources[0];
  if (narrow->getRank() != 5 || getStatic(narrow->sizes[2]) != 1)
    return nullptr;
  for (int64_t dim : {0, 1, 3, 4})
    if (!sameSize(narrow->sizes[dim], wide->sizes[dim]))
      return nullptr;
  for (auto [dim, from] : {std::pair(0, 0), {2, 3}, {3, 4}})
    if (!sameSize(sizes[dim], wide->sizes[from]))
      return nullptr;
  SmallVector<OpFoldResult> own(narrow->sizes);
  own.erase(own.begin() + 2);
  return makeReshape(body, narrow, own);
}

/// Where each of `groups`, which are runs of dimensions of a refinement, lies in the order that
/// `order` gives them; none where a group is torn apart there.
static std::optional<SmallVector<int64_t>> placeGroups(ArrayRef<ReassociationIndices> groups,
                                                       ArrayRef<int64_t> order) {
  SmallVector<int64_t> starts;
  for (const ReassociationIndices &group : groups) {
    starts.push_back(llvm::find(order, group.front()) - order.begin());
    for (auto [place, dim] : llvm::enumerate(group))
      if (order[starts.back() + place] != dim)
        return std::nullopt;
  }
  return starts;
}

/// A transposed tensor in another shape, transposed after that: so that a transposition of heads
/// is seen whatever other dimensions are taken apart or together around it. Null where dimensions
/// become one that did not lie side by side before.
static TensorRef reshapeTransposed(Body &body, const TensorRef &turned,
                                   ArrayRef<OpFoldResult> sizes) {
  auto common = refine(body, turned->sizes, sizes);
  if (!common)
    return nullptr;
  const TensorRef &source = turned->sources[0];
  SmallVector<int64_t> wide = getWideDims(turned->sizes), order;
  for (int64_t dim : getWideDims(source->sizes)) {
    int64_t place = llvm::find(turned->permutation, dim) - turned->permutation.begin();
    llvm::append_range(order, common->from[llvm::find(wide, place) - wide.begin()]);
  }
  auto starts = placeGroups(common->to, order);
  if (!starts)
    return nullptr;
  // Sizes of 1 stay where they are, the others are in the source's order.
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  SmallVector<OpFoldResult> own(sizes);
  SmallVector<int64_t> target = getWideDims(sizes);
  for (auto [dim, start] : llvm::zip_equal(target, *starts)) {
    int64_t before = llvm::count_if(*starts, [start = start](int64_t at) { return at < start; });
    permutation[dim] = target[before];
    own[permutation[dim]] = sizes[dim];
  }
  return makeTranspose(makeReshape(body, source, own), permutation);
}

/// What only moves or scales elements, with the reshape done before it.
static TensorRef reshapeSource(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes) {
  if (source->value)
    return nullptr;
  if (source->form == Form::Reshape)
    return makeReshape(body, source->sources[0], sizes);
  if (source->form == Form::Scale && !source->elements)
    return makeScaled(body, makeReshape(body, source->sources[0], sizes), source->factor);
  return source->form == Form::Transpose ? reshapeTransposed(body, source, sizes) : nullptr;
}

TensorRef imports::makeReshape(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes) {
  if (sameSizes(source->sizes, sizes))
    return source;
  if (TensorRef moved = reshapeSource(body, source, sizes))
    return moved;
  TensorRef tensor = make(source->element, sizes);
  tensor->form = Form::Reshape;
  tensor->sources = {source};
  tensor->elements = source->elements;
  tensor->at = [source, to = tensor->sizes](Body &at, ArrayRef<Value> indices) {
    return at.read(source, reindex(at, source->sizes, to, indices));
  };
  if (TensorRef heads = getRepeatedHeads(body, source, sizes)) {
    tensor->form = Form::RepeatHeads;
    tensor->sources = {heads};
  }
  return tensor;
}

/// The elements of a constant in a part of one dimension.
static DenseElementsAttr sliceConstant(DenseElementsAttr whole, int64_t dim, int64_t start,
                                       RankedTensorType type) {
  if (whole.isSplat())
    return whole.resizeSplat(type);
  ArrayRef<int64_t> shape = whole.getType().getShape();
  ArrayRef<char> from = whole.getRawData();
  int64_t width = type.getElementTypeBitWidth() / 8, before = 1, after = width;
  for (int64_t size : shape.take_front(dim))
    before *= size;
  for (int64_t size : shape.drop_front(dim + 1))
    after *= size;
  std::vector<char> to;
  for (int64_t outer = 0; outer < before; ++outer) {
    auto row = from.slice((outer * shape[dim] + start) * after, type.getDimSize(dim) * after);
    to.insert(to.end(), row.begin(), row.end());
  }
  return DenseElementsAttr::getFromRawBuffer(type, to);
}

/// The operand of a concatenation that a slice takes out again; null where it is another part.
static TensorRef findOperand(const TensorRef &whole, int64_t dim, OpFoldResult offset,
                             OpFoldResult size) {
  if (whole->form != Form::Concat || whole->dim != dim)
    return nullptr;
  Polynomial start = Polynomial::constant(0);
  for (const TensorRef &part : whole->sources) {
    if (start == Polynomial::of(offset) && sameSize(part->sizes[dim], size))
      return part;
    start = start + Polynomial::of(part->sizes[dim]);
  }
  return nullptr;
}

TensorRef imports::makeSlice(Body &body, const TensorRef &source, int64_t dim, OpFoldResult offset,
                             OpFoldResult size) {
  if (getStatic(offset) == 0 && sameSize(source->sizes[dim], size))
    return source;
  if (TensorRef operand = findOperand(source, dim, offset, size))
    return operand;
  SmallVector<OpFoldResult> sizes(source->sizes);
  sizes[dim] = size;
  RankedTensorType type = getTensorType(source->element, sizes);
  DenseElementsAttr constant;
  if (source->value && matchPattern(source->value, m_Constant(&constant)) &&
      type.hasStaticShape() && type.getNumElements() > 0 && getStatic(offset) &&
      !source->element.isInteger(1))
    return makeConstant(body, sliceConstant(constant, dim, *getStatic(offset), type));
  TensorRef tensor = make(source->element, sizes);
  tensor->form = Form::Slice;
  tensor->sources = {source};
  tensor->dim = dim;
  tensor->offset = offset;
  tensor->at = [=](Body &at, ArrayRef<Value> indices) {
    SmallVector<Value> own(indices);
    own[dim] = at.make<arith::AddIOp>(toIndex(at, offset), own[dim]);
    return at.read(source, own);
  };
  return tensor;
}

TensorRef imports::makeExpand(const TensorRef &source, ArrayRef<OpFoldResult> sizes) {
  if (sameSizes(source->sizes, sizes))
    return source;
  TensorRef tensor = make(source->element, sizes);
  tensor->form = Form::Expand;
  tensor->sources = {source};
  tensor->elements = broadcastElements(*source, sizes);
  tensor->at = [source](Body &body, ArrayRef<Value> indices) {
    return body.read(source, broadcastIndices(body, source->sizes, indices));
  };
  return tensor;
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

/// Heads split off a projection, where a transposed reshape says no more than that.
static Value splitHeads(Body &body, const Tensor &tensor) {
  TensorRef split = tensor.sources[0];
  bool timeFirst = llvm::equal(tensor.permutation, ArrayRef<int64_t>{1, 2, 0, 3});
  if ((!timeFirst && !llvm::equal(tensor.permutation, ArrayRef<int64_t>{0, 2, 1, 3})) ||
      split->form != Form::Reshape)
    return nullptr;
  TensorRef whole = split->sources[0];
  auto heads = getStatic(split->sizes[2]);
  if (whole->getRank() != 3 || !heads || !isa<FloatType>(tensor.element) ||
      !sameSizes(ArrayRef(whole->sizes).take_front(2), ArrayRef(split->sizes).take_front(2)))
    return nullptr;
  return SplitHeadsOp::create(body.b, body.loc, tensor.getType(), materialize(body, whole), *heads,
                              timeFirst ? Layout::time_first : Layout::batch_first);
}

/// Heads put side by side again.
static Value mergeHeads(Body &body, const Tensor &tensor) {
  TensorRef turned = tensor.sources[0];
  if (turned->form != Form::Transpose || turned->getRank() != 4 || tensor.getRank() != 3)
    return nullptr;
  bool timeFirst = llvm::equal(turned->permutation, ArrayRef<int64_t>{2, 0, 1, 3});
  if ((!timeFirst && !llvm::equal(turned->permutation, ArrayRef<int64_t>{0, 2, 1, 3})) ||
      !isa<FloatType>(tensor.element) ||
      !sameSizes(ArrayRef(tensor.sizes).take_front(2), ArrayRef(turned->sizes).take_front(2)))
    return nullptr;
  return MergeHeadsOp::create(body.b, body.loc, tensor.getType(),
                              materialize(body, turned->sources[0]),
                              timeFirst ? Layout::time_first : Layout::batch_first);
}

/// All dimensions in groups around those other than 1.
static SmallVector<ReassociationIndices> groupUnits(ArrayRef<OpFoldResult> sizes) {
  SmallVector<ReassociationIndices> groups(getWideDims(sizes).size());
  if (groups.empty())
    return groups;
  int64_t group = 0, numWide = 0;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (getStatic(size) != 1)
      group = numWide++;
    groups[group].push_back(dim);
  }
  return groups;
}

static Value collapse(Body &body, Value value, ArrayRef<OpFoldResult> sizes,
                      ArrayRef<ReassociationIndices> groups) {
  if (groups.size() == size_t(cast<RankedTensorType>(value.getType()).getRank()))
    return value;
  auto type = getTensorType(cast<RankedTensorType>(value.getType()).getElementType(), sizes);
  return tensor::CollapseShapeOp::create(body.b, body.loc, type, value, groups);
}

static Value expand(Body &body, Value value, ArrayRef<OpFoldResult> sizes,
                    ArrayRef<ReassociationIndices> groups) {
  if (groups.size() == sizes.size())
    return value;
  auto type = getTensorType(cast<RankedTensorType>(value.getType()).getElementType(), sizes);
  return tensor::ExpandShapeOp::create(body.b, body.loc, type, value, groups, sizes);
}

/// Without sizes of 1, taken apart, put together, with sizes of 1.
static Value reshape(Body &body, const Tensor &tensor) {
  const TensorRef &source = tensor.sources[0];
  auto common = refine(body, source->sizes, tensor.sizes);
  if (!common)
    return nullptr;
  auto from = pick<OpFoldResult>(source->sizes, getWideDims(source->sizes));
  auto to = pick<OpFoldResult>(tensor.sizes, getWideDims(tensor.sizes));
  Value value = collapse(body, materialize(body, source), from, groupUnits(source->sizes));
  value = expand(body, value, common->sizes, common->from);
  value = collapse(body, value, to, common->to);
  return expand(body, value, tensor.sizes, groupUnits(tensor.sizes));
}

static Value slice(Body &body, const Tensor &tensor) {
  const TensorRef &source = tensor.sources[0];
  // What is a formula anyway is best read where it is needed.
  bool isMoved = source->form == Form::Reshape || source->form == Form::Transpose ||
                 source->form == Form::Slice;
  if (!source->value && !isMoved)
    return nullptr;
  SmallVector<OpFoldResult> offsets(tensor.getRank(), body.b.getIndexAttr(0)),
      steps(tensor.getRank(), body.b.getIndexAttr(1));
  offsets[tensor.dim] = tensor.offset;
  return tensor::ExtractSliceOp::create(body.b, body.loc, tensor.getType(),
                                        materialize(body, source), offsets, tensor.sizes, steps);
}

/// Element by element, as its formula says.
static Value generate(Body &body, const TensorRef &tensor) {
  SmallVector<Value> dynamic;
  for (OpFoldResult size : tensor->sizes)
    if (!getStatic(size))
      dynamic.push_back(cast<Value>(size));
  return tensor::GenerateOp::create(
      body.b, body.loc, tensor->getType(), dynamic, [&](OpBuilder &b, Location loc, ValueRange at) {
        Body inner{b, loc};
        tensor::YieldOp::create(b, loc, inner.read(tensor, SmallVector<Value>(at)));
      });
}

/// A constant where every element is one.
static Value makeDense(Body &body, const Tensor &tensor) {
  SmallVector<Attribute> attributes;
  for (Value element : *tensor.elements) {
    Attribute attribute;
    if (!matchPattern(element, m_Constant(&attribute)))
      return nullptr;
    attributes.push_back(attribute);
  }
  if (!tensor.getType().hasStaticShape())
    return nullptr;
  return arith::ConstantOp::create(body.b, body.loc,
                                   DenseElementsAttr::get(tensor.getType(), attributes));
}

namespace {
/// The tensors that a tree of maps reads, and the tree as a function of their elements.
struct MapTree {
  MapTree(const TensorRef &root, bool takesFormulas) : root(root), takesFormulas(takesFormulas) {}

  /// Whether `attn.map` broadcasts everything that is read.
  bool collect(const TensorRef &whole);
  /// The tree's scalar where `elements` are those of the leaves.
  Value build(Body &at, const TensorRef &whole, ArrayRef<Value> elements);

  TensorRef root;
  /// Whether formulas of indices are computed to be read, too.
  bool takesFormulas;
  SmallVector<TensorRef> leaves;
  /// Whether only the call tells that a size that is read is the root's.
  bool isOpen = false;
};
} // namespace

static bool isNode(const TensorRef &tensor) {
  return (tensor->form == Form::Map || tensor->form == Form::Scale) && !tensor->value;
}

/// What is broadcast anyway need not be before.
static const TensorRef &skipExpand(const TensorRef &tensor) {
  return tensor->form == Form::Expand && !tensor->value ? tensor->sources[0] : tensor;
}

static bool isScalar(const TensorRef &tensor) {
  return tensor->elements && tensor->elements->size() == 1;
}

bool MapTree::collect(const TensorRef &whole) {
  const TensorRef &tensor = skipExpand(whole);
  if (isScalar(tensor))
    return true;
  if (isNode(tensor))
    return llvm::count_if(tensor->sources, [&](const TensorRef &s) { return !collect(s); }) == 0;
  ArrayRef<OpFoldResult> around = ArrayRef(root->sizes).take_back(tensor->getRank());
  for (auto [size, wanted] : llvm::zip(tensor->sizes, around))
    isOpen |= getStatic(size) != 1 && !sameSize(size, wanted);
  if (!llvm::is_contained(leaves, tensor))
    leaves.push_back(tensor);
  // What is a formula of its indices is best read where it is needed.
  return takesFormulas || tensor->value || tensor->form != Form::Other;
}

Value MapTree::build(Body &at, const TensorRef &whole, ArrayRef<Value> elements) {
  const TensorRef &tensor = skipExpand(whole);
  if (isScalar(tensor))
    return tensor->elements->front();
  if (!isNode(tensor))
    return elements[llvm::find(leaves, tensor) - leaves.begin()];
  auto scalars = llvm::map_to_vector(
      tensor->sources, [&](const TensorRef &source) { return build(at, source, elements); });
  return tensor->scalar(at, scalars);
}

/// `attn.map` where one says it.
static Value map(Body &body, const TensorRef &tensor) {
  if (!isNode(tensor))
    return nullptr;
  MapTree tree(tensor, /*takesFormulas=*/false);
  bool isMap = tree.collect(tensor);
  // Sizes that must be equal are checked by attn.map when it is called.
  if (!isMap && tree.isOpen) {
    tree = MapTree(tensor, /*takesFormulas=*/true);
    isMap = tree.collect(tensor);
  }
  if (!isMap || tree.leaves.empty())
    return nullptr;
  auto inputs = llvm::map_to_vector(tree.leaves,
                                    [&](const TensorRef &leaf) { return materialize(body, leaf); });
  auto isMissing = [&](int64_t dim) {
    return llvm::all_of(tree.leaves, [&](const TensorRef &leaf) {
      return dim >= leaf->getRank() || !sameSize(leaf->sizes[leaf->getRank() - 1 - dim],
                                                 tensor->sizes[tensor->getRank() - 1 - dim]);
    });
  };
  // Some operand must have each of the result's sizes.
  for (int64_t dim = 0; dim < tensor->getRank(); ++dim)
    if (isMissing(dim))
      return nullptr;
  auto op = MapOp::create(body.b, body.loc, tensor->getType(), inputs);
  OpBuilder::InsertionGuard guard(body.b);
  auto types =
      llvm::map_to_vector(tree.leaves, [](const TensorRef &leaf) { return leaf->element; });
  Block *block =
      body.b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), body.loc));
  Body inner{body.b, body.loc};
  SmallVector<Value> elements(block->getArguments());
  YieldOp::create(body.b, body.loc, tree.build(inner, tensor, elements));
  return op;
}

static Value transpose(Body &body, const Tensor &tensor) {
  if (Value heads = splitHeads(body, tensor))
    return heads;
  return TransposeOp::create(body.b, body.loc, tensor.getType(),
                             materialize(body, tensor.sources[0]), tensor.permutation);
}

static Value compute(Body &body, const TensorRef &tensor) {
  Value value;
  if (tensor->elements)
    value = makeDense(body, *tensor);
  if (!value && tensor->form == Form::Transpose)
    value = transpose(body, *tensor);
  if (!value)
    value = map(body, tensor);
  if (!value && tensor->form == Form::Reshape) {
    value = mergeHeads(body, *tensor);
    if (!value)
      value = reshape(body, *tensor);
  }
  if (!value && tensor->form == Form::Slice)
    value = slice(body, *tensor);
  return value ? value : generate(body, tensor);
}

Value imports::materialize(Body &body, const TensorRef &tensor) {
  if (!tensor->value)
    tensor->value = compute(body, tensor);
  return tensor->value;
}
