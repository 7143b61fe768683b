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

  /// `exp2OfScores` may be less accurate than `exp2`, which gives the factors of a rescaling, if
  /// numerators are rounded to bf16.
  Numerators(const AttentionInputs &in, Exp2 exp2, Exp2 exp2OfScores);
  Numerators(const AttentionInputs &in, Exp2 exp2) : Numerators(in, exp2, exp2) {}

  /// The exponent in base 2. The maximum is subtracted first, before scaling, so that the maximum's
  /// own numerator is exactly 1.
  Scalar exponent(Scalar score, Scalar maximum) const;
  Scalar get(Scalar score, Scalar maximum) const;
  Scalar ofScore(Scalar score, Scalar maximum) const;

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
  Exp2 exp2, exp2OfScores;
  /// Converts differences of scores to exponents in base 2.
  double log2Scale;
};

/// For CPU vectors: numerators below 2^-80 are 0, since denormal products are slow and lost in the
/// sum anyway.
Scalar cpuExp2(Scalar x, bool besideSink);
Scalar cpuExp2BF16(Scalar x, bool besideSink);
Scalar gpuExp2(Scalar x, bool besideSink);

/// The funcs of a KV block's softmax. On a GPU there is no `sum`: each thread keeps its partial
/// sums.
struct KvBlockSoftmax {
  Func partialMax, maximum, numerators, partialSum, sum;
  /// The numerators after the prob region.
  Func modified;
  /// The same of two keys each, rounded to bf16; null if products don't take pairs.
  Func pairs;
  /// Whether the sum is of pairs: without a prob region and an lse, `numerators` are then not
  /// stored.
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
Func buildNumerators(const KvReader &reader, const Numerators &numerators, Func score, Func maximum,
                     const ComputedKeys &computed = {});
/// The numerators after the prob region.
Func buildModified(const KvReader &reader, const ScoreSteps &steps, Func numerators,
                   const ComputedKeys &computed = {});

/// The softmax of a KV block in a CPU's lanes. With `endsWithVisible`, numerators are computed up
/// to the end of the accumulators' step that holds the last visible key.
KvBlockSoftmax buildKvBlockSoftmax(const KvReader &reader, const ScoreSteps &steps,
                                   const Numerators &numerators, Func score,
                                   int64_t numAccumulators, Products products,
                                   bool endsWithVisible);

/// Whether the sink is added after all KV blocks instead of before the first: with an lse, which
/// excludes the sink.
bool isSinkLast(const AttentionInputs &in);

/// Layout of an accumulator: value dims in blocks of columns.
class ContextColumns {
public:
  ContextColumns(int64_t valueDim, int64_t block, int64_t numBlocks)
      : valueDim(valueDim), block(block), numBlocks(numBlocks) {}
  virtual ~ContextColumns() = default;

  /// The value dim of column x of block y; the column and block of a value dim.
  virtual Scalar dim(Scalar x, Scalar y) const = 0;
  virtual Scalar column(Scalar d) const = 0;
  virtual Scalar blockOf(Scalar d) const = 0;
  /// The accumulator's row that holds the context of row ii.
  virtual Scalar contextRow(Scalar ii) const { return ii; }

  bool isWhole() const { return valueDim == numBlocks * block; }

  const int64_t valueDim, block, numBlocks;
};

/// Blocks of adjacent value dims, for groups of `rowsOfGroup` rows. In online softmax the
/// accumulator holds, before the context rows of a group, rows with its state. Each field of the
/// state fills whole vectors with one lane per row, so that the step of all rows of a group takes
/// as many instructions as that of one row.
class BlockedColumns : public ContextColumns {
public:
  /// Fields of the state, in the order of their updates: the factors by which the last online step
  /// rescaled the old context and the KV block's, the sum, and the maximum. If a sink is added
  /// last, also 0, or NaN for an infinite or NaN sink.
  static constexpr int64_t kOldFactor = 0, kNewFactor = 1, kSum = 2, kMaximum = 3, kSink = 4;

  /// Blocks of at most `vectors` vectors of `lanes` value dims; if `isOnline`, with rows of state.
  BlockedColumns(const AttentionInputs &in, int64_t lanes, int64_t vectors, int64_t rowsOfGroup,
                 bool isOnline = true);
  Scalar dim(Scalar x, Scalar y) const override { return y * block + x; }
  Scalar column(Scalar d) const override { return d % block; }
  Scalar blockOf(Scalar d) const override { return d / block; }
  Scalar contextRow(Scalar ii) const override;
  /// A field of the state of a group's row `lane`.
  Scalar stateAt(Func acc, int64_t field, Scalar group, Scalar lane, const BlockCoords &t) const;
  /// The field that column x of a group's row of state holds.
  Scalar fieldAt(Scalar x, Scalar row) const { return row * fieldsOfRow + x / stateColumns; }
  /// Accumulator rows of a group, and of the groups of `rows` rows.
  int64_t height() const { return stateRows + rowsOfGroup; }
  int64_t countRows(int64_t rows) const { return rows / rowsOfGroup * height(); }
  /// Elements of a KV block's maxima or sums that online steps read: whole vectors for each group,
  /// also behind the last row.
  int64_t countRowsRead(int64_t rows) const {
    return std::max(rows, rows - rowsOfGroup + stateColumns);
  }
  /// Columns of a row, some of which only state or only the context may use.
  int64_t width() const { return std::max(block, stateColumns); }

  /// Rows of a group; columns of a field of the state; fields in an accumulator row; rows of state
  /// per group, 0 if softmax is not online.
  const int64_t rowsOfGroup, stateColumns, fieldsOfRow, stateRows;
};

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

/// The state of online softmax: rows of the accumulator.
class OnlineState : public RowState {
public:
  OnlineState(Func acc, const BlockedColumns &columns) : acc(acc), columns(columns) {}
  Scalar sum(Scalar ii, const BlockCoords &t) const override;
  Scalar maximum(Scalar k, Scalar ii, const BlockCoords &t) const override;

private:
  Func acc;
  const BlockedColumns &columns;
};

/// The sum of a row's numerators, NaN if a sink is infinite or NaN.
Scalar getSumWithSink(const AttentionBlocks &blocks, const RowState &row, Scalar ii,
                      const BlockCoords &t);

/// Which field of row ii's state an element of an accumulator is, if any.
struct StateField {
  Scalar isSum, isMaximum, isSink;
};
/// Initial value of an element: of the maximum -kMaxFloat, else 0. With a sink that is not added
/// last, its score is the maximum, and the sum 1.
Scalar startRow(const AttentionBlocks &blocks, const StateField &field, Scalar ii,
                const BlockCoords &t);

/// Builds the accumulator of a CPU's vectors, from prob·value and the softmax of a KV block. The
/// online step (FlashAttention-2, Dao 2023, algorithm 1) rescales the old columns and the KV
/// block's to the row's new maximum and adds them. A group's rows of state are updated before all
/// its context.
Func buildRowAccumulator(const AttentionBlocks &blocks, const BlockedColumns &columns,
                         const Numerators &numerators, Func product, const KvBlockSoftmax &softmax,
                         Func kvBlocks);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H
