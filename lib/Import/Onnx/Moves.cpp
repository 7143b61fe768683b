//===- Moves.cpp - tensors that hold the elements of another elsewhere ----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes, reshapes and slices are ops. A short list of elements is moved at once.
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

/// The indices into dimensions of `sizes` that `flat` stands for.
static SmallVector<Value> unflatten(Body &body, Value flat, ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (int64_t dim = sizes.size() - 1; dim > 0; --dim) {
    Value size = toIndex(body, sizes[dim]);
    indices[dim] = body.make<arith::RemUIOp>(flat, size);
    // No index is negative, and signed divisions have bounds that Halide sees.
    flat = body.make<arith::FloorDivSIOp>(flat, size);
  }
  if (!indices.empty())
    indices[0] = flat;
  return indices;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The elements of `source` in other places: by the op that `emit` makes, or, where it makes none
/// or the source is a list, read at the indices that `place` makes.
static TensorRef makeMove(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes,
                          function_ref<Value(Value)> emit,
                          function_ref<SmallVector<Value>(Body &, ArrayRef<Value>)> place) {
  Value moved = source->elements ? Value() : emit(source->value);
  if (!moved)
    return makeGenerate(
        body, source->element, sizes, {source},
        [&](Body &at, ArrayRef<Value> indices) { return at.read(source, place(at, indices)); });
  return makeComputed(moved, sizes, {source});
}

/// A short list in other places, which is a constant where it was one.
static TensorRef moveList(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes,
                          ArrayRef<Value> elements) {
  TensorRef tensor = makeElements(body, source->element, elements, sizes);
  if (source->value && !source->isIndexOnly())
    tensor->value = makeDense(body, *tensor);
  return tensor;
}

TensorRef imports::makeTranspose(Body &body, const TensorRef &source,
                                 ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return source;
  auto sizes = pick<OpFoldResult>(source->sizes, permutation);
  auto turn = [order = SmallVector<int64_t>(permutation)](auto indices) {
    SmallVector<typename decltype(indices)::value_type> own(indices);
    for (auto [dim, from] : llvm::enumerate(order))
      own[from] = indices[dim];
    return own;
  };
  if (auto elements = moveElements(*source, sizes, turn))
    return moveList(body, source, sizes, *elements);
  return makeMove(
      body, source, sizes,
      [&](Value value) -> Value {
        return TransposeOp::create(body.b, body.loc, getTensorType(source->element, sizes), value,
                                   permutation);
      },
      [turn](Body &, ArrayRef<Value> indices) { return turn(indices); });
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

/// Without sizes of 1, taken apart, put together, with sizes of 1; null where the shapes have
/// nothing in common.
static Value reshape(Body &body, Value value, ArrayRef<OpFoldResult> from,
                     ArrayRef<OpFoldResult> to) {
  auto common = refine(body, from, to);
  if (!common)
    return nullptr;
  value = collapse(body, value, pick<OpFoldResult>(from, getWideDims(from)), groupUnits(from));
  value = expand(body, value, common->sizes, common->from);
  value = collapse(body, value, pick<OpFoldResult>(to, getWideDims(to)), common->to);
  return expand(body, value, to, groupUnits(to));
}

TensorRef imports::makeReshape(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes) {
  if (sameSizes(source->sizes, sizes))
    return source;
  if (source->unshaped)
    return makeReshape(body, source->unshaped, sizes);
  if (source->elements)
    return moveList(body, source, sizes, *source->elements);
  TensorRef tensor = makeMove(
      body, source, sizes, [&](Value value) { return reshape(body, value, source->sizes, sizes); },
      [&](Body &at, ArrayRef<Value> indices) {
        return unflatten(at, flatten(at, indices, sizes), source->sizes);
      });
  tensor->unshaped = source;
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
  SmallVector<OpFoldResult> sizes(source->sizes);
  sizes[dim] = size;
  RankedTensorType type = getTensorType(source->element, sizes);
  ElementsAttr constant;
  if (source->value && matchPattern(source->value, m_Constant(&constant)) &&
      type.hasStaticShape() && type.getNumElements() > 0 && getStatic(offset) &&
      !source->element.isInteger(1))
    if (ElementsAttr part = sliceConstant(constant, dim, *getStatic(offset), type))
      return makeConstant(body, part);
  return makeMove(
      body, source, sizes,
      [&](Value value) -> Value {
        // A slice may not begin at the end of a dimension, so not of an empty one either.
        if (llvm::is_contained(type.getShape(), 0))
          return nullptr;
        SmallVector<OpFoldResult> offsets(sizes.size(), body.b.getIndexAttr(0)),
            steps(sizes.size(), body.b.getIndexAttr(1));
        offsets[dim] = offset;
        return tensor::ExtractSliceOp::create(body.b, body.loc, type, value, offsets, sizes, steps);
      },
      [=](Body &at, ArrayRef<Value> indices) {
        SmallVector<Value> own(indices);
        own[dim] = at.make<arith::AddIOp>(toIndex(at, offset), own[dim]);
        return own;
      });
}
