//===- Gather.cpp - ONNX ops that read elements by index ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

Value imports::fromEnd(Body &at, Value position, OpFoldResult size) {
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

/// A slice of length one along `dim`, reshaped to `sizes`.
static LogicalResult gatherOne(Node &node, const TensorRef &data, int64_t dim, int64_t index,
                               ArrayRef<OpFoldResult> sizes) {
  auto length = getStatic(data->sizes[dim]);
  if (length && (index < -*length || index >= *length))
    return node.error() << "expected an index below " << *length << ", found " << index;
  OpFoldResult offset = fixedSize(node, index);
  if (index < 0)
    offset = (Polynomial::of(data->sizes[dim]) + Polynomial::constant(index)).build(node.body);
  FailureOr<TensorRef> part = makeSlice(node.body, data, dim, offset, fixedSize(node, 1));
  return failed(part) ? failure() : node.setOutput(makeReshape(node.body, *part, sizes));
}

static LogicalResult importGather(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", 0), data->getRank());
  if (failed(axis))
    return failure();
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
  return node.setOutput(makeGenerate(node.body, data->element, sizes, {data, indices},
                                     [=](Body &at, ArrayRef<Value> place) {
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
  return node.setOutput(makeGenerate(node.body, data->element, indices->sizes, {data, indices},
                                     [=](Body &at, ArrayRef<Value> place) {
                                       SmallVector<Value> own(place);
                                       own[dim] =
                                           fromEnd(at, at.read(indices, place), data->sizes[dim]);
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
      makeGenerate(node.body, data->element, sizes, {data, indices},
                   [=, depth = *depth](Body &at, ArrayRef<Value> place) {
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
      makeGenerate(node.body, values->element, sizes, {indices, values},
                   [=](Body &at, ArrayRef<Value> place) -> Value {
                     SmallVector<Value> own(place);
                     own.erase(own.begin() + dim);
                     Value position = castScalar(at, at.read(indices, own), at.b.getI64Type());
                     Value isHot = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                          fromEnd(at, position, size), place[dim]);
                     return at.make<arith::SelectOp>(isHot, at.read(values, {at.index(1)}),
                                                     at.read(values, {at.index(0)}));
                   }));
}

ArrayRef<OpEntry> imports::getGatherOps() {
  static const OpEntry entries[] = {
      {"", "Gather", "xi", "x", {{"axis", Int}}, importGather},
      {"", "GatherElements", "xi", "x", {{"axis", Int}}, importGatherElements},
      {"", "GatherND", "xi", "x", {{"batch_dims", Int}}, importGatherNd},
      {"", "OneHot", "nnx", "x", {{"axis", Int}}, importOneHot},
      {"",
       "Resize",
       "xf?f?i?",
       "x",
       {{"antialias", Int},
        {"axes", Ints},
        {"coordinate_transformation_mode", String},
        {"cubic_coeff_a", Float},
        {"exclude_outside", Int},
        {"extrapolation_value", Float},
        {"keep_aspect_ratio_policy", String},
        {"mode", String},
        {"nearest_mode", String}},
       importResize,
       11},
      {"", "ScatterND", "xix", "x", {{"reduction", String}}, importScatterNd},
      {"",
       "ScatterElements",
       "xix",
       "x",
       {{"axis", Int}, {"reduction", String}},
       importScatterElements},
  };
  return entries;
}
