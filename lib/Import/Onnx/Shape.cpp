//===- Shape.cpp - ONNX ops that make and move elements -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape arithmetic works on lists of scalars, each a constant or what a dynamic size
// makes of it; everything else here only says where an element is read.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

using Sizes = SmallVector<OpFoldResult>;

static OpFoldResult fixed(Node &node, int64_t size) { return fixedSize(node.model.context, size); }

/// The scalars of an input that says sizes or positions.
static FailureOr<SmallVector<Value>> getList(Node &node, int index, StringRef what) {
  TensorRef tensor = node.input(index);
  if (!tensor->elements || !isa<IntegerType>(tensor->element))
    return node.error() << "expected " << what << " that follows from sizes and constants";
  return *tensor->elements;
}

//===----------------------------------------------------------------------===//
// Constants and sizes
//===----------------------------------------------------------------------===//

static LogicalResult importConstant(Node &node) {
  if (const auto *value = node.getAttribute("value")) {
    auto elements = getElements(value->t(), node.model.folder, node.model.context,
                                [&] { return node.error(); });
    return failed(elements) ? failure() : node.setOutput(makeConstant(node.body, *elements));
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
      makeElements(node.body, node.body.b.getI64Type(), sizes, {fixed(node, count)}));
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
  if (const auto *attribute = node.getAttribute("value")) {
    auto elements = getElements(attribute->t(), node.model.folder, node.model.context,
                                [&] { return node.error(); });
    if (failed(elements))
      return failure();
    if (elements->getNumElements() != 1)
      return node.error() << "expected one value, found " << elements->getNumElements();
    value = *elements->value_begin<TypedAttr>();
  }
  Value scalar = arith::ConstantOp::create(node.body.b, node.body.loc, value);
  return node.setOutput(makeExpand(makeElements(node.body, value.getType(), {scalar}, {}), *sizes));
}

//===----------------------------------------------------------------------===//
// Range
//===----------------------------------------------------------------------===//

/// How many values a range of integers has.
static OpFoldResult countRange(Body &body, Value start, Value limit, Value delta) {
  Value distance = body.make<arith::SubIOp>(limit, start);
  if (getConstantInt(delta) != 1)
    distance = body.make<arith::CeilDivSIOp>(distance, delta);
  OpFoldResult count = toSize(body, distance);
  if (auto known = getStatic(count); known && *known < 0)
    return fixedSize(body.b.getContext(), 0);
  return count;
}

static LogicalResult importRange(Node &node) {
  Body &body = node.body;
  SmallVector<Value> bounds;
  for (int index = 0; index < 3; ++index) {
    FailureOr<SmallVector<Value>> list = getList(node, index, "a range");
    if (failed(list) || list->size() != 1)
      return failed(list) ? failure()
                          : LogicalResult(node.error() << "expected start, limit and delta of one "
                                                          "element, found "
                                                       << list->size());
    bounds.push_back(list->front());
  }
  Type element = node.input(0)->element;
  for (Value &bound : bounds)
    bound = castScalar(body, bound, body.b.getI64Type());
  Value start = bounds[0], delta = bounds[2];
  if (getConstantInt(delta) == 0)
    return node.error() << "expected a delta other than 0";
  OpFoldResult count = countRange(body, start, bounds[1], delta);
  TensorRef range = makeLazy(element, {count}, [=](Body &at, ArrayRef<Value> indices) {
    Value position = at.make<arith::IndexCastOp>(start.getType(), indices[0]);
    Value offset = at.make<arith::MulIOp>(position, delta);
    return castScalar(at, at.make<arith::AddIOp>(start, offset), element);
  });
  if (auto known = getStatic(count); known && *known <= kMaxElements) {
    range->elements.emplace();
    for (int64_t i = 0; i < *known; ++i)
      range->elements->push_back(range->at(body, {body.index(i)}));
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

/// Where only the call tells whether there are as many elements: it fails if not.
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
      sizes.push_back(fixed(node, 1));
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
    sizes.push_back(one ? fixed(node, 1) : input->sizes[next++]);
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
  return node.setOutput(makeTranspose(input, permutation));
}

static LogicalResult importExpand(Node &node) {
  FailureOr<Sizes> wanted = getSizes(node, 1);
  if (failed(wanted))
    return failure();
  TensorRef shape = makeLazy(node.input(0)->element, *wanted, nullptr);
  FailureOr<Sizes> sizes = broadcast(node, {node.input(0), shape});
  return failed(sizes) ? failure() : node.setOutput(makeExpand(node.input(0), *sizes));
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
  return node.setOutput(makeLazy(input->element, sizes, [=](Body &at, ArrayRef<Value> indices) {
    SmallVector<Value> own(indices);
    for (auto [index, size, whole] : llvm::zip(own, input->sizes, sizes))
      if (!sameSize(size, whole))
        index = at.make<arith::RemUIOp>(index, toIndex(at, size));
    return at.read(input, own);
  }));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// A part of one dimension: its first index, its step and its size.
struct Part {
  Value start;
  int64_t step = 1;
  OpFoldResult size;
};

/// An index as a size is kept.
static OpFoldResult toFold(Value index) {
  if (auto known = getConstantInt(index))
    return fixedSize(index.getContext(), *known);
  return index;
}

static TensorRef makePart(Node &node, const TensorRef &input, int64_t dim, Part part) {
  Sizes sizes(input->sizes);
  sizes[dim] = part.size;
  auto first = getConstantInt(part.start), count = getStatic(part.size);
  bool isList = input->elements && first && count;
  if (part.step == 1 && !isList)
    return makeSlice(node.body, input, dim, toFold(part.start), part.size);
  TensorRef result = makeLazy(input->element, sizes, [=](Body &at, ArrayRef<Value> indices) {
    SmallVector<Value> own(indices);
    own[dim] =
        at.make<arith::AddIOp>(part.start, at.make<arith::MulIOp>(own[dim], at.index(part.step)));
    return at.read(input, own);
  });
  if (isList)
    result->elements = moveElements(*input, sizes, [&](ArrayRef<int64_t> indices) {
      SmallVector<int64_t> own(indices);
      own[dim] = *first + own[dim] * part.step;
      return own;
    });
  return result;
}

/// A bound of a slice, counted from the end where negative, within the dimension.
static Value resolveBound(Body &body, Value bound, OpFoldResult size, int64_t low, int64_t high) {
  auto known = getConstantInt(bound), length = getStatic(size);
  if (known && length)
    return body.index(std::clamp(*known < 0 ? *known + *length : *known, low, *length + high));
  Value whole = toIndex(body, size);
  if (known && *known == 0)
    return body.index(0);
  if (known && *known >= INT32_MAX)
    return whole;
  Polynomial place = Polynomial::of(toSize(body, bound)), last = Polynomial::of(size);
  if (known && *known < 0)
    place = place + last;
  Value at = toIndex(body, place.build(body));
  if (!(last + Polynomial::constant(-1) * place).isNonNegative())
    at = body.make<arith::MinSIOp>(at, whole);
  return place.isNonNegative() ? at : body.make<arith::MaxSIOp>(at, body.index(low));
}

static FailureOr<Part> resolvePart(Node &node, OpFoldResult size, Value start, Value end,
                                   int64_t step) {
  Body &body = node.body;
  Part part;
  part.step = step;
  // Backwards, -1 is before the first element.
  part.start = resolveBound(body, start, size, 0, step < 0 ? -1 : 0);
  Value last = resolveBound(body, end, size, step < 0 ? -1 : 0, step < 0 ? -1 : 0);
  auto first = getConstantInt(part.start), limit = getConstantInt(last);
  if (first && limit) {
    int64_t count =
        step > 0 ? (*limit - *first + step - 1) / step : (*first - *limit - step - 1) / -step;
    part.size = fixed(node, std::max<int64_t>(count, 0));
    return part;
  }
  if (step != 1)
    return node.error() << "expected steps of 1 in a dynamic dimension, found " << step;
  part.size =
      first == 0 ? OpFoldResult(last) : OpFoldResult(body.make<arith::SubIOp>(last, part.start));
  return part;
}

static LogicalResult importSlice(Node &node) {
  TensorRef result = node.input(0);
  FailureOr<SmallVector<Value>> starts = getList(node, 1, "starts"),
                                ends = getList(node, 2, "ends");
  if (failed(starts) || failed(ends))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  SmallVector<int64_t> steps(starts->size(), 1);
  for (auto [index, list, what] : {std::tuple(3, &axes, "axes"), {4, &steps, "steps"}}) {
    if (!node.input(index))
      continue;
    FailureOr<SmallVector<int64_t>> given = node.getConstants(index, what);
    if (failed(given))
      return failure();
    *list = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return node.error() << "expected starts, ends, axes and steps of one length";
  for (auto [start, end, axis, step] : llvm::zip(*starts, *ends, axes, steps)) {
    FailureOr<int64_t> dim = node.getDim(axis, result->getRank());
    if (failed(dim) || step == 0)
      return failed(dim) ? failure() : LogicalResult(node.error() << "expected a step, found 0");
    FailureOr<Part> part = resolvePart(node, result->sizes[*dim], start, end, step);
    if (failed(part))
      return failure();
    result = makePart(node, result, *dim, *part);
  }
  return node.setOutput(result);
}

static LogicalResult importSplit(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<int64_t> dim = node.getDim(node.getInt("axis", 0), input->getRank());
  if (failed(dim))
    return failure();
  auto whole = getStatic(input->sizes[*dim]);
  int64_t parts = node.proto.output_size();
  SmallVector<int64_t> lengths;
  if (node.input(1)) {
    FailureOr<SmallVector<int64_t>> given = node.getConstants(1, "the split");
    if (failed(given))
      return failure();
    lengths = *given;
  } else if (whole) {
    int64_t length = (*whole + parts - 1) / parts;
    for (int64_t part = 0; part < parts; ++part)
      lengths.push_back(std::clamp<int64_t>(*whole - part * length, 0, length));
  }
  if (int64_t(lengths.size()) != parts)
    return node.error() << "expected the sizes of " << parts << " parts, found " << lengths.size();
  int64_t start = 0;
  for (auto [index, length] : llvm::enumerate(lengths)) {
    Part part{node.body.index(start), 1, fixed(node, length)};
    node.setOutput(index, makePart(node, input, *dim, part));
    start += length;
  }
  if (whole && start != *whole)
    return node.error() << "expected parts of " << *whole << " together, found " << start;
  return success();
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

static FailureOr<OpFoldResult> addSizes(Node &node, ArrayRef<TensorRef> tensors, int64_t dim) {
  int64_t known = 0;
  Value sum;
  for (const TensorRef &tensor : tensors) {
    if (auto size = getStatic(tensor->sizes[dim]))
      known += *size;
    else
      sum = sum ? node.body.make<arith::AddIOp>(sum, cast<Value>(tensor->sizes[dim]))
                : cast<Value>(tensor->sizes[dim]);
  }
  if (!sum)
    return fixed(node, known);
  return OpFoldResult(known == 0 ? sum
                                 : node.body.make<arith::AddIOp>(sum, node.body.index(known)));
}

static LogicalResult checkConcat(Node &node, ArrayRef<TensorRef> tensors, int64_t axis) {
  for (const TensorRef &tensor : tensors) {
    if (tensor->getRank() != tensors[0]->getRank() || tensor->element != tensors[0]->element)
      return node.error() << "expected operands of one type and rank, found "
                          << tensors[0]->getType() << " and " << tensor->getType();
    for (int64_t dim = 0; dim < tensor->getRank(); ++dim) {
      auto known = getStatic(tensors[0]->sizes[dim]), other = getStatic(tensor->sizes[dim]);
      if (dim != axis && known && other && *known != *other)
        return node.error() << "expected sizes " << *known << " in dimension " << dim << ", found "
                            << *other;
    }
  }
  return success();
}

static LogicalResult importConcat(Node &node) {
  SmallVector<TensorRef> tensors;
  for (int index = 0; index < node.numInputs(); ++index)
    tensors.push_back(node.input(index));
  FailureOr<int64_t> dim = node.getDim(node.getInt("axis", 0), tensors[0]->getRank());
  if (failed(dim) || failed(checkConcat(node, tensors, *dim)))
    return failure();
  Sizes sizes(tensors[0]->sizes);
  FailureOr<OpFoldResult> total = addSizes(node, tensors, *dim);
  if (failed(total))
    return failure();
  sizes[*dim] = *total;
  bool known = sizes.size() == 1 && llvm::all_of(tensors, [](const TensorRef &tensor) {
                 return tensor->elements.has_value();
               });
  if (known) {
    SmallVector<Value> elements;
    for (const TensorRef &tensor : tensors)
      llvm::append_range(elements, *tensor->elements);
    return node.setOutput(makeElements(node.body, tensors[0]->element, elements, sizes));
  }
  // What holds nothing adds nothing, and tensor.concat does not take it.
  TensorRef empty = tensors[0];
  llvm::erase_if(tensors,
                 [&](const TensorRef &tensor) { return getStatic(tensor->sizes[*dim]) == 0; });
  if (tensors.size() <= 1)
    return node.setOutput(tensors.empty() ? empty : tensors[0]);
  auto values = llvm::map_to_vector(
      tensors, [&](const TensorRef &tensor) { return node.materialize(tensor); });
  Value whole = tensor::ConcatOp::create(node.body.b, node.body.loc,
                                         getTensorType(tensors[0]->element, sizes), *dim, values);
  TensorRef result = makeComputed(whole, sizes);
  result->form = Form::Concat;
  result->sources.assign(tensors.begin(), tensors.end());
  result->dim = *dim;
  return node.setOutput(result);
}

//===----------------------------------------------------------------------===//
// Reading by index
//===----------------------------------------------------------------------===//

/// A position, counted from the end where negative.
static Value fromEnd(Body &at, Value position, OpFoldResult size) {
  Value index = at.make<arith::IndexCastOp>(at.b.getIndexType(), position);
  if (auto known = getConstantInt(position))
    return *known >= 0 ? index : at.make<arith::AddIOp>(index, toIndex(at, size));
  Value isNegative = at.make<arith::CmpIOp>(arith::CmpIPredicate::slt, index, at.index(0));
  return at.make<arith::SelectOp>(isNegative, at.make<arith::AddIOp>(index, toIndex(at, size)),
                                  index);
}

static LogicalResult gatherElements(Node &node, const TensorRef &data, const TensorRef &indices) {
  SmallVector<Value> elements;
  for (Value position : *indices->elements) {
    int64_t count = data->elements->size(), at = *getConstantInt(position);
    if (at < -count || at >= count)
      return node.error() << "expected an index below " << count << ", found " << at;
    elements.push_back((*data->elements)[at < 0 ? at + count : at]);
  }
  return node.setOutput(makeElements(node.body, data->element, elements, indices->sizes));
}

/// A part of length one, of which `sizes` has what the indices' shape makes of it.
static LogicalResult gatherOne(Node &node, const TensorRef &data, int64_t dim, int64_t index,
                               ArrayRef<OpFoldResult> sizes) {
  auto length = getStatic(data->sizes[dim]);
  if (length && (index < -*length || index >= *length))
    return node.error() << "expected an index below " << *length << ", found " << index;
  OpFoldResult offset = fixed(node, index);
  if (index < 0)
    offset = (Polynomial::of(data->sizes[dim]) + Polynomial::constant(index)).build(node.body);
  TensorRef part = makeSlice(node.body, data, dim, offset, fixed(node, 1));
  return node.setOutput(makeReshape(node.body, part, sizes));
}

static LogicalResult importGather(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", 0), data->getRank());
  if (failed(axis))
    return failure();
  if (!isa<IntegerType>(indices->element))
    return node.error() << "expected integers as indices, found " << indices->element;
  bool known = indices->elements && llvm::all_of(*indices->elements, [](Value index) {
                 return getConstantInt(index).has_value();
               });
  if (known && data->elements && data->getRank() == 1)
    return gatherElements(node, data, indices);
  Sizes sizes(ArrayRef(data->sizes).take_front(*axis));
  llvm::append_range(sizes, indices->sizes);
  llvm::append_range(sizes, ArrayRef(data->sizes).drop_front(*axis + 1));
  if (known && indices->elements->size() == 1 && !data->elements)
    return gatherOne(node, data, *axis, *getConstantInt(indices->elements->front()), sizes);
  int64_t dim = *axis, count = indices->getRank();
  if (dim == 0 && data->getRank() == 2 && !known && isa<FloatType>(data->element))
    return node.setOutput(makeComputed(
        EmbeddingOp::create(node.body.b, node.body.loc, getTensorType(data->element, sizes),
                            node.materialize(data), node.materialize(indices)),
        sizes));
  return node.setOutput(makeLazy(data->element, sizes, [=](Body &at, ArrayRef<Value> place) {
    SmallVector<Value> own(place.take_front(dim));
    Value position = at.read(indices, place.slice(dim, count));
    own.push_back(fromEnd(at, position, data->sizes[dim]));
    llvm::append_range(own, place.drop_front(dim + count));
    return at.read(data, own);
  }));
}

static LogicalResult importGatherElements(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", 0), data->getRank());
  if (failed(axis))
    return failure();
  if (indices->getRank() != data->getRank())
    return node.error() << "expected indices of rank " << data->getRank() << ", found "
                        << indices->getRank();
  int64_t dim = *axis;
  return node.setOutput(
      makeLazy(data->element, indices->sizes, [=](Body &at, ArrayRef<Value> place) {
        SmallVector<Value> own(place);
        own[dim] = fromEnd(at, at.read(indices, place), data->sizes[dim]);
        return at.read(data, own);
      }));
}

static LogicalResult importGatherNd(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1);
  int64_t batch = node.getInt("batch_dims", 0), rank = indices->getRank();
  auto depth = rank > 0 ? getStatic(indices->sizes.back()) : std::nullopt;
  if (!depth || batch < 0 || batch >= rank || batch + *depth > data->getRank())
    return node.error() << "expected indices whose last size is known and within the rank "
                        << data->getRank();
  Sizes sizes(ArrayRef(indices->sizes).drop_back());
  llvm::append_range(sizes, ArrayRef(data->sizes).drop_front(batch + *depth));
  return node.setOutput(
      makeLazy(data->element, sizes, [=, depth = *depth](Body &at, ArrayRef<Value> place) {
        SmallVector<Value> own(place.take_front(batch));
        SmallVector<Value> tuple(place.take_front(rank - 1));
        for (int64_t i = 0; i < depth; ++i) {
          tuple.push_back(at.index(i));
          own.push_back(fromEnd(at, at.read(indices, tuple), data->sizes[batch + i]));
          tuple.pop_back();
        }
        llvm::append_range(own, place.drop_front(rank - 1));
        return at.read(data, own);
      }));
}

//===----------------------------------------------------------------------===//
// Masks and borders
//===----------------------------------------------------------------------===//

static LogicalResult importTrilu(Node &node) {
  TensorRef input = node.input(0), offset = node.input(1);
  if (input->getRank() < 2)
    return node.error() << "expected a matrix, found rank " << input->getRank();
  bool upper = node.getInt("upper", 1);
  int64_t rank = input->getRank();
  Type element = input->element;
  return node.setOutput(makeLazy(element, input->sizes, [=](Body &at, ArrayRef<Value> indices) {
    Value row = indices[rank - 2], column = indices[rank - 1];
    if (offset)
      row = at.make<arith::AddIOp>(
          row,
          at.make<arith::IndexCastOp>(at.b.getIndexType(), at.read(offset, ArrayRef<Value>())));
    Value inside = at.make<arith::CmpIOp>(
        upper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, column, row);
    Value zero = arith::ConstantOp::create(at.b, at.loc, at.b.getZeroAttr(element));
    return at.make<arith::SelectOp>(inside, at.read(input, indices), zero);
  }));
}

/// How much a constant pad adds before and after each dimension.
static FailureOr<SmallVector<std::pair<OpFoldResult, OpFoldResult>>> getPads(Node &node) {
  TensorRef input = node.input(0);
  int64_t rank = input->getRank();
  FailureOr<SmallVector<Value>> pads = getList(node, 1, "pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.input(3)) {
    FailureOr<SmallVector<int64_t>> given = node.getConstants(3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (pads->size() != 2 * axes.size())
    return node.error() << "expected " << 2 * axes.size() << " pads, found " << pads->size();
  SmallVector<std::pair<OpFoldResult, OpFoldResult>> result(rank, {fixed(node, 0), fixed(node, 0)});
  for (auto [index, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> dim = node.getDim(axis, rank);
    if (failed(dim))
      return failure();
    result[*dim] = {toSize(node.body, (*pads)[index]),
                    toSize(node.body, (*pads)[index + axes.size()])};
  }
  return result;
}

static OpFoldResult add(Body &body, OpFoldResult a, OpFoldResult b) {
  auto known = getStatic(a), other = getStatic(b);
  if (known && other)
    return fixedSize(body.b.getContext(), *known + *other);
  return body.make<arith::AddIOp>(toIndex(body, a), toIndex(body, b));
}

/// Where a place before or after a dimension reads from in the modes that repeat elements.
using Repeat = Value (*)(Body &, Value place, Value length);

static Value clampPlace(Body &at, Value place, Value length) {
  Value last = at.make<arith::SubIOp>(length, at.index(1));
  return at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(place, last), at.index(0));
}

/// `place` modulo `length`, not negative.
static Value wrapPlace(Body &at, Value place, Value length) {
  Value rest = at.make<arith::RemSIOp>(place, length);
  return at.make<arith::RemSIOp>(at.make<arith::AddIOp>(rest, length), length);
}

/// There and back again, the elements at both ends once.
static Value reflectPlace(Body &at, Value place, Value length) {
  Value last = at.make<arith::SubIOp>(length, at.index(1));
  Value period = at.make<arith::MaxSIOp>(at.make<arith::AddIOp>(last, last), at.index(1));
  Value forth = wrapPlace(at, place, period);
  return at.make<arith::MinSIOp>(forth, at.make<arith::SubIOp>(period, forth));
}

static TensorRef makeRepeated(Node &node, ArrayRef<OpFoldResult> sizes,
                              ArrayRef<std::pair<OpFoldResult, OpFoldResult>> pads, Repeat repeat) {
  TensorRef input = node.input(0);
  SmallVector<std::pair<OpFoldResult, OpFoldResult>> around(pads);
  return makeLazy(input->element, sizes, [=](Body &at, ArrayRef<Value> indices) {
    SmallVector<Value> own;
    for (auto [index, size, pad] : llvm::zip(indices, input->sizes, around)) {
      bool isSame = getStatic(pad.first) == 0 && getStatic(pad.second) == 0;
      Value place = isSame ? index : at.make<arith::SubIOp>(index, toIndex(at, pad.first));
      own.push_back(isSame ? index : repeat(at, place, toIndex(at, size)));
    }
    return at.read(input, own);
  });
}

/// A fill around the input.
static TensorRef makeFilled(Node &node, ArrayRef<OpFoldResult> sizes,
                            ArrayRef<std::pair<OpFoldResult, OpFoldResult>> pads) {
  TensorRef input = node.input(0), fill = node.input(2);
  SmallVector<std::pair<OpFoldResult, OpFoldResult>> around(pads);
  return makeLazy(input->element, sizes, [=](Body &at, ArrayRef<Value> indices) -> Value {
    SmallVector<Value> own;
    Value inside;
    auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
      Value condition = at.make<arith::CmpIOp>(predicate, x, y);
      inside = inside ? at.make<arith::AndIOp>(inside, condition) : condition;
    };
    for (auto [index, size, pad] : llvm::zip(indices, input->sizes, around)) {
      if (getStatic(pad.first) == 0 && getStatic(pad.second) == 0) {
        own.push_back(index);
        continue;
      }
      Value length = toIndex(at, size);
      Value place = at.make<arith::SubIOp>(index, toIndex(at, pad.first));
      require(arith::CmpIPredicate::sge, place, at.index(0));
      require(arith::CmpIPredicate::slt, place, length);
      own.push_back(clampPlace(at, place, length));
    }
    Value value = at.read(input, own);
    if (!inside)
      return value;
    Value outside =
        fill ? at.read(fill, ArrayRef<Value>())
             : Value(arith::ConstantOp::create(at.b, at.loc, at.b.getZeroAttr(input->element)));
    return at.make<arith::SelectOp>(inside, value, outside);
  });
}

static LogicalResult importPad(Node &node) {
  StringRef mode = node.getString("mode", "constant");
  Repeat repeat = llvm::StringSwitch<Repeat>(mode)
                      .Case("edge", clampPlace)
                      .Case("reflect", reflectPlace)
                      .Case("wrap", wrapPlace)
                      .Default(nullptr);
  if (!repeat && mode != "constant")
    return node.error() << "expected attribute 'mode' constant, edge, reflect or wrap, found "
                        << mode;
  auto pads = getPads(node);
  if (failed(pads))
    return failure();
  Sizes sizes;
  for (auto [size, pad] : llvm::zip(node.input(0)->sizes, *pads)) {
    sizes.push_back(add(node.body, add(node.body, size, pad.first), pad.second));
    if (auto known = getStatic(sizes.back()); known && *known < 0)
      return node.error() << "expected sizes that are not negative, found " << *known;
    if (repeat && getStatic(size) == 0 && getStatic(sizes.back()) != 0)
      return node.error() << "expected elements to repeat, found a size of 0";
  }
  return node.setOutput(repeat ? makeRepeated(node, sizes, *pads, repeat)
                               : makeFilled(node, sizes, *pads));
}

//===----------------------------------------------------------------------===//
// OneHot
//===----------------------------------------------------------------------===//

static LogicalResult importOneHot(Node &node) {
  TensorRef indices = node.input(0), depth = node.input(1), values = node.input(2);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", -1), indices->getRank() + 1);
  if (failed(axis))
    return failure();
  if (!depth->elements || depth->elements->size() != 1)
    return node.error() << "expected a depth that follows from sizes and constants";
  if (values->getRank() != 1 || getStatic(values->sizes[0]) != 2)
    return node.error() << "expected two values, found " << values->getType();
  Value count = castScalar(node.body, depth->elements->front(), node.body.b.getI64Type());
  OpFoldResult size = toSize(node.body, count);
  if (auto known = getStatic(size); known && *known < 0)
    return node.error() << "expected a depth that is not negative, found " << *known;
  Sizes sizes(indices->sizes);
  sizes.insert(sizes.begin() + *axis, size);
  int64_t dim = *axis;
  return node.setOutput(
      makeLazy(values->element, sizes, [=](Body &at, ArrayRef<Value> place) -> Value {
        SmallVector<Value> own(place);
        own.erase(own.begin() + dim);
        Value position = castScalar(at, at.read(indices, own), at.b.getI64Type());
        Value isHot = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, fromEnd(at, position, size),
                                             place[dim]);
        return at.make<arith::SelectOp>(isHot, at.read(values, {at.index(1)}),
                                        at.read(values, {at.index(0)}));
      }));
}

ArrayRef<OpEntry> imports::getShapeOps() {
  constexpr int many = OpEntry::many;
  static const OpEntry entries[] = {
      {"", "Concat", 1, many, {"axis"}, importConcat},
      {"",
       "Constant",
       0,
       0,
       {"value", "value_float", "value_floats", "value_int", "value_ints"},
       importConstant},
      {"", "ConstantOfShape", 1, 1, {"value"}, importConstantOfShape},
      {"", "Expand", 2, 2, {}, importExpand},
      {"", "Flatten", 1, 1, {"axis"}, importFlatten},
      {"", "Gather", 2, 2, {"axis"}, importGather},
      {"", "GatherElements", 2, 2, {"axis"}, importGatherElements},
      {"", "GatherND", 2, 2, {"batch_dims"}, importGatherNd},
      {"", "OneHot", 3, 3, {"axis"}, importOneHot},
      {"", "Pad", 2, 4, {"mode"}, importPad},
      {"", "Range", 3, 3, {}, importRange},
      {"", "Reshape", 2, 2, {"allowzero"}, importReshape},
      {"", "Shape", 1, 1, {"end", "start"}, importShape},
      {"", "Size", 1, 1, {}, importSize},
      {"", "Slice", 3, 5, {}, importSlice},
      {"", "Split", 1, 2, {"axis", "num_outputs"}, importSplit},
      {"", "Squeeze", 1, 2, {"axes"}, importSqueeze},
      {"", "Tile", 2, 2, {}, importTile},
      {"", "Transpose", 1, 1, {"perm"}, importTranspose},
      {"", "Trilu", 1, 2, {"upper"}, importTrilu},
      {"", "Unsqueeze", 1, 2, {"axes"}, importUnsqueeze},
  };
  return entries;
}
