//===- Rows.h - what pipelines over the rows of a tensor share --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors lie along dimension 0, the innermost; rows are computed in parallel.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ROWS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ROWS_H

#include "PipelineBuilder.h"

#include "attnc/Machine/CpuInfo.h"

namespace mlir::attn {

/// Dimensions that a tensor may have: as many as there are names of variables.
constexpr int64_t kMaxRank = 8;

/// Names for the dimensions of a tensor of any rank up to `kMaxRank`.
SmallVector<StringRef> varNames(int64_t rank);
/// The same for those that are reduced.
SmallVector<StringRef> reductionNames(int64_t count);
RankedTensorType tensorType(Value v);
int64_t lanesFor(const CpuInfo &cpu, Type elementType);
/// Whether a tensor may have no rows: kernels read the last one.
bool mayLackRows(RankedTensorType tensor);

/// The error of a running sum grows with the number of what is added up: more than so many are
/// added up in parts.
constexpr int64_t kLongestSum = 128;
/// The fewest equal parts, which leave no tail, of at most `longest` elements each; none where
/// there are only far more.
std::optional<int64_t> countEqualParts(int64_t extent, int64_t longest);
/// The length of a part of so many elements: `longest` or less; 0 where one sum will do.
int64_t getPartLength(Scalar extent, int64_t longest = kLongestSum);

/// The loops of a scheduled output that a producer can be computed at.
struct OutputLoops {
  /// The loop over rows, null for rank 0 and 1.
  Loop row;
};

/// Schedules an output: vectors along dimension 0, parallel over the others.
OutputLoops scheduleOutput(PipelineBuilder &p, Func f, int64_t lanes);
/// An output of which `body` gives each element, scheduled.
void buildOutput(PipelineBuilder &p, StringRef name, RankedTensorType type, int64_t lanes,
                 Body body);
/// Computes a func inside a row of the output, or before it where it has no rows.
void computeAtRow(PipelineBuilder &p, Func f, const OutputLoops &at);
/// Schedules a row accumulator: the reduction outside, dimension 0 in vectors inside.
void scheduleRowReduction(PipelineBuilder &p, Func acc, const OutputLoops &at, int64_t lanes);
/// The same for a sum over `extent`: in parts where that is long.
void scheduleRowSum(PipelineBuilder &p, Func sum, Scalar extent, const OutputLoops &at,
                    int64_t lanes, int64_t longest = kLongestSum);
/// Schedules a sum over `extent` along dimension 0 of something: as many partial sums as lanes,
/// each in parts where it is long.
void scheduleSumAlongRow(PipelineBuilder &p, Func sum, Scalar extent, const OutputLoops &at,
                         int64_t lanes);

/// An operand of an attn.map at the result's coordinates: a static size of 1 is repeated.
Scalar readBroadcast(PipelineBuilder &p, Func in, Value tensor, ArrayRef<Scalar> coords);

/// Coordinates with `r` along `axis`, and without what is there.
SmallVector<Scalar> along(ArrayRef<Scalar> rest, int64_t axis, Scalar r);
SmallVector<Scalar> without(ArrayRef<Scalar> coords, int64_t axis);

/// A func over every dimension but `axis` that combines the elements along it.
Func reduceAlong(PipelineBuilder &p, StringRef name, Func f, int64_t axis, Scalar extent,
                 Number init, function_ref<Scalar(Scalar, Scalar)> combine);

/// Splits the sum of an update over `reduction` into as many partial sums as lanes, which
/// come before it; returns these, and the loop that adds them up.
std::pair<Func, Loop> splitIntoLanes(PipelineBuilder &p, Loop reduction, int64_t lanes);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ROWS_H
