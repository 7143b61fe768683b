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

/// The weighted sum of a KV block's values, in a CPU's lanes.
struct KvBlockContext {
  /// Values of a KV block, padded with zeros to whole blocks of columns, converted to f32 or to
  /// pairs, or just copied; null if values are read directly.
  Func valueCopy;
  /// Numerators times the scales of values, by block of dims; null if values are read scaled.
  Func scaledNumerators;
  /// Keys of one element of `valueCopy`.
  int64_t keysOfElement = 1;
  /// prob·value of a KV block; its partial sums if the sum is long, else null.
  Func product, partialProduct;
};

/// Number of partial sums over a KV block's keys.
int64_t countKeySums(const AttentionBlocks &blocks);

/// How a kernel reads values: in memory, or from a copy; those in pairs of keys, for which
/// numerators are pairs too, are multiplied one by one or all of a KV block at once.
enum class ValueForm { inPlace, copied, pairsInPlace, inPairs, inTiles };

/// `start` initialises the sums. Keys hidden from all rows of a group of `rowsOfGroup` rows are
/// skipped.
KvBlockContext buildKvBlockContext(const KvReader &reader, const ContextColumns &columns,
                                   Func numerators, ValueForm form, const FullKeys &keys,
                                   int64_t rowsOfGroup, Body start);

/// The non-finite fallback: recomputes a query block's context without masked keys if it is not
/// finite, as zero times Inf or NaN is NaN. For other query blocks the loop over `kvBlocks` has no
/// iterations. Maxima and sums of rows are reused.
struct SecondPass {
  Func largestOfLane, largest, kvBlocks;
  DotProduct dot;
  StagedReads staged;
  Func score, numerators, kept, modified, product, context;

  /// Whether the query block is recomputed.
  Scalar isNeeded(const BlockCoords &t) const {
    Scalar count = kvBlocks(t.it, t.h, t.b);
    return count > count.constant(0);
  }
};

/// The number of KV blocks of the second pass: 0 if `largest`, the largest magnitude of the query
/// block, is finite.
Func buildSecondKvBlocks(const AttentionBlocks &blocks, Func largest, Func kvBlocks);

/// Recomputes the numerators for the row's final maximum. Masked keys have 0, all others more.
/// `kept` is a bit mask over values, all zeros for a masked key, which costs one instruction per
/// sum. `scoreAt` gives the masked score. Marks rows with a NaN score in `lse`.
void buildSecondNumerators(SecondPass &pass, const AttentionBlocks &blocks, const ScoreSteps &steps,
                           const Numerators &numerators, const RowState &row, const LseOutput &lse,
                           Body scoreAt);
/// `value`, or 0 if key k is masked.
Scalar keepValue(const SecondPass &pass, Scalar value, Scalar ii, Scalar k, Scalar c,
                 const BlockCoords &t);

/// Funcs of the first pass that the second pass on a CPU reads.
struct FirstPass {
  Func query, acc, kvBlocks;
  DotForm dotForm;
  int64_t lanes;
  /// Whether a key's scale multiplies its dot products.
  bool scalesDots = false;
};
/// `stage` builds the copies of tensors that regions read along the keys.
SecondPass buildSecondPass(const KvReader &reader, const BlockedColumns &columns,
                           const ScoreSteps &steps, const Numerators &numerators,
                           const RowState &row, const LseOutput &lse, const FirstPass &first,
                           function_ref<StagedReads()> stage);

/// The weighted sum of value dim d: from the second pass if it ran, else from `acc`.
Scalar getContextSum(const SecondPass &pass, const ContextColumns &columns, Func acc, Scalar d,
                     Scalar ii, const BlockCoords &t);

/// A weighted sum of values, and the reciprocal of the sum of numerators, 0 if no key is visible.
struct Quotient {
  Scalar sum, inverse;
  /// The row's sum and maximum, for an lse stored beside the context.
  RowSum row = {};
};
/// The names of the reductions of a context of packed rows, which is scattered: row of a query
/// block and number of the block; packed head, interleaved head, and number of their group.
constexpr StringRef kPackedRow = "ri", kPackedBlock = "rq", kPackedHead = "rp",
                    kInterleavedHead = "rt", kPackedHeads = "rh";

/// Builds the context, an output of the pipeline, from `quotientAt`; a row without a visible key is
/// 0. `lse`, if any, is stored with the first value dim.
Func buildContext(const AttentionBlocks &blocks,
                  function_ref<Quotient(Scalar d, Scalar ii, const BlockCoords &t)> quotientAt,
                  const LseOutput *lse = nullptr);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONCONTEXT_H
