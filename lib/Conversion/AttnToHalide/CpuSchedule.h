//===- CpuSchedule.h - schedules that CPUs' kernels share -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the outside in: a tile of rows is a task; a chunk of keys at a time, its scores and its
// part of the context are summed in tiles of registers.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_CPUSCHEDULE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_CPUSCHEDULE_H

#include "AttentionContext.h"

namespace mlir::attn {

/// Schedules funcs of one kernel.
class CpuSchedule {
public:
  /// A register tile of the context has `contextRows` rows.
  CpuSchedule(const AttentionTile &tile, const ContextColumns &columns, int64_t lanes,
              int64_t contextRows)
      : tile(tile), p(tile.p), columns(columns), lanes(lanes), contextRows(contextRows) {}

  void computeInTile(Func f);
  void computeInChunk(Func f);
  /// Vectors along dimension 0, `rows` elements in all; the loop over vectors and the other loops
  /// are the caller's.
  std::pair<Loop, Loop> splitRows(Func f, Loop loop, int64_t rows);

  /// A tile in registers, computed at `at`: vectors along the first variable, `extent` elements in
  /// all, and `otherExtent` of the variable `other`; everything is unrolled, in the update but the
  /// loop over `reduction`, which is outermost, and returned.
  struct RegisterTile {
    StringRef first;
    int64_t extent;
    StringRef other;
    int64_t otherExtent;
    StringRef reduction;
  };
  Loop scheduleRegisterTile(Func f, Loop at, const RegisterTile &registers);

  /// Tiles of the output; returns the loop over all of them.
  Loop scheduleOutput(Func context);
  void scheduleRange(const KeyRange &range, Func chunks, const FullKeys &full);
  void scheduleKvHead(Func kvHead);
  /// The accumulator of one chunk, or of an online kernel, and what it is made of.
  void scheduleAccumulator(Func acc, const ChunkContext &context, bool isOneChunk);
  /// Worst values and sums of the second pass; returns the loop over chunks that its scores are
  /// computed at.
  Loop scheduleSecondContext(const SecondPass &pass);
  /// Funcs of scores in the second pass.
  void computeInSecondChunk(ArrayRef<Func> funcs, Loop at);

  const AttentionTile &tile;
  PipelineBuilder &p;
  const ContextColumns &columns;
  int64_t lanes, contextRows;
  /// What funcs are computed at.
  Loop tileLoop, chunkLoop;

private:
  Loop scheduleOnlineUpdate(Func acc);
  void schedulePaddedValue(Func padded);
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_CPUSCHEDULE_H
