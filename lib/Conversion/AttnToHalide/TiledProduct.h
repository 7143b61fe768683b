//===- TiledProduct.h - matrix products in register tiles -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of operands that are both computed: products that are neither linear layers nor parts of a fused
// attention.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_TILEDPRODUCT_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_TILEDPRODUCT_H

#include "Rows.h"

namespace mlir::attn {

/// A batch of products. Coordinates are innermost dimension first.
struct MatrixProduct {
  RankedTensorType result;
  /// Operands whose two innermost dimensions are matrices; `isRightTransposed`: the right one's are
  /// (index of the sum, column), as those of keys.
  Func left, right;
  bool isRightTransposed;
  /// The outer coordinates of an operand, of all coordinates of the result.
  function_ref<SmallVector<Scalar>(ArrayRef<Scalar> at)> leftOuter, rightOuter;
  /// Of an element of `left` as it is stored, and one of `right` in the type of sums.
  function_ref<Scalar(Scalar left, Scalar right, Scalar index)> multiply;
  /// The result's element of a sum.
  function_ref<Scalar(Scalar sum)> finish;
  /// Longer sums are sums of sums.
  int64_t longestSum = kLongestSum;
};

/// Builds and schedules the pipeline of a product.
void buildMatrixProduct(PipelineBuilder &p, const MatrixProduct &product, const CpuInfo &cpu);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_TILEDPRODUCT_H
