//===- MatmulOp.cpp - verifier and sizes of attn.matmul -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

static LogicalResult verifyMatmulResult(MatmulOp op) {
  ArrayRef<int64_t> left = shapeOf(op.getLeft()), right = shapeOf(op.getRight());
  SmallVector<int64_t> sizes(left.drop_back(2));
  // matmul_c4
  if (std::optional<int64_t> dim = broadcastInto(sizes, right.drop_back(2)))
    return op.emitOpError("expected sizes in front to broadcast with ")
           << op.getLeft().getType() << ", found " << op.getRight().getType();
  sizes.push_back(left[left.size() - 2]);
  sizes.push_back(right.back());
  return verifyResultShape(op, op.getResult(), sizes); // matmul_c5
}

LogicalResult MatmulOp::verify() {
  Value left = getLeft(), right = getRight();
  // matmul_c1
  if (failed(verifyElement(*this, "right", right, "left", left)) ||
      failed(verifyElement(*this, "result", getResult(), "left", left)))
    return failure();
  // matmul_c2
  for (auto [operand, name] : {std::pair(left, "left"), {right, "right"}})
    if (rankOf(operand) < 2)
      return emitOpError("expected ") << name << " of rank 2 or more, found " << rankOf(operand);
  // matmul_c3
  if (failed(verifySize(*this, "right rows", sizeOf(right, rankOf(right) - 2), "left's columns",
                        sizeOf(left, rankOf(left) - 1))))
    return failure();
  return verifyMatmulResult(*this);
}

/// A dimension in front has the size of an operand that is not repeated there.
static std::pair<Value, int64_t> findSource(MatmulOp op, int64_t dim) {
  int64_t rank = rankOf(op.getResult());
  Value left = op.getLeft(), right = op.getRight();
  int64_t leftDim = dim - (rank - rankOf(left)), rightDim = dim - (rank - rankOf(right));
  if (dim == rank - 1)
    return {right, rightDim};
  bool isLeft = dim == rank - 2 || rightDim < 0 || (leftDim >= 0 && sizeOf(left, leftDim) != 1);
  return isLeft ? std::pair(left, leftDim) : std::pair(right, rightDim);
}

LogicalResult MatmulOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<std::pair<Value, int64_t>> sources;
  for (int64_t dim = 0; dim < rankOf(getResult()); ++dim)
    sources.push_back(findSource(*this, dim));
  shapes = {resultSizes(builder, getLoc(), getResult(), sources)};
  return success();
}
