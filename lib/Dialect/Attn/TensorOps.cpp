//===- TensorOps.cpp - verifiers and sizes of what stands around attention ===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// LseOp
//===----------------------------------------------------------------------===//

LogicalResult LseOp::verify() {
  // lse_c1
  if (rankOf(getScore()) == 0)
    return emitOpError("expected score of rank 1 or more, found 0");
  return verifyResultShape(*this, getResult(), shapeOf(getScore()).drop_back()); // lse_c2
}

LogicalResult LseOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  shapes = {tensor::getMixedSizes(builder, getLoc(), getScore())};
  shapes.front().pop_back();
  return success();
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  SmallVector<int64_t> sizes;
  // map_c2
  for (auto [n, input] : llvm::enumerate(getInputs()))
    if (std::optional<int64_t> dim = broadcastInto(sizes, shapeOf(input)))
      return emitOpError("expected operand ")
             << n << " to broadcast with size " << sizes[*dim] << " of dimension " << *dim
             << ", found " << input.getType();
  return verifyResultShape(*this, getResult(), sizes); // map_c3
}

LogicalResult MapOp::verifyRegions() {
  // map_c1
  if (getInputs().empty())
    return emitOpError("expected an operand, found none");
  auto elements = llvm::map_to_vector(
      getInputs(), [](Value input) { return getElementTypeOrSelf(input.getType()); });
  Block &block = getBody().front();
  if (block.getArgumentTypes() != ArrayRef<Type>(elements))
    return emitOpError("expected the region to take (")
           << elements << "), found (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("expected the region to end with attn.yield, found ")
           << block.getTerminator()->getName();
  Type found = yield.getValue().getType(), expected = getElementTypeOrSelf(getResult());
  if (found != expected)
    return yield.emitOpError("expected a value of ") << expected << ", found " << found;
  return verifyChains(getBody());
}

/// The size of a result's dimension: a static one wins, then that of an operand that
/// is not repeated there.
static OpFoldResult mapSize(OpBuilder &builder, MapOp op, int64_t dim) {
  int64_t known = sizeOf(op.getResult(), dim), rank = rankOf(op.getResult());
  if (!ShapedType::isDynamic(known))
    return builder.getIndexAttr(known);
  for (Value input : op.getInputs()) {
    int64_t inputDim = dim - (rank - rankOf(input));
    if (inputDim >= 0 && sizeOf(input, inputDim) != 1)
      return tensor::getMixedSize(builder, op.getLoc(), input, inputDim);
  }
  return builder.getIndexAttr(1);
}

LogicalResult MapOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  shapes.emplace_back();
  for (int64_t dim = 0; dim < rankOf(getResult()); ++dim)
    shapes.front().push_back(mapSize(builder, *this, dim));
  return success();
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

SmallVector<bool> ReduceOp::getReducedDims() {
  int64_t rank = rankOf(getInput());
  SmallVector<bool> reduced(rank, false);
  for (int64_t axis : getAxes())
    reduced[axis < 0 ? axis + rank : axis] = true;
  return reduced;
}

static LogicalResult verifyReduceElement(ReduceOp op) {
  // reduce_c1
  Type element = getElementTypeOrSelf(op.getInput());
  if (failed(verifyElement(op, "result", op.getResult(), "input", op.getInput())))
    return failure();
  bool wantsFloat = op.getKind() == ReduceKind::mean || op.getKind() == ReduceKind::l2;
  if (element.isInteger(1) || (wantsFloat && !isa<FloatType>(element)))
    return op.emitOpError("expected elements that ")
           << stringifyReduceKind(op.getKind()) << " takes, found " << element;
  return success();
}

static LogicalResult verifyReduceAxes(ReduceOp op) {
  // reduce_c2
  int64_t rank = rankOf(op.getInput());
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t axis : op.getAxes()) {
    if (axis < -rank || axis >= rank)
      return op.emitOpError("expected axes within rank ") << rank << ", found " << axis;
    if (!seen.insert(axis < 0 ? axis + rank : axis).second)
      return op.emitOpError("expected every axis once, found ") << axis << " twice";
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyReduceElement(*this)) || failed(verifyReduceAxes(*this)))
    return failure();
  SmallVector<int64_t> sizes;
  for (auto [size, reduced] : llvm::zip_equal(shapeOf(getInput()), getReducedDims()))
    if (!reduced || getKeepDims())
      sizes.push_back(reduced ? 1 : size);
  return verifyResultShape(*this, getResult(), sizes); // reduce_c3
}

LogicalResult ReduceOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  shapes.emplace_back();
  for (auto [dim, reduced] : llvm::enumerate(getReducedDims())) {
    if (reduced && getKeepDims())
      shapes.front().push_back(builder.getIndexAttr(1));
    if (!reduced)
      shapes.front().push_back(tensor::getMixedSize(builder, getLoc(), getInput(), dim));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

bool TransposeOp::keepsRows() {
  auto order = getPermutation();
  return order.empty() || order.back() + 1 == static_cast<int64_t>(order.size());
}

LogicalResult TransposeOp::verify() {
  // transpose_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", getInput())))
    return failure();
  // transpose_c2
  int64_t rank = rankOf(getInput());
  auto order = getPermutation();
  if (static_cast<int64_t>(order.size()) != rank || !isPermutationVector(order))
    return emitOpError("expected a permutation of ")
           << rank << " dimensions, found [" << order << "]";
  // transpose_c3
  return verifyResultShape(*this, getResult(), applyPermutation(shapeOf(getInput()), order));
}

LogicalResult TransposeOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<std::pair<Value, int64_t>> sources;
  for (int64_t dim : getPermutation())
    sources.push_back({getInput(), dim});
  shapes = {resultSizes(builder, getLoc(), getResult(), sources)};
  return success();
}

//===----------------------------------------------------------------------===//
// LayerNormOp
//===----------------------------------------------------------------------===//

/// `parameter`: the scale or the bias, null where it was left out.
static LogicalResult verifyNormParameter(LayerNormOp op, StringRef what, Value parameter) {
  if (!parameter)
    return success();
  // layer_norm_c2
  if (failed(verifyElement(op, what, parameter, "input", op.getInput())))
    return failure();
  // layer_norm_c3
  if (failed(verifyRank(op, what, parameter, 1)))
    return failure();
  return verifySize(op, what.str() + " elements", sizeOf(parameter, 0), "input's width",
                    shapeOf(op.getInput()).back());
}

LogicalResult LayerNormOp::verify() {
  // layer_norm_c1
  if (rankOf(getInput()) == 0)
    return emitOpError("expected input of rank 1 or more, found 0");
  if (failed(verifyNormParameter(*this, "scale", getScale())) ||
      failed(verifyNormParameter(*this, "bias", getBias())))
    return failure();
  // layer_norm_c4
  if (!(getEpsilon().convertToDouble() >= 0))
    return emitOpError("expected an epsilon of 0 or more, found ") << getEpsilonAttr();
  return success();
}

LogicalResult LayerNormOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getInput(), shapes);
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  // embedding_c1
  if (failed(verifyRank(*this, "table", getTable(), 2)) ||
      failed(verifyElement(*this, "result", getResult(), "table", getTable())))
    return failure();
  SmallVector<int64_t> sizes(shapeOf(getIds()));
  sizes.push_back(sizeOf(getTable(), 1));
  return verifyResultShape(*this, getResult(), sizes); // embedding_c2
}

LogicalResult EmbeddingOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<std::pair<Value, int64_t>> sources;
  for (int64_t dim = 0; dim < rankOf(getIds()); ++dim)
    sources.push_back({getIds(), dim});
  sources.push_back({getTable(), 1});
  shapes = {resultSizes(builder, getLoc(), getResult(), sources)};
  return success();
}
