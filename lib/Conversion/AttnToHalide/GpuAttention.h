//===- GpuAttention.h - fused attention on a GPU ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_GPUATTENTION_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_GPUATTENTION_H

#include "AttentionContext.h"

namespace mlir::attn {

/// Layout of the accumulator over threads: a block is a thread's columns, vectors of dims; adjacent
/// threads have adjacent vectors.
class ThreadColumns : public ContextColumns {
public:
  /// Adjacent dims per vector of a thread's columns.
  const int64_t vectorDims;

  ThreadColumns(int64_t valueDim, int64_t block, int64_t threads);
  Scalar dim(Scalar x, Scalar y) const override {
    return x / vectorDims * (vectorDims * numBlocks) + y * vectorDims + x % vectorDims;
  }
  Scalar column(Scalar d) const override {
    return d / (vectorDims * numBlocks) * vectorDims + d % vectorDims;
  }
  Scalar blockOf(Scalar d) const override { return d % (vectorDims * numBlocks) / vectorDims; }
  /// The columns of a row's state.
  int64_t sumColumn() const { return block; }
  int64_t maxColumn() const { return block + 1; }
  int64_t sinkColumn() const { return block + 2; }
  /// The value dim, clamped: threads may have more columns than value_dim.
  Scalar safeDim(Scalar d) const { return isWhole() ? d : min(d, valueDim - 1); }
};

/// The kernel of one schedule: the algorithm is in GpuAttention.cpp, the schedule in
/// GpuSchedule.cpp.
class GpuAttention {
public:
  GpuAttention(PipelineBuilder &p, AttentionOp op, GpuAttr s);
  LogicalResult lower();

private:
  /// Each thread has its own copy of a row's maximum; sums are shared.
  class ThreadState : public RowState {
  public:
    explicit ThreadState(const GpuAttention &kernel) : kernel(kernel) {}
    Scalar sum(Scalar ii, const BlockCoords &t) const override;
    Scalar maximum(Scalar k, Scalar ii, const BlockCoords &t) const override;

  private:
    const GpuAttention &kernel;
  };

  // GpuAttention.cpp
  void buildScores();
  Func combineOwnKeys(StringRef name, Func f, double init, Combine combine);
  void buildSoftmax();
  void buildProduct();
  void buildAccumulator();
  void buildLargest();
  void buildSecondPass();
  Scalar keepQuery(Scalar x, Scalar ii, const BlockCoords &t);
  void buildPartial();
  Quotient divide(Scalar sum, Scalar ii, const BlockCoords &t, const RowSum &row);
  Quotient mergeSplits(Scalar d, Scalar ii, const BlockCoords &t);
  Quotient divideSum(Scalar d, Scalar ii, const BlockCoords &t);
  using QuotientAt = function_ref<Quotient(Scalar d, Scalar ii, const BlockCoords &t)>;
  void buildInverse(QuotientAt quotientAt);
  void buildOutput();
  /// Whether blocks store their accumulators, which a second kernel merges.
  bool hasMergeKernel() const { return blocks.splits.isSplit() || blocks.packedHeads != 1; }

  // GpuSchedule.cpp
  void schedule();
  void scheduleOutput();
  void schedulePackedOutput();
  void schedulePartial();
  void scheduleKvBlocks();
  void scheduleQuery();
  void scheduleScores();
  void scheduleSoftmax();
  void scheduleInverse();
  void scheduleContext();
  void scheduleSecondPass();
  void mapToGrid(Func f, StringRef inner, ArrayRef<StringRef> outer,
                 std::optional<int64_t> update = {});
  void mapToBlocks(ArrayRef<Loop> grid);
  void spreadOutput(Loop dims, Loop rows, ArrayRef<Loop> grid);
  void storeInShared(Func f, Loop at, bool perKvBlock);
  void stageInShared(Func f, StringRef x, int64_t width);
  Loop spread(Func f, int64_t width, StringRef x, StringRef y);
  void spreadRows(Func f);
  std::pair<Loop, Loop> splitRowsOfThreads(Loop rows);
  void storeInRegisters(Func f, Loop at, bool perKvBlock);
  void boundColumns(Func f, int64_t columns);
  void spreadColumns(Loop x, Loop y, Loop ii, ArrayRef<Loop> inner = {}, ArrayRef<Loop> outer = {});
  void spreadScores(Func f, StringRef key, std::optional<int64_t> update = {},
                    StringRef inner = "");
  void keepRows(Func f, StringRef key, int64_t width);
  void shareOfRows(Func f, StringRef x, int64_t width, Loop at);
  void combineThreads(Func ofThreads, Func all, Loop at);

  PipelineBuilder &p;
  GpuAttr s;
  /// A block's threads.
  int64_t threadsX, threadsY;
  AttentionInputs in;
  AttentionBlocks blocks;
  ThreadColumns columns;
  /// Columns of the accumulator: the context's, the sum and the maximum.
  int64_t width;
  MaskAnalysis mask;
  QBlockMask qBlockMask;
  AttentionRegions regions;
  Numerators numerators;
  LseOutput lse;
  ThreadState row;

  KeyRange range;
  Func kvBlocks;
  std::optional<KvReader> reader;
  std::optional<ScoreSteps> steps;
  Func query, wideKey;
  DotProduct dot;
  Func score;
  KvBlockSoftmax softmax;
  /// The values of a KV block in shared memory, and each thread's sums of a query block.
  Func stagedValue, product, acc, sumOfThread, sum;
  SecondPass second;
  /// The partial result of each KV split; null without splits.
  Func partial;
  /// Null unless packed rows have an lse.
  Func inverse;
  Func context;

  /// Loops at which funcs are computed.
  Loop qBlockLoop, kvBlockLoop;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_GPUATTENTION_H
