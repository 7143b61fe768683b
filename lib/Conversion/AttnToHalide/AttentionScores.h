//===- AttentionScores.h - scores of a KV block -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSCORES_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSCORES_H

#include "KvReader.h"
#include "LaneSquare.h"
#include "Transposed.h"

namespace mlir::attn {

/// A `tensor.extract` of a region, and the copy of what it reads.
struct StagedRead {
  /// Whether it reads one element for each row, whatever the key.
  bool isOfRows() const { return copy.func.getRank() == 4; } // ii, it, h and b

  Value read;
  TransposedFunc copy;
};
using StagedReads = SmallVector<StagedRead>;
/// Copies, for a query block, what regions read for each row.
StagedReads buildRowReads(const AttentionBlocks &blocks, AttentionRegions &regions);
/// `rowReads` and copies, a KV block at a time and transposed, of tensors that regions read along
/// the keys. `readsWholeGroups`: all keys read are within kv_len.
StagedReads buildStagedReads(const KvReader &reader, AttentionRegions &regions, int64_t lanes,
                             bool readsWholeGroups, StringRef name, const StagedReads &rowReads);

/// The steps between query·key and the softmax, and the prob region after it.
class ScoreSteps {
public:
  ScoreSteps(const KvReader &reader, AttentionRegions &regions, const QBlockMask &mask)
      : reader(reader), regions(regions), mask(mask) {}

  /// The score of a row and key: scale and score_mod applied to query·key.
  Scalar modify(Scalar dot, Scalar ii, Scalar k, Scalar c, const BlockCoords &t,
                const StagedReads &staged) const;
  /// `score`, or -inf if the key is masked or beyond the range.
  Scalar hide(Scalar score, Scalar ii, Scalar k, Scalar c, const BlockCoords &t,
              const StagedReads &staged) const;
  /// Applies the prob region to a numerator. The region is linear, so it may precede the division
  /// by the row's sum.
  Scalar modifyProb(Scalar numerator, Scalar ii, Scalar k, Scalar c, const BlockCoords &t) const;

private:
  const KvReader &reader;
  AttentionRegions &regions;
  const QBlockMask &mask;
};

/// The rows of a query block in f32, or in pairs of dims, negated where the scale is negative; with
/// rows in the lanes.
Func buildQuery(const AttentionBlocks &blocks, bool inPairs = false);
TransposedFunc buildTransposedQuery(const AttentionBlocks &blocks, int64_t lanes);
/// The same in pairs of dims; those from head_dim to `pairs` are zero.
TransposedFunc buildTransposedQueryPairs(const AttentionBlocks &blocks, int64_t lanes,
                                         int64_t pairs);

/// Keys of a KV block, converted to f32 once per query block.
Func buildWideKey(const KvReader &reader);
/// Keys of a KV block in pairs of dims. LLVM does not keep sums in registers beside reads of pairs
/// from the input.
Func buildKeyPairs(const KvReader &reader);

/// How the sum of a dot product query·key is blocked.
struct DotForm {
  /// Number of partial sums in registers; rounding error grows with their length.
  int64_t sums = 1;
  /// Whether each partial sum takes every `sums`-th dim instead of adjacent dims: they are lanes of
  /// a vector. Those of a tile of `tileRows` × `tileKeys` are added up together, or squares of them
  /// after the products of all rows.
  bool isInterleaved = false, inSquares = false;
  int64_t tileRows = 1, tileKeys = 1;
  /// Products added up before each accumulation, for fewer roundings in long sums.
  int64_t terms = 1;
  /// Whether query and keys hold pairs of dims in bf16; a sum then has an even number of dims.
  bool inPairs = false;
};
struct DotProduct {
  /// `partial` is null if there is one sum.
  Func sum, partial;
  /// Of interleaved sums: the steps that add up the lanes of a tile, each with the number of sums
  /// and of the elements that are left of one.
  struct LaneStep {
    Func func;
    int64_t sums, elements;
  };
  SmallVector<LaneStep> laneSums;
  /// If they are added up in squares.
  LaneSquare square;
};
/// Reads element d of a key, or pair d.
using KeyElement = function_ref<Scalar(Scalar k, Scalar c, const BlockCoords &t, Scalar d)>;
DotProduct buildDotProduct(const AttentionBlocks &blocks, Func query, KeyElement keyAt,
                           DotForm form, StringRef name);

/// The same products, of all rows of a query block and keys of a KV block at once. `keyAt` reads
/// the even element of pair d, or the pair; `query` holds pairs.
DotProduct buildTileProduct(const KvReader &reader, Func query, KeyElement keyAt, StringRef name);

/// Which elements of a KV block are computed: those of all keys, or `tile` at a time up to the last
/// visible key, rounded up to a multiple of `step`, which is one of `tile`. An element stands for
/// `keysOfElement` keys.
struct ComputedKeys {
  bool areAll() const { return tile == 0; }

  int64_t tile = 0, step = 0;
  int64_t keysOfElement = 1;
};
/// The loops over tiles and over the elements of one, in the update of a func that is not computed
/// for all keys.
inline constexpr StringRef kTileLoop = "rt", kTileElement = "re";

/// Builds a func over (ii, k, c, it, h, b). For a pure definition, Halide's bounds inference finds
/// no tighter bound of the visible keys than the number of all keys: only an update ends earlier.
Func buildOfKeys(const KvReader &reader, StringRef name, Type type, const ComputedKeys &computed,
                 Body element);

/// Builds the scores. `keys`, which all rows see, are not masked; keys outside of them are, up to
/// the end of a step of `numAccumulators` keys.
Func buildScores(const KvReader &reader, const ScoreSteps &steps, Func dot,
                 const StagedReads &staged, const FullKeys &keys, int64_t numAccumulators,
                 const ComputedKeys &computed = {});

/// Masks scores in place where they are the products: without a score_mod or a sink, the scale is
/// part of the exponent. Returns false otherwise.
bool maskProducts(const KvReader &reader, const ScoreSteps &steps, Func dot,
                  const StagedReads &staged, const FullKeys &keys, int64_t numAccumulators);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONSCORES_H
