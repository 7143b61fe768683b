//===- LaneSquare.h - sums of lanes, as many at a time ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_LANESQUARE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_LANESQUARE_H

#include "AttentionBlocks.h"

namespace mlir::attn {

/// Adds up the lanes of partial sums, for as many keys of a row as there are lanes at a time: the
/// halves of what is left of a sum in each step, as a vector of one sum alone would. Vectors hold
/// several sums then. Those of 4 neighbouring keys are in different vectors at the same place, so
/// that steps below 4 elements shuffle within 128 bits, and leave the sums in the keys' order.
class LaneSquare {
public:
  /// Null.
  LaneSquare() = default;
  /// `partial` is over (j, ii, k, c, it, h, b), with a sum's lanes along j.
  LaneSquare(PipelineBuilder &p, Func partial, int64_t lanes, StringRef name);

  explicit operator bool() const { return lanes != 0; }

  /// The sum of row ii and key k; `v` is (ii, k, c, it, h, b).
  Scalar sum(ArrayRef<Scalar> v) const;
  /// Schedules the steps, in registers, but for `stored`.
  void schedule(const AttentionBlocks &blocks, Loop at) const;

  /// The partial sums in memory, which a step reads at two places.
  Func stored;

private:
  int64_t lanes = 0;
  /// Over (e, n, w, …): element e of what is left of key 4n + w.
  SmallVector<Func> halves;
  /// Over (e, v, n, g, …): element e of the two left of key 4n + 2g + v.
  Func pairs;
  /// Over (m, …): of key m.
  Func sums;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_LANESQUARE_H
