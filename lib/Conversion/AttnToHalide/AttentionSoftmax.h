//===- AttentionSoftmax.h - the softmax of fused attention ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H

#include "AttentionScores.h"

#include <functional>

namespace mlir::attn {

/// A prob of less than 2^kVanishing, f32's smallest normal number, is 0.
constexpr double kVanishing = -126;
/// Less than any other numerator that is not 0, and no denormal.
constexpr double kLeastNumerator = std::numeric_limits<float>::min();

/// Numerators of probs: powers of two of differences between scores and a maximum. They are
/// exactly 0 where the key is masked and NaN where the score is.
class Numerators {
public:
  /// 2^x: exactly 0 for small x and for -inf, exact for whole numbers, NaN for NaN.
  using Exp2 = Scalar (*)(Scalar x, bool besideSink);

  Numerators(const AttentionInputs &in, Exp2 exp2);

  /// What the power of two is taken of. The difference to the maximum is taken first, as exact
  /// as it can be, however large both are: the maximum's own numerator is 1.
  Scalar exponent(Scalar score, Scalar maximum) const;
  Scalar get(Scalar score, Scalar maximum) const;

  /// The numerator of a sink of score `sink` to the keys' maximum: inf where all keys vanish beside
  /// it, NaN where the sink is infinite or NaN.
  Scalar getSink(Scalar sink, Scalar maximum) const;

  /// 1 / total; 0 where no key is seen, and where NaN among probs counts as 0. Where the sum alone
  /// may be NaN, 1 keeps what the second pass made of it.
  Scalar reciprocal(Scalar total) const;
  /// Whether a row's sum may be NaN where its context is not: of a sink beside masked keys alone,
  /// and of keys whose probs a region makes zero.
  bool isSumApart() const;

  const AttentionInputs &in;

private:
  Exp2 exp2;
  /// Turns differences of scores into powers of two.
  double log2Scale;
};

/// In vectors of a CPU: numerators below 2^-80 are 0, for products with denormals are slow, and
/// lost anyway.
Scalar cpuExp2(Scalar x, bool besideSink);
Scalar gpuExp2(Scalar x, bool besideSink);

/// The softmax of a chunk, and what it is made of. On a GPU there is no `sum`: threads keep their
/// chains.
struct ChunkSoftmax {
  Func maxChains, maximum, numerators, sumChains, sum;
  /// The numerators as the prob region modifies them.
  Func modified;
};

using Combine = Scalar (*)(Scalar, Scalar);

/// What the keys of a chunk make of each row, in `numChains` independent chains.
Func combineKeys(const KvReader &reader, StringRef name, Func f, double init, Combine combine,
                 int64_t numChains);
/// What the chains of each row make.
Func combineChains(PipelineBuilder &p, StringRef name, Func chains, Combine combine,
                   int64_t numChains, function_ref<Scalar(Scalar, ArrayRef<Scalar>)> finish = {});
/// The numerators of a chunk's scores, to its own maximum.
Func buildNumerators(const Numerators &numerators, Func score, Func maximum);
/// Those that the prob region modified.
Func buildModified(const AttentionTile &tile, const ScoreSteps &steps, Func numerators);

/// The softmax of a chunk in a CPU's lanes.
ChunkSoftmax buildChunkSoftmax(const KvReader &reader, const ScoreSteps &steps,
                               const Numerators &numerators, Func score, int64_t numChains);

/// How the value dims of a row lie in columns of blocks. More columns follow them: the sum, the
/// maximum, and where a sink is added last, 0 or the NaN that an infinite or NaN sink makes.
class ContextColumns {
public:
  ContextColumns(int64_t valueDim, int64_t block, int64_t numBlocks)
      : valueDim(valueDim), block(block), numBlocks(numBlocks) {}
  virtual ~ContextColumns() = default;

  /// The value dim of column x of block y, and the other way round.
  virtual Scalar dim(Scalar x, Scalar y) const = 0;
  virtual Scalar column(Scalar d) const = 0;
  virtual Scalar blockOf(Scalar d) const = 0;

  bool isWhole() const { return valueDim == numBlocks * block; }
  int64_t sumColumn() const { return block; }
  int64_t maxColumn() const { return block + 1; }
  int64_t sinkColumn() const { return block + 2; }
  static constexpr int64_t kOtherColumns = 3;

  const int64_t valueDim, block, numBlocks;
};

/// Blocks next to each other.
class BlockedColumns : public ContextColumns {
public:
  using ContextColumns::ContextColumns;
  /// Blocks of at most `vectors` vectors of `lanes` value dims.
  static BlockedColumns ofVectors(int64_t valueDim, int64_t lanes, int64_t vectors);
  Scalar dim(Scalar x, Scalar y) const override { return y * block + x; }
  Scalar column(Scalar d) const override { return d % block; }
  Scalar blockOf(Scalar d) const override { return d / block; }
  /// The columns beside a block's, in whole vectors.
  static int64_t othersInVectors(int64_t lanes) { return llvm::alignTo(kOtherColumns, lanes); }
};

/// Whether the sink is added when all chunks are done, and not the first that a row sees: the lse
/// is of the keys alone.
bool isSinkLast(const AttentionInputs &in);
/// The sink's score for a row.
Scalar readSink(const AttentionInputs &in, Scalar row, Scalar head, Scalar batch);

/// A row when all chunks are done.
class RowState {
public:
  virtual ~RowState() = default;
  /// The sum of numerators.
  virtual Scalar sum(Scalar ii, const TileCoords &t) const = 0;
  /// The maximum, as who has the scores of key k knows it.
  virtual Scalar maximum(Scalar k, Scalar ii, const TileCoords &t) const = 0;
};

/// Of a tile whose keys are one chunk: nothing is rescaled.
class OneChunkState : public RowState {
public:
  OneChunkState(PipelineBuilder &p, const ChunkSoftmax &softmax) : p(p), softmax(softmax) {}
  Scalar sum(Scalar ii, const TileCoords &t) const override;
  Scalar maximum(Scalar k, Scalar ii, const TileCoords &t) const override;

private:
  PipelineBuilder &p;
  ChunkSoftmax softmax;
};

/// Of a tile that was updated a chunk at a time: columns of its accumulator.
class OnlineState : public RowState {
public:
  OnlineState(PipelineBuilder &p, Func acc, const ContextColumns &columns)
      : p(p), acc(acc), columns(columns) {}
  Scalar sum(Scalar ii, const TileCoords &t) const override;
  Scalar maximum(Scalar k, Scalar ii, const TileCoords &t) const override;

private:
  PipelineBuilder &p;
  Func acc;
  const ContextColumns &columns;
};

/// The sum of a row's numerators, NaN where a sink is infinite or NaN.
Scalar getSumWithSink(const AttentionTile &tile, const RowState &row, Scalar ii,
                      const TileCoords &t);

/// What column x of block y holds before the first key: nothing, or a sink, whose own numerator is
/// 1 and whose value is 0. `isCounted` says which of those who have a sum column count it.
Scalar startRow(const AttentionTile &tile, const ContextColumns &columns, Scalar x, Scalar ii,
                const TileCoords &t, function_ref<Scalar(Scalar isSum)> isCounted);

/// What an online accumulator is updated with, a chunk at a time.
struct OnlineStep {
  Func product, maximum, chunks;
  /// The sum of the chunk's numerators that the sum column of block y counts.
  std::function<Scalar(Scalar y, Scalar ii, Scalar c, const TileCoords &t)> sum;
};

/// An accumulator of `width` columns, the context's, the sum and the maximum, from `start` on. The
/// online step (FlashAttention-2, Dao 2023, algorithm 1): with the new maximum of a row, both the
/// old columns and the chunk's are rescaled to it and added; the last column becomes it.
Func buildOnlineAccumulator(const AttentionTile &tile, const Numerators &numerators,
                            const ContextColumns &columns, int64_t width, Body start,
                            const OnlineStep &step);
/// The same in a CPU's lanes, from the chunk's products with the values and from its softmax.
Func buildRowAccumulator(const AttentionTile &tile, const ContextColumns &columns,
                         const Numerators &numerators, Func product, const ChunkSoftmax &softmax,
                         Func chunks, int64_t lanes);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSOFTMAX_H
