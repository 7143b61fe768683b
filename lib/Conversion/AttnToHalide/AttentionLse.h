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

/// Which row of the query.
struct RowPlace {
  /// Row ii of a tile, whose keys, or a split of them, `t` is.
  static RowPlace inTile(const AttentionTile &tile, Scalar ii, const TileCoords &t);
  /// The same, where splits are merged.
  static RowPlace inMergedTile(const AttentionTile &tile, Scalar ii, const TileCoords &t);

  Scalar row, head, batch;
};

/// The sum of a row's numerators and the maximum that they are to, of the keys alone.
struct RowSum {
  Scalar total, maximum = {};
};

/// The lse of all rows, an output whose elements are stored where a row's sum is known.
class LseOutput {
public:
  LseOutput(const AttentionTile &tile, const Numerators &numerators);

  /// Whether the op has an lse.
  explicit operator bool() const { return bool(Value(lse)); }
  Func getFunc() const { return lse; }

  /// Makes it an output, where there is one.
  void addOutput() const;
  /// 1 / total, the sink included.
  Scalar reciprocal(const RowPlace &place, const RowSum &sum) const;
  /// `x`; beside it, the lse of the row becomes NaN where `score` is: of a row whose maximum is
  /// inf the sum does not tell.
  Scalar markNaN(Scalar x, const RowPlace &place, Scalar score) const;
  /// `x`; where `where` holds, or always, the lse of the row is stored beside it.
  Scalar storeBeside(Scalar x, const RowPlace &place, const RowSum &sum, Scalar where = {}) const;

private:
  Scalar at(const RowPlace &place) const;
  Scalar getLse(const RowSum &sum, Scalar marked) const;

  const AttentionTile &tile;
  const Numerators &numerators;
  Func lse;
};

/// The reciprocal of each row's sum of numerators; the lse is stored beside it, where there is one.
Func buildInverse(const AttentionTile &tile, const Numerators &numerators, const RowState &row,
                  const LseOutput &lse);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLSE_H
