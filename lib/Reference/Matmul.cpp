//===- Matmul.cpp - products of matrices ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttnOps.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

/// Broadcasts an operand's batch sizes into `front`. The types say which sizes of 1 are repeated.
static LogicalResult broadcastFront(MatmulOp op, Value operand, const Array &array,
                                    SmallVectorImpl<int64_t> &front) {
  ArrayRef<int64_t> known = cast<RankedTensorType>(operand.getType()).getShape();
  size_t rank = known.size() - 2;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t &wanted = front[front.size() - rank + dim];
    if (known[dim] == 1)
      continue;
    if (!ShapedType::isDynamic(wanted) && wanted != array.shape[dim])
      return op.emitError("expected sizes in front to be equal, found ")
             << wanted << " and " << array.shape[dim];
    wanted = array.shape[dim];
  }
  return success();
}

/// The operand's matrix for the result's matrix at `front`.
static const Scalar *getMatrix(const Array &array, ArrayRef<int64_t> front) {
  int64_t linear = 0;
  ArrayRef<int64_t> sizes = ArrayRef(array.shape).drop_back(2);
  for (auto [size, index] : llvm::zip_equal(sizes, front.take_back(sizes.size())))
    linear = linear * size + (size == 1 ? 0 : index);
  int64_t rank = array.getRank();
  return array.values.data() + linear * array.shape[rank - 2] * array.shape[rank - 1];
}

LogicalResult reference::evaluate(MatmulOp op, Environment &env) {
  const Array &left = env.get(op.getLeft()), &right = env.get(op.getRight());
  int64_t rows = left.shape[left.getRank() - 2], width = left.shape.back(),
          columns = right.shape.back();
  SmallVector<int64_t> shape(std::max(left.getRank(), right.getRank()) - 2, ShapedType::kDynamic);
  if (failed(checkSize(op, "rows of the right side", width, right.shape[right.getRank() - 2])) ||
      failed(broadcastFront(op, op.getLeft(), left, shape)) ||
      failed(broadcastFront(op, op.getRight(), right, shape)))
    return failure();
  llvm::replace(shape, int64_t(ShapedType::kDynamic), int64_t(1));
  llvm::append_range(shape, ArrayRef<int64_t>{rows, columns});
  Array result(left.elementType, shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    ArrayRef<int64_t> front = at.drop_back(2), place = at.take_back(2);
    // A matrix product of BLAS: one sum for each element.
    result.values[linear].real =
        dot(env, getMatrix(left, front) + place[0] * width, 1, getMatrix(right, front) + place[1],
            columns, width, /*numSums=*/1);
  });
  return env.set(op.getResult(), std::move(result));
}
