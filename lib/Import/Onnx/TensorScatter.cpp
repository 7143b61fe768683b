//===- TensorScatter.cpp - ONNX's TensorScatter ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache of any rank is reshaped to [batch, dims before, length, dims after]. Linear updates are
// attn.append_cache, which checks at run time that there is room.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
enum Input { Cache, Update, Indices };
} // namespace

static TensorRef makeFour(Body &body, const TensorRef &tensor, int64_t axis) {
  ArrayRef<OpFoldResult> sizes = tensor->sizes;
  return makeReshape(body, tensor,
                     {sizes[0], multiply(body, sizes.slice(1, axis - 1)), sizes[axis],
                      multiply(body, sizes.drop_front(axis + 1))});
}

static LogicalResult checkShapes(Node &node, int64_t axis) {
  TensorRef cache = node.input(Cache), update = node.input(Update), indices = node.input(Indices);
  if (update->getRank() != cache->getRank() || update->element != cache->element ||
      !isa<FloatType>(cache->element))
    return node.error() << "expected floats of one type and rank as cache and update, found "
                        << cache->getType() << " and " << update->getType();
  for (int64_t dim = 0; dim < cache->getRank(); ++dim) {
    auto known = getStatic(cache->sizes[dim]), found = getStatic(update->sizes[dim]);
    if (known && found && (dim == axis ? *found > *known : *found != *known))
      return node.error() << "expected update to have " << (dim == axis ? "at most " : "") << *known
                          << " in dimension " << dim << ", found " << *found;
  }
  if (indices && (indices->getRank() != 1 || !indices->element.isInteger(64)))
    return node.error() << "expected write_indices of rank 1 and type i64, found "
                        << indices->getType();
  return success();
}

/// The first written position of each batch.
static TensorRef getStarts(Node &node) {
  if (TensorRef indices = node.input(Indices))
    return indices;
  Body &body = node.body;
  Value zero = arith::ConstantOp::create(body.b, body.loc, body.b.getI64IntegerAttr(0));
  return makeExpand(body, makeElements(body, zero.getType(), {zero}, {}),
                    {node.input(Cache)->sizes[0]});
}

static TensorRef appendRows(Node &node, const TensorRef &cache, const TensorRef &rows) {
  return makeComputed(AppendCacheOp::create(node.body.b, node.body.loc, cache->getType(),
                                            node.materialize(cache), node.materialize(rows),
                                            node.materialize(getStarts(node))),
                      cache->sizes);
}

/// The offset of `t` from `start` in a ring buffer of `length`.
static Value getDistance(Body &at, Value t, Value start, Value length) {
  Value rest = at.make<arith::RemSIOp>(at.make<arith::SubIOp>(t, start), length);
  Value isNegative = at.make<arith::CmpIOp>(arith::CmpIPredicate::slt, rest, at.index(0));
  return at.make<arith::SelectOp>(isNegative, at.make<arith::AddIOp>(rest, length), rest);
}

static TensorRef writeRing(Node &node, const TensorRef &cache, const TensorRef &rows) {
  TensorRef starts = getStarts(node);
  return makeGenerate(
      node.body, cache->element, cache->sizes, {cache, rows, starts},
      [=](Body &at, ArrayRef<Value> indices) -> Value {
        Value start =
            at.make<arith::IndexCastOp>(at.b.getIndexType(), at.read(starts, {indices[0]}));
        SmallVector<Value> place(indices);
        place[2] = getDistance(at, indices[2], start, toIndex(at, cache->sizes[2]));
        Value isNew = at.make<arith::CmpIOp>(arith::CmpIPredicate::slt, place[2],
                                             toIndex(at, rows->sizes[2]));
        return at.make<arith::SelectOp>(isNew, at.read(rows, place), at.read(cache, indices));
      });
}

LogicalResult imports::importTensorScatter(Node &node) {
  TensorRef cache = node.input(Cache);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", -2), cache->getRank());
  if (failed(axis))
    return failure();
  if (*axis == 0)
    return node.error() << "expected an axis behind the batch, found 0";
  StringRef mode = node.getString("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return node.error() << "expected attribute 'mode' linear or circular, found " << mode;
  if (failed(checkShapes(node, *axis)))
    return failure();
  TensorRef four = makeFour(node.body, cache, *axis),
            rows = makeFour(node.body, node.input(Update), *axis);
  TensorRef present = mode == "linear" ? appendRows(node, four, rows) : writeRing(node, four, rows);
  return node.setOutput(makeReshape(node.body, present, cache->sizes));
}
