//===- CpuSchedule.h - schedules shared by the CPU kernels ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops from the outside in: a query block is a parallel task; for each KV block, scores and
// context are summed in register tiles.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_CPUSCHEDULE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_CPUSCHEDULE_H

#include "MergedSplits.h"

namespace mlir::attn {

/// Schedules the funcs of one kernel.
class CpuSchedule {
public:
  /// A register tile of the context has `contextRows` rows.
  CpuSchedule(const AttentionBlocks &blocks, const BlockedColumns &columns, int64_t lanes,
              int64_t contextRows)
      : blocks(blocks), p(blocks.p), columns(columns), lanes(lanes), contextRows(contextRows) {}

  void computeInQBlock(Func f) { computeInQBlock(f, qBlockLoop); }
  /// The same in loop `at` over query blocks; of one head alone if `isOfHead`.
  void computeInQBlock(Func f, Loop at, bool isOfHead = false);
  void computeInKvBlock(Func f) { computeInKvBlock(f, kvBlockLoop); }
  /// The same in loop `at` over KV blocks.
  void computeInKvBlock(Func f, Loop at);
  /// The same for an element of the softmax for each row. The online step reads whole vectors of a
  /// group's rows, also behind the last row.
  void computeStateInKvBlock(Func f);
  /// Vectorizes dimension 0 of extent `rows`; the caller schedules the loop over vectors and the
  /// other loops.
  std::pair<Loop, Loop> splitRows(Func f, Loop loop, int64_t rows);

  /// A register tile, computed at `at`: `extent` elements of the first variable, vectorized, by
  /// `otherExtent` of `other`, all unrolled. In the update, `reduction` is the outermost loop,
  /// which is returned.
  struct RegisterTile {
    StringRef first;
    int64_t extent;
    StringRef other;
    int64_t otherExtent;
    StringRef reduction;
  };
  Loop scheduleRegisterTile(Func f, Loop at, const RegisterTile &registers);
  /// Splits a loop over the keys of a KV block, so many in an iteration, into runs of `keysOfRun`;
  /// returns the loop over those of a run.
  Loop splitIntoRuns(Loop keys, int64_t keysOfIteration);

  /// Splits the output into query blocks; returns the loop over them.
  Loop scheduleOutput(Func context);
  /// Schedules the output and what merges KV splits: one task per query block, or per split of one.
  void scheduleTasks(Func context, const MergedSplits &splits);
  /// Schedules the keys that a query block visits, in a loop over query blocks.
  void scheduleKeys(const VisitedKeys &keys, Loop at);
  /// Schedules what a query block reads of its keys: their head, and their first packed row.
  void scheduleKvHead(Func kvHead, Func start);
  /// Schedules the look-up of each key of a KV block, if there is one.
  void schedulePages(const KvReader &reader);
  /// Schedules the loop over the `count` dims of a copied row of a key or value, `vector` at once.
  void scheduleCopiedRow(Loop dims, int64_t count, int64_t vector);
  /// Schedules the scales of a KV block, if there are any.
  void scheduleScales(const KvReader &reader);
  /// Schedules the accumulator, of one KV block or online, and its producers. `inTiles`: products
  /// of a KV block are computed at once.
  void scheduleAccumulator(Func acc, const KvBlockContext &context, bool isOneKvBlock,
                           bool inTiles);
  /// Schedules the products of a KV block's keys by halide.dot_bf16_tiles, whose loops are
  /// innermost.
  void scheduleTiles(Func f, ArrayRef<StringRef> loops);
  /// Schedules the largest magnitudes and the sums of the second pass; returns the loop over KV
  /// blocks, at which its scores are computed.
  Loop scheduleSecondContext(const SecondPass &pass);
  /// Schedules the score funcs of the second pass.
  void computeInSecondKvBlock(ArrayRef<Func> funcs, Loop at);

  const AttentionBlocks &blocks;
  PipelineBuilder &p;
  const BlockedColumns &columns;
  int64_t lanes, contextRows;
  /// In the loop over a run of so many keys, addresses of prefetches take no division.
  int64_t keysOfRun = 1;
  /// Loops at which funcs are computed.
  Loop qBlockLoop, kvBlockLoop;
  /// The loop over KV blocks around that over interleaved heads.
  Loop sharedKvBlockLoop;

private:
  Loop schedulePackedOutput(Func context);
  void scheduleSplits(const MergedSplits &splits, Loop merging);
  Loop scheduleUsedSplit(Func partial);
  Loop scheduleOnlineUpdate(Func acc);
  void scheduleTileContext(const KvBlockContext &context);
  void scheduleContextInRegisters(const KvBlockContext &context, Loop group);
  void scheduleValueCopy(Func copy, int64_t keysOfElement);
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_CPUSCHEDULE_H
