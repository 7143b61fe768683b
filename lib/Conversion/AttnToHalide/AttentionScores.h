//===- AttentionScores.h - scores of a chunk of keys ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSCORES_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSCORES_H

#include "KvReader.h"

namespace mlir::attn {

/// A func whose rows are turned into the lanes, and the squares that this takes, in order: each
/// interleaves as many parts of the one before.
struct TransposedFunc {
  Func func;
  SmallVector<std::pair<Func, int64_t>> squares;
};
/// Whether `extent` elements of a row are turned in squares of vectors.
bool isTransposed(int64_t extent, int64_t lanes);
/// A func of rows and of what lies next to each other in memory, from `element` of the same
/// coordinates.
TransposedFunc buildTransposed(PipelineBuilder &p, int64_t lanes, StringRef name,
                               ArrayRef<StringRef> vars, Type type, Body element);

/// A tensor's element that a region reads along the keys, and a chunk's copy of it.
struct StagedRead {
  Value read;
  TransposedFunc copy;
};
using StagedReads = SmallVector<StagedRead>;
/// Copies, a chunk at a time, tensors whose last coordinate is the key, where rows lie in the
/// lanes. `readsWholeGroups`: no key is read that does not exist.
StagedReads buildStagedReads(const KvReader &reader, AttentionRegions &regions, int64_t lanes,
                             bool readsWholeGroups, StringRef name);

/// What becomes of a score between its product and the softmax, and of a prob behind it.
class ScoreSteps {
public:
  ScoreSteps(const KvReader &reader, AttentionRegions &regions, const TileMask &mask)
      : reader(reader), regions(regions), mask(mask) {}

  /// The score of a row and key from query·key.
  Scalar modify(Scalar dot, Scalar ii, Scalar k, Scalar c, const TileCoords &t,
                const StagedReads &staged) const;
  /// `score`, or -inf where the key is not there or masked.
  Scalar hide(Scalar score, Scalar ii, Scalar k, Scalar c, const TileCoords &t,
              const StagedReads &staged) const;
  /// What the prob region makes of a numerator. It is linear, so that it may come before the
  /// division by the row's sum.
  Scalar modifyProb(Scalar numerator, Scalar ii, Scalar k, Scalar c, const TileCoords &t) const;

private:
  const KvReader &reader;
  AttentionRegions &regions;
  const TileMask &mask;
};

/// The query of a tile in f32, negated where the scale is negative; with rows in the lanes.
Func buildQuery(const AttentionTile &tile);
TransposedFunc buildTransposedQuery(const AttentionTile &tile, int64_t lanes);

/// Keys of a chunk in f32, made once for all rows of a tile.
Func buildWideKey(const KvReader &reader);

/// How a query·key is summed.
struct DotForm {
  /// Sums in registers that it is the sum of: their error grows with their length.
  int64_t sums = 1;
  /// Whether each sums every `sums`-th dim, and not dims next to each other.
  bool isInterleaved = false;
  /// Products that are added up before their sum is, which makes long sums of fewer roundings.
  int64_t terms = 1;
};
struct DotProduct {
  /// Null where there is one sum.
  Func sum, part;
};
/// The element d of a key.
using KeyElement = function_ref<Scalar(Scalar k, Scalar c, const TileCoords &t, Scalar d)>;
DotProduct buildDotProduct(const AttentionTile &tile, Func query, KeyElement keyAt, DotForm form,
                           StringRef name);

/// Scores: `keys` known to be seen by all rows are not masked; those beside them are, as far behind
/// the last one as a step of `numChains` reads.
Func buildScores(const AttentionTile &tile, const ScoreSteps &steps, Func dot,
                 const StagedReads &staged, const FullKeys &keys, const KeyRange &range,
                 int64_t numChains);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSCORES_H
