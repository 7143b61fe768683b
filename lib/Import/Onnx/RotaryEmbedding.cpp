//===- RotaryEmbedding.cpp - ONNX's RotaryEmbedding -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model holds tables of cosines and sines, which attn.positions would compute. So the rotation
// is elementwise arithmetic here.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
enum Input { X, Cos, Sin, Positions };
} // namespace

/// A table as [batch, length, width / 2]: its rows at the positions, where there are any.
static FailureOr<TensorRef> getAngles(Node &node, Input input, ArrayRef<OpFoldResult> wanted) {
  Body &body = node.body;
  TensorRef table = node.input(input), positions = node.input(Positions);
  StringRef name = input == Cos ? "cos_cache" : "sin_cache";
  int64_t rank = positions ? 2 : 3;
  if (table->getRank() != rank || table->element != node.input(X)->element)
    return node.error() << "expected " << name << " of rank " << rank << " and type "
                        << node.input(X)->element << ", found " << table->getType();
  if (positions) {
    if (positions->getRank() != 2 || !isa<IntegerType>(positions->element))
      return node.error() << "expected position_ids as integers of rank 2, found "
                          << positions->getType();
    SmallVector<OpFoldResult> sizes = {positions->sizes[0], positions->sizes[1], table->sizes[1]};
    table = makeComputed(EmbeddingOp::create(body.b, body.loc, getTensorType(table->element, sizes),
                                             node.materialize(table), node.materialize(positions)),
                         sizes);
  }
  for (auto [dim, size] : llvm::enumerate(wanted)) {
    auto known = getStatic(size), found = getStatic(table->sizes[dim]);
    // One row of angles may serve a whole batch.
    if (known && found && *found != *known && (*found != 1 || dim == 2))
      return node.error() << "expected " << *known << " angles in dimension " << dim << " of "
                          << name << ", found " << *found;
  }
  return table;
}

/// x[…, d] turned with its partner by the angle of their pair.
static Value rotate(Body &at, const TensorRef &x, const TensorRef &cos, const TensorRef &sin,
                    ArrayRef<Value> indices, int64_t width, bool interleaved) {
  Value half = at.index(interleaved ? 2 : width / 2), d = indices[3];
  Value pair = interleaved ? at.make<arith::DivUIOp>(d, half) : at.make<arith::RemUIOp>(d, half);
  Value side = interleaved ? at.make<arith::RemUIOp>(d, half) : at.make<arith::DivUIOp>(d, half);
  Value isFirst = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, side, at.index(0));
  Value step = at.index(interleaved ? 1 : width / 2);
  SmallVector<Value> partner(indices);
  partner[3] = at.make<arith::SelectOp>(isFirst, at.make<arith::AddIOp>(d, step),
                                        at.make<arith::SubIOp>(d, step));
  auto angle = [&](const TensorRef &table) {
    Value place[] = {indices[0], indices[2], pair};
    return at.read(table, broadcastIndices(at, table->sizes, place));
  };
  Value kept = at.make<arith::MulFOp>(at.read(x, indices), angle(cos));
  Value mixed = at.make<arith::MulFOp>(at.read(x, partner), angle(sin));
  return at.make<arith::SelectOp>(isFirst, at.make<arith::SubFOp>(kept, mixed),
                                  at.make<arith::AddFOp>(kept, mixed));
}

static FailureOr<TensorRef> readHeads(Node &node) {
  TensorRef x = node.input(X);
  if (x->getRank() != 3 && x->getRank() != 4)
    return node.error() << "expected an input of rank 3 or 4, found " << x->getType();
  if (x->getRank() == 4)
    return x;
  int64_t heads = node.getInt("num_heads", 0);
  auto width = getStatic(x->sizes[2]);
  if (heads <= 0 || heads > kMostHeads || (width && *width % heads != 0))
    return node.error() << "expected attribute 'num_heads' that divides the width, found " << heads;
  return makeHeads(node.body, x, heads);
}

/// The first `width` columns turned, and those behind as they are.
static FailureOr<TensorRef> makeRotation(Node &node, const TensorRef &x, const TensorRef &cos,
                                         const TensorRef &sin, int64_t width) {
  bool interleaved = node.getInt("interleaved", 0);
  SmallVector<OpFoldResult> sizes(x->sizes);
  OpFoldResult whole = sizes[3];
  sizes[3] = fixedSize(node.model.context, width);
  TensorRef turned = makeGenerate(node.body, x->element, sizes, {x, cos, sin},
                                  [=](Body &at, ArrayRef<Value> indices) {
                                    return rotate(at, x, cos, sin, indices, width, interleaved);
                                  });
  if (getStatic(whole) == width)
    return turned;
  OpFoldResult offset = fixedSize(node.model.context, width);
  FailureOr<TensorRef> rest =
      makeSlice(node.body, x, 3, offset, fixedSize(node.model.context, *getStatic(whole) - width));
  if (failed(rest))
    return failure();
  Value both =
      tensor::ConcatOp::create(node.body.b, node.body.loc, x->getType(), 3,
                               ValueRange{node.materialize(turned), node.materialize(*rest)});
  return makeComputed(both, x->sizes);
}

LogicalResult imports::importRotaryEmbedding(Node &node) {
  FailureOr<TensorRef> x = readHeads(node);
  if (failed(x))
    return failure();
  auto headDim = getStatic((*x)->sizes[3]);
  if (!headDim)
    return node.error() << "expected a head size that is known at compile time";
  int64_t width = node.getInt("rotary_embedding_dim", 0);
  width = width == 0 ? *headDim : width;
  if (width < 2 || width > *headDim || width % 2 != 0)
    return node.error() << "expected an even number of at most " << *headDim
                        << " columns to turn, found " << width;
  OpFoldResult wanted[] = {(*x)->sizes[0], (*x)->sizes[2],
                           fixedSize(node.model.context, width / 2)};
  FailureOr<TensorRef> cos = getAngles(node, Cos, wanted), sin = getAngles(node, Sin, wanted);
  if (failed(cos) || failed(sin))
    return failure();
  FailureOr<TensorRef> turned = makeRotation(node, *x, *cos, *sin, width);
  if (failed(turned))
    return failure();
  return node.setOutput(node.input(X)->getRank() == 3 ? makeMergedHeads(node.body, *turned)
                                                      : *turned);
}
