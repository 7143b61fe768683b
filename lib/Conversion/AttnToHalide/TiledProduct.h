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

/// A batch of products. Coordinates are innermost dimension first; `at` are those of the result:
/// column, row, outer ones. Elements are of the type of sums.
struct MatrixProduct {
  RankedTensorType result;
  /// The extents of rows, columns and sums.
  Scalar rows, columns, depth;
  /// The left operand's element at a row, outer dimensions and an index of the sum.
  function_ref<Scalar(ArrayRef<Scalar> at, Scalar index)> left;
  /// The right operand's element at its own coordinates: column, index, outer ones.
  Body right;
  int64_t rightRank;
  /// The right operand's outer coordinates.
  function_ref<SmallVector<Scalar>(ArrayRef<Scalar> at)> rightOuter;
  /// Whether `right` reads columns side by side in memory.
  bool hasRightRows;
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
