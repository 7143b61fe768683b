//===- AttentionTile.h - rows, heads and keys of a tile ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of variables in all funcs of fused attention: ii row in the tile, k key in the chunk,
// c chunk, it row tile, h head, b batch, d dim of a head, x column in a block of the context,
// y block of the context.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONTILE_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONTILE_H

#include "Lowerings.h"

#include <limits>

namespace mlir::attn {

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr int64_t kInfBits = 0x7f800000, kMinusInfBits = int32_t(0xff800000), kNaNBits = 0x7fc00000;

/// c ? x : 0, as bits.
Scalar pick(Scalar c, Scalar x);
/// c ? x : y, as bits.
Scalar blend(Scalar c, Scalar x, Scalar y);
/// The bits of |x|, which are in its order; those of infinity and NaN come last.
Scalar magnitude(Scalar x);
/// Whether x is not NaN.
Scalar isNumber(Scalar x);
/// x in f32.
Scalar wide(Scalar x);

/// The last coordinates of every func: which tile.
struct TileCoords {
  explicit TileCoords(ArrayRef<Scalar> v)
      : it(v[v.size() - 3]), h(v[v.size() - 2]), b(v[v.size() - 1]) {}
  Scalar it, h, b;
};

/// The op, the tensors that its kernel reads, and what is known of them before any func is built.
struct AttentionInputs {
  AttentionInputs(PipelineBuilder &p, AttentionOp op);

  Scalar f32(double c) const { return p.constant(p.b().getF32Type(), c); }

  PipelineBuilder &p;
  mutable AttentionOp op; // a handle
  int64_t headDim, valueDim;
  /// Whether elements are f16 or bf16. They are computed with in f32.
  bool isHalfPrecision;
  double scale;
  /// Scores that a modification works on, or that a sink is beside, are scaled; plain ones are
  /// query·key until they become numerators.
  bool isScaled;
  Func query, key, value;
  Scalar numRows, numKeys;
};

/// The parts that the keys of each row tile are split into; `it` counts the parts of all tiles.
struct KvSplits {
  static KvSplits none(PipelineBuilder &p);
  /// Always `count` parts.
  static KvSplits fixed(PipelineBuilder &p, int64_t count);
  /// As many parts of `leastKeys` keys as a call's keys make, `most` at most.
  static KvSplits byLength(const AttentionInputs &in, int64_t most, int64_t leastKeys);

  bool isSplit() const { return most != 1; }

  int64_t most = 1, leastKeys = 0;
  Scalar count;
};

/// How query rows and heads, and chunks of keys, lie in a kernel's tiles.
class AttentionTile {
public:
  /// A tile has `rows` rows, of `packedHeads` query heads the same number each.
  AttentionTile(const AttentionInputs &in, int64_t rows, int64_t packedHeads, int64_t chunk,
                KvSplits splits);

  /// The row tile whose keys, or a part of them, `t` is.
  Scalar rowTile(const TileCoords &t) const;
  Scalar row(Scalar ii, const TileCoords &t) const { return row(ii, rowTile(t)); }
  Scalar row(Scalar ii, Scalar rowTile) const;
  Scalar head(Scalar ii, const TileCoords &t) const;
  /// The chunks that any tile may have.
  Scalar maxChunks() const { return (in.numKeys + (chunk - 1)) / chunk; }

  /// Fixes extents of 1 along the tile, and along the chunk where there is one, so that storage
  /// and loops are of known size.
  void fix(Func f, bool perChunk) const;

  const AttentionInputs &in;
  PipelineBuilder &p;
  int64_t rows, packedHeads, rowsOfHead, chunk;
  KvSplits splits;
};

/// Writes the regions of an op into bodies of funcs.
class AttentionRegions {
public:
  using Known = ArrayRef<std::pair<Value, Scalar>>;

  explicit AttentionRegions(const AttentionInputs &in) : in(in) {}

  /// What a region yields for `args`; `otherwise` where there is no region. `known` are values in
  /// the region that are computed already.
  Scalar inlined(Region &region, ArrayRef<Scalar> args, Scalar otherwise, Known known = {});
  /// `value`, of `region`, as `type`.
  Scalar inlinedValue(Region &region, Value value, ArrayRef<Scalar> args, Type type);
  /// Whether some region could not be written; the errors are reported.
  bool hasFailed() const { return failedAny; }

private:
  const AttentionInputs &in;
  bool failedAny = false;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONTILE_H
