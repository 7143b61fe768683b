//===- Matmul.cpp - products of matrices ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sums.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

/// The operand's matrix for the result's matrix at `front`.
static const Scalar *getMatrix(const Array &array, ArrayRef<int64_t> front) {
  int64_t linear = 0;
  ArrayRef<int64_t> sizes = ArrayRef(array.shape).drop_back(2);
  for (auto [size, index] : llvm::zip_equal(sizes, front.take_back(sizes.size())))
    linear = linear * size + (size == 1 ? 0 : index);
  int64_t rank = array.getRank();
  return array.values.data() + linear * array.shape[rank - 2] * array.shape[rank - 1];
}

static LogicalResult evaluate(MatmulOp op, Environment &env) {
  const Array &left = env.get(op.getLeft()), &right = env.get(op.getRight());
  int64_t width = left.shape.back(), columns = right.shape.back();
  Array result(left.elementType, env.getResultShape(op));
  forEachIndex(result.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    ArrayRef<int64_t> front = at.drop_back(2), place = at.take_back(2);
    // A matrix product of BLAS: one sum for each element.
    result.values[linear].real =
        dot(env, getMatrix(left, front) + place[0] * width, 1, getMatrix(right, front) + place[1],
            columns, width, /*numSums=*/1);
  });
  return env.set(op.getResult(), std::move(result));
}

void reference::addMatmul(Evaluators &evaluators) { evaluators.add<MatmulOp>(::evaluate); }
