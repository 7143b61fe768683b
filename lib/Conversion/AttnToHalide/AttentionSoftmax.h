//===- AttentionSoftmax.h - the softmax of fused attention ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H

#include "AttentionScores.h"

namespace mlir::attn {

/// Probs below 2^kMinProbExponent, the smallest normal f32, are 0.
constexpr double kMinProbExponent = -126;
/// The smallest nonzero numerator: the smallest normal f32.
constexpr double kMinNumerator = std::numeric_limits<float>::min();

/// Softmax numerators: 2^(score - maximum), in base 2. Exactly 0 for a masked key, NaN for a NaN
/// score.
class Numerators {
public:
  /// 2^x: exactly 0 for small x and for -inf, exact for whole numbers, NaN for NaN.
  using Exp2 = Scalar (*)(Scalar x, bool besideSink);

  Numerators(const AttentionInputs &in, Exp2 exp2);

  /// The exponent in base 2. The maximum is subtracted first, before scaling, so that the maximum's
  /// own numerator is exactly 1.
  Scalar exponent(Scalar score, Scalar maximum) const;
  Scalar get(Scalar score, Scalar maximum) const;

  /// Factors that rescale sums of numerators relative to an old and a new maximum to the larger.
  struct Rescaling {
    Scalar maximum, ofOld, ofNew;
  };
  /// One of the factors is 1: a single power is computed.
  Rescaling rescale(Scalar oldMax, Scalar newMax) const;

  /// The numerator of a sink relative to the keys' maximum: inf if all keys underflow beside it,
  /// NaN if the sink is infinite or NaN.
  Scalar getSink(Scalar sink, Scalar maximum) const;

  /// 1 / total; 0 if no key is visible, or if the prob region turns NaN into 0. If only the sum may
  /// be NaN, 1 keeps the result of the second pass.
  Scalar reciprocal(Scalar total) const;
  /// Whether a row's sum may be NaN although its context is not: with a sink and no visible key, or
  /// with a prob region that zeroes probs.
  bool mayHaveNaNSum() const;

  const AttentionInputs &in;

private:
  Exp2 exp2;
  /// Converts differences of scores to exponents in base 2.
  double log2Scale;
};

/// For CPU vectors: numerators below 2^-80 are 0, since denormal products are slow and lost in the
/// sum anyway.
Scalar cpuExp2(Scalar x, bool besideSink);
Scalar gpuExp2(Scalar x, bool besideSink);

/// The funcs of a KV block's softmax. On a GPU there is no `sum`: each thread keeps its partial
/// sums.
struct KvBlockSoftmax {
  Func partialMax, maximum, numerators, partialSum, sum;
  /// The numerators after the prob region.
  Func modified;
  /// The same of two keys each, rounded to bf16; null if products don't take pairs.
  Func pairs;
  /// Whether the sum is of pairs: without a prob region, `numerators` are then not stored.
  bool sumsPairs = false;
};

using Combine = Scalar (*)(Scalar, Scalar);

/// Reduces the keys of a KV block for each row, in `numAccumulators` independent accumulators.
/// An element of `f` stands for `keysOfElement` keys.
Func combineKeys(const KvReader &reader, StringRef name, Func f, double init, Combine combine,
                 int64_t numAccumulators, int64_t keysOfElement = 1);
/// Combines the accumulators of each row.
Func combinePartials(PipelineBuilder &p, StringRef name, Func partial, Combine combine,
                     int64_t numAccumulators,
                     function_ref<Scalar(Scalar, ArrayRef<Scalar>)> finish = {});
/// The numerators of a KV block's scores, relative to the KV block's maximum.
Func buildNumerators(const Numerators &numerators, Func score, Func maximum);
/// The numerators after the prob region.
Func buildModified(const AttentionBlocks &blocks, const ScoreSteps &steps, Func numerators);

/// The softmax of a KV block in a CPU's lanes.
KvBlockSoftmax buildKvBlockSoftmax(const KvReader &reader, const ScoreSteps &steps,
                                   const Numerators &numerators, Func score,
                                   int64_t numAccumulators, Products products = Products::f32);

/// Layout of an accumulator row: value dims in blocks of columns. State columns hold the sum, the
/// maximum, and, if a sink is added last, 0 or the NaN of an infinite or NaN sink.
class ContextColumns {
public:
  /// Blocks whose state columns begin at column `state`, and the context at column `first`.
  ContextColumns(int64_t valueDim, int64_t block, int64_t numBlocks, int64_t state, int64_t first)
      : valueDim(valueDim), block(block), numBlocks(numBlocks), state(state), first(first) {}
  virtual ~ContextColumns() = default;

  /// The value dim of column x of block y; the column and block of a value dim.
  virtual Scalar dim(Scalar x, Scalar y) const = 0;
  virtual Scalar column(Scalar d) const = 0;
  virtual Scalar blockOf(Scalar d) const = 0;

  bool isWhole() const { return valueDim == numBlocks * block; }
  int64_t sumColumn() const { return state; }
  int64_t maxColumn() const { return state + 1; }
  virtual int64_t sinkColumn() const { return state + 2; }

  const int64_t valueDim, block, numBlocks, state, first;
};

/// Blocks of adjacent value dims behind vectors of state columns, which the first block alone uses.
/// Two of them hold what the last online step rescaled by, which the columns of all blocks read.
class BlockedColumns : public ContextColumns {
public:
  using ContextColumns::ContextColumns;
  /// Blocks of at most `vectors` vectors of `lanes` value dims; `isOnline`: with state columns.
  static BlockedColumns ofVectors(int64_t valueDim, int64_t lanes, int64_t vectors,
                                  bool isOnline = true);
  Scalar dim(Scalar x, Scalar y) const override { return y * block + x; }
  Scalar column(Scalar d) const override { return d % block + first; }
  Scalar blockOf(Scalar d) const override { return d / block; }
  int64_t oldFactorColumn() const { return state + 2; }
  int64_t newFactorColumn() const { return state + 3; }
  int64_t sinkColumn() const override { return state + 4; }
  static constexpr int64_t kStateColumns = 5;
  int64_t width() const { return first + block; }
};

/// Whether the sink is added after all KV blocks instead of before the first: with an lse, which
/// excludes the sink.
bool isSinkLast(const AttentionInputs &in);
/// The sink's score for a row.
Scalar readSink(const AttentionInputs &in, Scalar row, Scalar head, Scalar batch);

/// The softmax state of a row after all KV blocks.
class RowState {
public:
  virtual ~RowState() = default;
  /// The sum of numerators.
  virtual Scalar sum(Scalar ii, const BlockCoords &t) const = 0;
  /// The maximum; on a GPU, as known to the thread that holds the scores of key k.
  virtual Scalar maximum(Scalar k, Scalar ii, const BlockCoords &t) const = 0;
};

/// The state if one KV block holds all visible keys: without rescaling.
class OneKvBlockState : public RowState {
public:
  OneKvBlockState(PipelineBuilder &p, const KvBlockSoftmax &softmax) : p(p), softmax(softmax) {}
  Scalar sum(Scalar ii, const BlockCoords &t) const override;
  Scalar maximum(Scalar k, Scalar ii, const BlockCoords &t) const override;

private:
  PipelineBuilder &p;
  KvBlockSoftmax softmax;
};

/// The state of online softmax: columns of the accumulator.
class OnlineState : public RowState {
public:
  OnlineState(PipelineBuilder &p, Func acc, const ContextColumns &columns)
      : p(p), acc(acc), columns(columns) {}
  Scalar sum(Scalar ii, const BlockCoords &t) const override;
  Scalar maximum(Scalar k, Scalar ii, const BlockCoords &t) const override;

private:
  PipelineBuilder &p;
  Func acc;
  const ContextColumns &columns;
};

/// The sum of a row's numerators, NaN if a sink is infinite or NaN.
Scalar getSumWithSink(const AttentionBlocks &blocks, const RowState &row, Scalar ii,
                      const BlockCoords &t);

/// Initial value of column x: 0, or the sink, with numerator 1 and value 0. `isCounted` selects
/// which of several sum columns counts the sink.
Scalar startRow(const AttentionBlocks &blocks, const ContextColumns &columns, Scalar x, Scalar ii,
                const BlockCoords &t, function_ref<Scalar(Scalar isSum)> isCounted);

/// Builds the accumulator of a CPU's vectors, from prob·value and the softmax of a KV block. The
/// online step (FlashAttention-2, Dao 2023, algorithm 1) rescales the old columns and the KV
/// block's to the row's new maximum and adds them. The first block's state columns are updated
/// before all context columns.
Func buildRowAccumulator(const AttentionBlocks &blocks, const BlockedColumns &columns,
                         const Numerators &numerators, Func product, const KvBlockSoftmax &softmax,
                         Func kvBlocks);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H
