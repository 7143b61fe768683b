//===- Moves.cpp - tensors that hold the elements of another elsewhere ----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes, reshapes and slices. Each keeps what it was made from, says where an element is
// read, and moves a short list of elements at once.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

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
  TensorRef tensor = makeTensor(source->element, sizes);
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

/// Where each of `groups`, which are runs of dimensions of a refinement, lies in the order that
/// `order` gives them; none where a group is torn apart there.
static std::optional<SmallVector<int64_t>> placeGroups(ArrayRef<ReassociationIndices> groups,
                                                       ArrayRef<int64_t> order) {
  SmallVector<int64_t> starts;
  for (const ReassociationIndices &group : groups) {
    starts.push_back(llvm::find(order, group.front()) - order.begin());
    if (order.slice(starts.back()).take_front(group.size()) != ArrayRef<int64_t>(group))
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
  return source->form == Form::Transpose ? reshapeTransposed(body, source, sizes) : nullptr;
}

TensorRef imports::makeReshape(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes) {
  if (sameSizes(source->sizes, sizes))
    return source;
  if (TensorRef moved = reshapeSource(body, source, sizes))
    return moved;
  TensorRef tensor = makeTensor(source->element, sizes);
  tensor->form = Form::Reshape;
  tensor->sources = {source};
  tensor->elements = source->elements;
  tensor->at = [source, to = tensor->sizes](Body &at, ArrayRef<Value> indices) {
    return at.read(source, reindex(at, source->sizes, to, indices));
  };
  return tensor;
}

/// The elements of a constant in a part of one dimension, which lies within it; null where the
/// constant's bytes are not at hand.
static ElementsAttr sliceConstant(ElementsAttr whole, int64_t dim, int64_t start,
                                  RankedTensorType type) {
  if (whole.isSplat())
    return cast<DenseElementsAttr>(whole).resizeSplat(type);
  ArrayRef<int64_t> shape = whole.getShapedType().getShape();
  std::optional<ArrayRef<char>> from = getBytes(whole);
  if (!from)
    return nullptr;
  int64_t width = type.getElementTypeBitWidth() / 8, before = 1, after = width;
  for (int64_t size : shape.take_front(dim))
    before *= size;
  for (int64_t size : shape.drop_front(dim + 1))
    after *= size;
  return makeBytes(whole, type, [&](MutableArrayRef<char> to) {
    char *next = to.data();
    for (int64_t outer = 0; outer < before; ++outer) {
      auto row = from->slice((outer * shape[dim] + start) * after, type.getDimSize(dim) * after);
      next = llvm::copy(row, next);
    }
  });
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

/// Whether a part lies within its dimension, as far as that is known.
static bool isWithin(OpFoldResult whole, OpFoldResult offset, OpFoldResult size) {
  auto length = getStatic(whole), start = getStatic(offset), count = getStatic(size);
  if ((start && *start < 0) || (count && *count < 0))
    return false;
  if (!length)
    return true;
  return start.value_or(0) <= *length && count.value_or(0) <= *length - start.value_or(0);
}

static std::string describe(OpFoldResult number) {
  auto known = getStatic(number);
  return known ? std::to_string(*known) : "?";
}

FailureOr<TensorRef> imports::makeSlice(Body &body, const TensorRef &source, int64_t dim,
                                        OpFoldResult offset, OpFoldResult size) {
  if (!isWithin(source->sizes[dim], offset, size))
    return emitError(body.loc) << "expected a part within dimension " << dim << " of "
                               << source->getType() << ", found " << describe(size) << " from "
                               << describe(offset) << " on";
  if (getStatic(offset) == 0 && sameSize(source->sizes[dim], size))
    return source;
  if (TensorRef operand = findOperand(source, dim, offset, size))
    return operand;
  SmallVector<OpFoldResult> sizes(source->sizes);
  sizes[dim] = size;
  RankedTensorType type = getTensorType(source->element, sizes);
  ElementsAttr constant;
  if (source->value && matchPattern(source->value, m_Constant(&constant)) &&
      type.hasStaticShape() && type.getNumElements() > 0 && getStatic(offset) &&
      !source->element.isInteger(1))
    if (ElementsAttr part = sliceConstant(constant, dim, *getStatic(offset), type))
      return makeConstant(body, part);
  TensorRef tensor = makeTensor(source->element, sizes);
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
