//===- Rows.h - schedules of pipelines over a tensor's rows -----*- C++ -*-===//
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

/// Highest rank of a tensor: the number of variable names.
constexpr int64_t kMaxRank = 8;

/// Names for the dimensions of a tensor of any rank up to `kMaxRank`.
SmallVector<StringRef> varNames(int64_t rank);
/// Names for reduced dimensions.
SmallVector<StringRef> reductionNames(int64_t count);
/// The reduction over all elements of a tensor.
SmallVector<Reduction> reduceAll(PipelineBuilder &p, Func tensor);
RankedTensorType tensorType(Value v);
int64_t lanesFor(const CpuInfo &cpu, Type elementType);
/// Whether a tensor may have no rows: kernels read the last one.
bool mayLackRows(RankedTensorType tensor);

/// Longest sum accumulated serially; longer sums are blocked to bound the rounding error.
constexpr int64_t kLongestSum = 128;
/// The smallest number of equal blocks of at most `longest` elements, without a tail; none if it is
/// more than twice ceil(extent / longest).
std::optional<int64_t> countEqualBlocks(int64_t extent, int64_t longest);
/// The block length for a sum over `extent`: at most `longest`; 0 if no blocking is needed.
int64_t getBlockLength(Scalar extent, int64_t longest = kLongestSum);

/// Loops of a scheduled output at which producers can be computed.
struct OutputLoops {
  /// The loop over rows, null for rank 0 and 1.
  Loop row;
};

/// Schedules an output: vectors along dimension 0, parallel over the others.
OutputLoops scheduleOutput(PipelineBuilder &p, Func f, int64_t lanes);
/// Builds and schedules an output; `body` computes an element.
void buildOutput(PipelineBuilder &p, StringRef name, RankedTensorType type, int64_t lanes,
                 Body body);
/// Where a row goes in an output, and whether it goes there.
struct ScatteredRow {
  SmallVector<Scalar> coords;
  Scalar where;
};
/// Builds and schedules an output whose rows at `placeOf` are those of `rows`, of rank 4; what its
/// buffer holds elsewhere stays. No two rows go to one place.
void buildScattered(PipelineBuilder &p, Func rows, RankedTensorType type, int64_t lanes,
                    function_ref<ScatteredRow(ArrayRef<Scalar> coords)> placeOf);
/// Computes a func inside a row of the output, or at root if the output has no rows.
void computeAtRow(PipelineBuilder &p, Func f, const OutputLoops &at);
/// Schedules a row accumulator: the reduction outside, dimension 0 in vectors inside.
void scheduleRowReduction(PipelineBuilder &p, Func acc, const OutputLoops &at, int64_t lanes);
/// The same for a sum over `extent`, blocked if it is long.
void scheduleRowSum(PipelineBuilder &p, Func sum, Scalar extent, const OutputLoops &at,
                    int64_t lanes, int64_t longest = kLongestSum);
/// How the lanes of a sum are added up. By halves a large term meets few roundings; one after the
/// other takes fewer stages, for terms of like size.
enum class LaneOrder { byHalves, sequential };

/// Schedules a sum over `extent` along dimension 0: one partial sum per lane, blocked if it is
/// long.
void scheduleSumAlongRow(PipelineBuilder &p, Func sum, Scalar extent, const OutputLoops &at,
                         int64_t lanes, LaneOrder order);

/// The coordinates of an operand that broadcasts to a result: a static size of 1 is repeated.
SmallVector<Scalar> broadcastTo(PipelineBuilder &p, Value operand, ArrayRef<Scalar> result);
/// Such an operand at the result's coordinates.
Scalar readBroadcast(PipelineBuilder &p, Func in, Value tensor, ArrayRef<Scalar> coords);

/// `along`: coordinates with `r` inserted at `axis`. `without`: coordinates without the one at
/// `axis`.
SmallVector<Scalar> along(ArrayRef<Scalar> rest, int64_t axis, Scalar r);
SmallVector<Scalar> without(ArrayRef<Scalar> coords, int64_t axis);

/// A func over every dimension but `axis` that combines the elements along it.
Func reduceAlong(PipelineBuilder &p, StringRef name, Func f, int64_t axis, Scalar extent,
                 Number init, function_ref<Scalar(Scalar, Scalar)> combine);

/// The largest or least elements along dimension 0, NaN if one is: of each lane, of halves of the
/// lanes, and of all. Halide doesn't know that these may be combined in any order.
struct RowExtremes {
  int64_t lanes;
  SmallVector<Func> ofLanes;
  Func result;
  /// Whether elements behind the last vector are combined by an update of the result.
  bool hasTail;
};
RowExtremes buildRowExtremes(PipelineBuilder &p, StringRef name, Func f, Scalar extent, Scalar init,
                             function_ref<Scalar(Scalar, Scalar)> combine, int64_t lanes);
/// Vectorizes the lanes; `place` says where they are computed.
void scheduleRowExtremes(PipelineBuilder &p, const RowExtremes &extremes,
                         function_ref<void(Func)> place);

/// Partial sums, one per lane; the sums of a block of them, null without blocks; and the loop that
/// adds the lanes up.
struct LaneSums {
  Func partial, ofBlock;
  Loop lane;
};

/// Splits the sum of an update over `reduction` into one partial sum per lane, in blocks of
/// `length` unless that is 0. Dimensions in `tile` are unrolled inside the reduction, others are
/// loops outside.
LaneSums splitIntoLanes(PipelineBuilder &p, Loop reduction, int64_t lanes, int64_t length = 0,
                        ArrayRef<int64_t> tile = {});

/// Combines the lanes of partial sums by halves: one after the other, each would err by a rounding.
/// `place` says where each half is computed.
void combineLanes(PipelineBuilder &p, Loop lane, int64_t lanes, function_ref<void(Func)> place);

/// Schedules a register tile of sums over `extent` at a loop: partial sums of lanes, in blocks of
/// `longest` vectors if there are more, and what adds them up. `tile` is dimensions and their
/// extents.
void scheduleSumsOfLanes(PipelineBuilder &p, Func sum, Scalar extent, Loop at, int64_t lanes,
                         ArrayRef<std::pair<int64_t, int64_t>> tile, int64_t longest);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ROWS_H
