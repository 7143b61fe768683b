//===- MergedSplits.h - results of KV splits merged -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_MERGEDSPLITS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_MERGEDSPLITS_H

#include "AttentionContext.h"

namespace mlir::attn {

/// The partial result of each KV split of a query block on a CPU, and their merge. All are null
/// without splits.
struct MergedSplits {
  explicit operator bool() const { return bool(Value(partial)); }
  /// Value dim d of row ii of the merged query block `t`.
  Quotient at(Scalar d, Scalar ii, const BlockCoords &t) const {
    return {merged(d, ii, t.it, t.h, t.b), inverse(ii, t.it, t.h, t.b)};
  }

  /// Weighted sum of values, sum of numerators and maximum of each split; the maximum over a row's
  /// splits; their sums rescaled to it; the reciprocal of the sum of numerators.
  Func partial, top, merged, inverse;
  /// If the mask may leave splits without keys: the number of those that have some, by
  /// buildUsedSplits, and the partial result of one of them. `partial` copies it under that
  /// condition, and Halide skips what is read under a condition alone, with all that is computed in
  /// its loops.
  Func used, ofUsed;
};

/// `sumAt` gives the weighted sum of value dim d in a KV split. Stores the lse, if the op has one.
MergedSplits
buildMergedSplits(const QBlockMask &mask, const Numerators &numerators, const RowState &row,
                  const LseOutput &lse,
                  function_ref<Scalar(Scalar d, Scalar ii, const BlockCoords &t)> sumAt);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_MERGEDSPLITS_H
