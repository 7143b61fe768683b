//===- AttentionContext.h - weighted sums of values -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONCONTEXT_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONCONTEXT_H

#include "AttentionLse.h"

namespace mlir::attn {

/// The weighted sum of a chunk's values, in a CPU's lanes.
struct ChunkContext {
  /// Values beside zeros, where a block of columns is more than there are value dims, or f32 values
  /// made of others once for all rows of a tile; null where values are read as they are.
  Func paddedValue;
  /// A long sum over a chunk's keys is one of parts; null for others.
  Func product, productPart;
};

/// How many sums over a chunk's keys a value dim's is the sum of.
int64_t countKeySums(const AttentionTile &tile);

/// `start` is what sums begin with. Of groups of `rowsOfGroup` rows, keys that none of them sees
/// are left out.
ChunkContext buildChunkContext(const KvReader &reader, const ContextColumns &columns,
                               Func numerators, bool copiesValues, const FullKeys &keys,
                               int64_t rowsOfGroup, Body start);

/// What a tile's context is computed of once more, without the masked keys, where it is not finite:
/// zero times Inf or NaN is NaN. For all other tiles the loop over `chunks` has no iterations.
/// Maxima and sums of rows are right already.
struct SecondPass {
  Func worstOfLane, worst, chunks;
  DotProduct dot;
  StagedReads staged;
  Func score, numerators, kept, modified, product, context;

  /// Whether the tile is computed once more.
  Scalar isNeeded(const TileCoords &t) const {
    Scalar count = chunks(t.it, t.h, t.b);
    return count > count.constant(0);
  }
};

/// The chunks of the second pass: none where `worst` is the magnitude of a number.
Func buildSecondChunks(const AttentionTile &tile, Func worst, Func chunks);

/// The numerators once more, to the row's maximum; those of keys that are left out are 0, all
/// others are more. Values of the former are left out by all bits of `kept`: a sum then takes one
/// instruction more than in the first pass. `scoreAt` gives the masked score at coordinates. Rows
/// with a score that is NaN are marked in `lse`.
void buildSecondNumerators(SecondPass &pass, const AttentionTile &tile, const ScoreSteps &steps,
                           const Numerators &numerators, const RowState &row, const LseOutput &lse,
                           Body scoreAt);
/// `value` or 0, where key k is left out.
Scalar keepValue(const SecondPass &pass, Scalar value, Scalar ii, Scalar k, Scalar c,
                 const TileCoords &t);

/// What a CPU's second pass takes of the first one.
struct FirstPass {
  Func query, acc, chunks;
  DotForm dotForm;
  int64_t lanes;
};
/// `stage` gives the copies of tensors that regions read along the keys.
SecondPass buildSecondPass(const KvReader &reader, const ContextColumns &columns,
                           const ScoreSteps &steps, const Numerators &numerators,
                           const RowState &row, const LseOutput &lse, const FirstPass &first,
                           function_ref<StagedReads()> stage);

/// The weighted sum of value dim d, of `acc` or of the second pass.
Scalar getContextSum(const SecondPass &pass, const ContextColumns &columns, Func acc, Scalar d,
                     Scalar ii, const TileCoords &t);

/// A weighted sum of values, and 1 / the sum of numerators; that is 0 where no key is seen.
struct Quotient {
  Scalar sum, inverse;
  /// What an lse stored beside the context is of.
  RowSum row = {};
};
/// The context from `quotientAt`; a row that sees no key is 0. It is an output of the pipeline.
/// `lse`, if any, is stored beside the first value dim.
Func buildContext(const AttentionTile &tile,
                  function_ref<Quotient(Scalar d, Scalar ii, const TileCoords &t)> quotientAt,
                  const LseOutput *lse = nullptr);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONCONTEXT_H
