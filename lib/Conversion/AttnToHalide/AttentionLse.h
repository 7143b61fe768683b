//===- AttentionLse.h - the lse beside the context --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLSE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLSE_H

#include "AttentionSoftmax.h"

namespace mlir::attn {

/// The coordinates of a query row.
struct RowPlace {
  /// Row ii of the query block or KV split `t`.
  static RowPlace inBlock(const AttentionBlocks &blocks, Scalar ii, const BlockCoords &t);
  /// Row ii of the query block `t`, once its splits are merged.
  static RowPlace inMergedBlock(const AttentionBlocks &blocks, Scalar ii, const BlockCoords &t);

  Scalar row, head, batch;
  /// The row's place in the lse, and whether there is one; null if the row itself is its place.
  Scalar stored = {}, exists = {};
};

/// The sum of a row's numerators and the maximum that they are relative to, without the sink.
struct RowSum {
  Scalar total, maximum = {};
};

/// The lse of all rows: an output whose elements are stored when a row's sum is known.
class LseOutput {
public:
  LseOutput(const AttentionBlocks &blocks, const Numerators &numerators);

  /// Whether the op has an lse.
  explicit operator bool() const { return bool(Value(lse)); }
  Func getFunc() const { return lse; }

  /// Adds it to the pipeline's outputs, if the op has one.
  void addOutput() const;
  /// 1 / total, the sink included.
  Scalar reciprocal(const RowPlace &place, const RowSum &sum) const;
  /// Returns `x`; sets the lse of the row to NaN if `score` is NaN, which the sum of a row with
  /// maximum inf does not show.
  Scalar markNaN(Scalar x, const RowPlace &place, Scalar score) const;
  /// Returns `x`; stores the lse of the row if `where` holds, or always without `where`.
  Scalar storeBeside(Scalar x, const RowPlace &place, const RowSum &sum, Scalar where = {}) const;

private:
  Scalar at(const RowPlace &place) const;
  Scalar getLse(const RowSum &sum, Scalar marked) const;

  const AttentionBlocks &blocks;
  const Numerators &numerators;
  Func lse;
};

/// The reciprocal of each row's sum of numerators; stores the lse with it, if the op has one.
Func buildInverse(const AttentionBlocks &blocks, const Numerators &numerators, const RowState &row,
                  const LseOutput &lse);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLSE_H
