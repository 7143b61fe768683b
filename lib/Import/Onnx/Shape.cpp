//===- Shape.cpp - ONNX ops that make shapes and change them --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape arithmetic works on lists of scalars: constants and functions of dynamic sizes. All other
// ops here only map indices.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

FailureOr<SmallVector<Value>> imports::getList(Node &node, int index, StringRef what) {
  TensorRef tensor = node.input(index);
  if (!tensor || !tensor->elements || !isa<IntegerType>(tensor->element))
    return node.error() << "expected " << what << " that follows from sizes and constants";
  return *tensor->elements;
}

//===----------------------------------------------------------------------===//
// Constants and sizes
//===----------------------------------------------------------------------===//

static LogicalResult importConstant(Node &node) {
  if (const auto *value = node.getAttribute("value")) {
    FailureOr<TensorRef> constant =
        readConstant(node.model, value->t(), node.body, [&] { return node.error(); });
    return node.setOutput(constant);
  }
  auto list = [&](Type type, auto values) {
    auto tensor = RankedTensorType::get(values.size(), type);
    return node.setOutput(makeConstant(node.body, DenseElementsAttr::get(tensor, values)));
  };
  auto single = [&](Type type, Attribute value) {
    auto tensor = RankedTensorType::get({}, type);
    return node.setOutput(makeConstant(node.body, DenseElementsAttr::get(tensor, value)));
  };
  OpBuilder &b = node.body.b;
  if (const auto *value = node.getAttribute("value_int"))
    return single(b.getI64Type(), b.getI64IntegerAttr(value->i()));
  if (const auto *value = node.getAttribute("value_float"))
    return single(b.getF32Type(), b.getF32FloatAttr(value->f()));
  if (const auto *value = node.getAttribute("value_ints"))
    return list(b.getI64Type(), ArrayRef<int64_t>(value->ints().data(), value->ints_size()));
  if (const auto *value = node.getAttribute("value_floats"))
    return list(b.getF32Type(), ArrayRef<float>(value->floats().data(), value->floats_size()));
  return node.error() << "expected a value, found none";
}

static LogicalResult importShape(Node &node) {
  TensorRef input = node.input(0);
  int64_t rank = input->getRank();
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(node.getInt("start", 0)), end = clamp(node.getInt("end", rank));
  SmallVector<Value> sizes;
  for (int64_t dim = start; dim < end; ++dim)
    sizes.push_back(toScalar(node.body, input->sizes[dim]));
  int64_t count = sizes.size();
  return node.setOutput(
      makeElements(node.body, node.body.b.getI64Type(), sizes, {fixedSize(node, count)}));
}

static LogicalResult importSize(Node &node) {
  Value count = toScalar(node.body, multiply(node.body, node.input(0)->sizes));
  return node.setOutput(makeElements(node.body, count.getType(), {count}, {}));
}

/// Sizes that an input lists.
static FailureOr<Sizes> getSizes(Node &node, int index) {
  FailureOr<SmallVector<Value>> list = getList(node, index, "a shape");
  if (failed(list))
    return failure();
  Sizes sizes;
  for (Value scalar : *list) {
    sizes.push_back(toSize(node.body, scalar));
    if (auto size = getStatic(sizes.back()); size && *size < 0)
      return node.error() << "expected sizes that are not negative, found " << *size;
  }
  return sizes;
}

/// A tensor that holds one value everywhere.
static LogicalResult importConstantOfShape(Node &node) {
  FailureOr<Sizes> sizes = getSizes(node, 0);
  if (failed(sizes))
    return failure();
  TypedAttr value = node.body.b.getF32FloatAttr(0);
  bool isByte = false;
  if (const auto *attribute = node.getAttribute("value")) {
    auto elements = getElements(attribute->t(), node.model.file, node.model.context,
                                [&] { return node.error(); });
    if (failed(elements))
      return failure();
    if (elements->getNumElements() != 1)
      return node.error() << "expected one value, found " << elements->getNumElements();
    value = *cast<DenseElementsAttr>(*elements).value_begin<TypedAttr>();
    isByte = attribute->t().data_type() == ::onnx::TensorProto::UINT8;
  }
  Value scalar = arith::ConstantOp::create(node.body.b, node.body.loc, value);
  TensorRef result =
      makeExpand(node.body, makeElements(node.body, value.getType(), {scalar}, {}), *sizes);
  result->isByte = isByte;
  return node.setOutput(result);
}

//===----------------------------------------------------------------------===//
// Range
//===----------------------------------------------------------------------===//

/// The number of values of a range of integers.
static OpFoldResult countRange(Body &body, Value start, Value limit, Value delta) {
  auto step = getConstantInt(delta);
  bool isDown = step && *step < 0 && *step > INT32_MIN;
  if (isDown) { // a division by -1 may overflow
    std::swap(start, limit);
    step = -*step;
    delta = body.make<arith::ConstantIntOp>(delta.getType(), *step);
  }
  Value distance = body.make<arith::SubIOp>(limit, start);
  if (step != 1)
    distance = body.make<arith::CeilDivSIOp>(distance, delta);
  OpFoldResult count = toSize(body, distance);
  if (Polynomial::of(count).isNonNegative())
    return count;
  if (auto known = getStatic(count))
    return fixedSize(body.b.getContext(), std::max<int64_t>(*known, 0));
  return body.make<arith::MaxSIOp>(toIndex(body, count), body.index(0));
}

/// A bound of a range as an i64; null if it is a float that may be no integer.
static Value toInteger(Body &body, Value bound) {
  if (auto known = getConstantFloat(bound)) {
    bool fits = std::abs(*known) < 0x1p63 && *known == std::trunc(*known);
    return fits ? body.make<arith::ConstantIntOp>(int64_t(*known), 64) : Value();
  }
  if (auto widened = bound.getDefiningOp<arith::SIToFPOp>())
    bound = widened.getIn();
  if (!isa<IntegerType>(bound.getType()))
    return {};
  return castScalar(body, bound, body.b.getI64Type());
}

static LogicalResult importRange(Node &node) {
  Body &body = node.body;
  SmallVector<Value> bounds;
  for (int index = 0; index < 3; ++index) {
    TensorRef input = node.input(index);
    if (input->elements && input->elements->size() != 1)
      return node.error() << "expected start, limit and delta of one element, found "
                          << input->elements->size();
    Value bound = input->elements ? toInteger(body, input->elements->front()) : Value();
    if (!bound)
      return node.error()
             << "expected a range of whole numbers that follow from sizes and constants";
    bounds.push_back(bound);
  }
  Type element = node.input(0)->element;
  Value start = bounds[0], delta = bounds[2];
  if (getConstantInt(delta) == 0)
    return node.error() << "expected a delta other than 0";
  OpFoldResult count = countRange(body, start, bounds[1], delta);
  auto compute = [&](Body &at, ArrayRef<Value> indices) {
    Value position = at.make<arith::IndexCastOp>(start.getType(), indices[0]);
    Value offset = at.make<arith::MulIOp>(position, delta);
    return castScalar(at, at.make<arith::AddIOp>(start, offset), element);
  };
  TensorRef range = makeGenerate(body, element, {count}, {}, compute);
  if (auto known = getStatic(count); known && *known <= kMaxElements) {
    range->elements.emplace();
    for (int64_t i = 0; i < *known; ++i)
      range->elements->push_back(compute(body, {body.index(i)}));
  }
  return node.setOutput(range);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The size that makes up for the others, where a shape says -1.
static OpFoldResult inferSize(Body &body, ArrayRef<OpFoldResult> from, ArrayRef<OpFoldResult> to) {
  OpFoldResult above = multiply(body, from), below = multiply(body, to);
  auto known = getStatic(above), other = getStatic(below);
  if (known && other)
    return fixedSize(body.b.getContext(), *other == 0 ? 0 : *known / *other);
  if (auto quotient = Polynomial::of(above).divide(Polynomial::of(below)))
    return quotient->build(body);
  return body.make<arith::DivUIOp>(toIndex(body, above), toIndex(body, below));
}

static LogicalResult checkReshape(Node &node, ArrayRef<OpFoldResult> from,
                                  ArrayRef<OpFoldResult> to) {
  auto known = getStatic(multiply(node.body, from)), other = getStatic(multiply(node.body, to));
  if (known && other && *known != *other)
    return node.error() << "expected a shape of " << *known << " elements, found one of " << *other;
  return success();
}

/// A reshape whose number of elements is checked when the kernel is called.
static LogicalResult reshapeIfEqual(Node &node, ArrayRef<OpFoldResult> sizes) {
  Body &body = node.body;
  TensorRef input = node.input(0);
  RankedTensorType type = getTensorType(input->element, sizes);
  if (type.hasStaticShape() || sizes.size() < 2)
    return node.error() << "expected a shape of as many elements as there are whatever the call, "
                           "found "
                        << type;
  TensorRef flat = makeReshape(body, input, {multiply(body, input->sizes)});
  ReassociationIndices all = llvm::to_vector<2>(llvm::seq<int64_t>(0, sizes.size()));
  return node.setOutput(makeComputed(
      tensor::ExpandShapeOp::create(body.b, body.loc, type, node.materialize(flat), {all}, sizes),
      sizes));
}

static LogicalResult importReshape(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<SmallVector<Value>> list = getList(node, 1, "a shape");
  if (failed(list))
    return failure();
  Sizes sizes;
  std::optional<size_t> open;
  for (auto [dim, scalar] : llvm::enumerate(*list)) {
    auto known = getConstantInt(scalar);
    if (known == 0 && !node.getInt("allowzero", 0) && dim < size_t(input->getRank())) {
      sizes.push_back(input->sizes[dim]);
    } else if (known == -1) {
      if (open)
        return node.error() << "expected at most one size of -1, found two";
      open = dim;
      sizes.push_back(fixedSize(node, 1));
    } else if (known && *known < 0) {
      return node.error() << "expected sizes of -1 or more, found " << *known;
    } else {
      sizes.push_back(toSize(node.body, scalar));
    }
  }
  if (open)
    sizes[*open] = inferSize(node.body, input->sizes, sizes);
  if (failed(checkReshape(node, input->sizes, sizes)))
    return failure();
  if (!sameSize(multiply(node.body, input->sizes), multiply(node.body, sizes)))
    return reshapeIfEqual(node, sizes);
  return node.setOutput(makeReshape(node.body, input, sizes));
}

static LogicalResult importFlatten(Node &node) {
  TensorRef input = node.input(0);
  int64_t axis = node.getInt("axis", 1), rank = input->getRank();
  if (axis < -rank || axis > rank)
    return node.error() << "expected an axis of a tensor of rank " << rank << ", found " << axis;
  axis = axis < 0 ? axis + rank : axis;
  ArrayRef<OpFoldResult> sizes = input->sizes;
  Sizes result = {multiply(node.body, sizes.take_front(axis)),
                  multiply(node.body, sizes.drop_front(axis))};
  return node.setOutput(makeReshape(node.body, input, result));
}

static LogicalResult importUnsqueeze(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.getAxes(1);
  if (failed(axes) || !*axes)
    return failed(axes) ? failure() : LogicalResult(node.error() << "expected axes, found none");
  int64_t rank = input->getRank() + (*axes)->size();
  SmallVector<bool> isNew(rank, false);
  for (int64_t axis : **axes) {
    FailureOr<int64_t> dim = node.getDim(axis, rank);
    if (failed(dim))
      return failure();
    isNew[*dim] = true;
  }
  if (llvm::count(isNew, true) != int64_t((*axes)->size()))
    return node.error() << "expected each axis once";
  Sizes sizes;
  size_t next = 0;
  for (bool one : isNew)
    sizes.push_back(one ? fixedSize(node, 1) : input->sizes[next++]);
  return node.setOutput(makeReshape(node.body, input, sizes));
}

static LogicalResult importSqueeze(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.getAxes(1);
  if (failed(axes))
    return failure();
  SmallVector<bool> isGone;
  for (OpFoldResult size : input->sizes)
    isGone.push_back(!*axes && getStatic(size) == 1);
  if (*axes)
    for (int64_t axis : **axes) {
      FailureOr<int64_t> dim = node.getDim(axis, input->getRank());
      if (failed(dim))
        return failure();
      if (auto size = getStatic(input->sizes[*dim]); size && *size != 1)
        return node.error() << "expected a size of 1 at axis " << axis << ", found " << *size;
      isGone[*dim] = true;
    }
  Sizes sizes;
  for (auto [size, gone] : llvm::zip(input->sizes, isGone))
    if (!gone)
      sizes.push_back(size);
  // An open size is 1 only if the call says so.
  if (!sameSize(multiply(node.body, input->sizes), multiply(node.body, sizes)))
    return reshapeIfEqual(node, sizes);
  return node.setOutput(makeReshape(node.body, input, sizes));
}

static LogicalResult importTranspose(Node &node) {
  TensorRef input = node.input(0);
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::reverse(llvm::seq(input->getRank())));
  if (auto given = node.getInts("perm"))
    permutation = *given;
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq(input->getRank())))
    return node.error() << "expected 'perm' to hold each of " << input->getRank()
                        << " dimensions once";
  return node.setOutput(makeTranspose(node.body, input, permutation));
}

static LogicalResult importExpand(Node &node) {
  FailureOr<Sizes> wanted = getSizes(node, 1);
  if (failed(wanted))
    return failure();
  TensorRef shape = makeTensor(node.input(0)->element, *wanted);
  FailureOr<Sizes> sizes = broadcast(node, {node.input(0), shape});
  return failed(sizes) ? failure() : node.setOutput(makeExpand(node.body, node.input(0), *sizes));
}

static LogicalResult importTile(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<Sizes> repeats = getSizes(node, 1);
  if (failed(repeats))
    return failure();
  if (int64_t(repeats->size()) != input->getRank())
    return node.error() << "expected " << input->getRank() << " repeats, found " << repeats->size();
  Sizes sizes;
  for (auto [size, count] : llvm::zip(input->sizes, *repeats))
    sizes.push_back(multiply(node.body, {size, count}));
  return node.setOutput(makeGenerate(
      node.body, input->element, sizes, {input}, [=](Body &at, ArrayRef<Value> indices) {
        SmallVector<Value> own(indices);
        for (auto [index, size, whole] : llvm::zip(own, input->sizes, sizes))
          if (!sameSize(size, whole))
            index = at.make<arith::RemUIOp>(index, toIndex(at, size));
        return at.read(input, own);
      }));
}

ArrayRef<OpEntry> imports::getShapeOps() {
  static const OpEntry entries[] = {
      {"",
       "Constant",
       "",
       "x",
       {{"value", Dense},
        {"value_float", Float},
        {"value_floats", Floats},
        {"value_int", Int},
        {"value_ints", Ints}},
       importConstant},
      {"", "ConstantOfShape", "i", "x", {{"value", Dense}}, importConstantOfShape},
      {"", "Expand", "xi", "x", {}, importExpand},
      {"", "Flatten", "x", "x", {{"axis", Int}}, importFlatten},
      {"", "Range", "nnn", "x", {}, importRange},
      {"", "Reshape", "xi", "x", {{"allowzero", Int}}, importReshape},
      {"", "Shape", "x", "x", {{"end", Int}, {"start", Int}}, importShape},
      {"", "Size", "x", "x", {}, importSize},
      {"", "Squeeze", "xi?", "x", {{"axes", Ints}}, importSqueeze},
      {"", "Tile", "xi", "x", {}, importTile},
      {"", "Transpose", "x", "x", {{"perm", Ints}}, importTranspose},
      {"", "Unsqueeze", "xi?", "x", {{"axes", Ints}}, importUnsqueeze},
  };
  return entries;
}
