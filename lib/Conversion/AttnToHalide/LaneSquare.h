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

/// Adds up the lanes of the partial sums of dot products, for as many keys of a row at a time as
/// there are lanes. Each step adds the halves of what is left of every sum. The sums of 4
/// neighbouring keys lie at one place of 4 vectors: steps below 4 elements shuffle within 128 bits,
/// and leave the sums in the order of the keys.
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
