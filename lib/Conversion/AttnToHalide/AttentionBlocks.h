//===- AttentionBlocks.h - query blocks and KV blocks -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of variables in all funcs of fused attention: ii row in the query block, k key in the KV
// block, c number of the KV block, it number of the query block, h head, b batch, d dim of a head,
// x column in a block of the context, y block of the context.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONBLOCKS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONBLOCKS_H

#include "KvTensors.h"

#include <limits>

namespace mlir::attn {

/// Variables of funcs over query blocks, and over the scores of a KV block.
inline constexpr StringRef kQBlockVars[] = {"it", "h", "b"},
                           kScoreVars[] = {"ii", "k", "c", "it", "h", "b"};

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr int64_t kInfBits = 0x7f800000, kMinusInfBits = int32_t(0xff800000), kNaNBits = 0x7fc00000;

/// c ? x : 0, as bits.
Scalar pick(Scalar c, Scalar x);
/// c ? x : y, as bits.
Scalar blend(Scalar c, Scalar x, Scalar y);
/// The bits of |x|, which order like |x|; infinity and NaN are the largest.
Scalar magnitude(Scalar x);
/// Whether x is not NaN.
Scalar isNumber(Scalar x);
/// A factor of a product, converted to f32: NaN and infinities are tested for in sums alone.
Scalar widenFactor(Scalar x);
/// The same in the type of the sums, f32 or f64.
Scalar widenFactor(Scalar x, Type acc);

/// The last three coordinates of every func: query block, head, batch.
struct BlockCoords {
  explicit BlockCoords(ArrayRef<Scalar> v)
      : it(v[v.size() - 3]), h(v[v.size() - 2]), b(v[v.size() - 1]) {}
  Scalar it, h, b;
};

/// The op, the tensors that its kernel reads, and their properties.
struct AttentionInputs {
  AttentionInputs(PipelineBuilder &p, AttentionOp op);

  Scalar f32(double c) const { return p.constant(p.b().getF32Type(), c); }

  PipelineBuilder &p;
  mutable AttentionOp op; // a handle
  int64_t headDim, valueDim;
  double scale;
  /// Whether score funcs hold scaled scores, as a score_mod or a sink requires. Otherwise they hold
  /// query·key, and the scale is applied in the exponent.
  bool isScaled;
  Func query;
  KvTensors kv;
  Scalar numRows, numKeys;
};

/// The KV splits of each query block; `it` numbers the splits of all query blocks.
struct KvSplits {
  /// Always `count` splits.
  static KvSplits fixed(PipelineBuilder &p, int64_t count);
  /// One split per `minKeys` keys of a call, at most `most`.
  static KvSplits byLength(const AttentionInputs &in, int64_t most, int64_t minKeys);

  bool isSplit() const { return most != 1; }

  int64_t most = 1, minKeys = 0;
  Scalar count;
};

/// How a kernel divides query rows, heads and keys: a query block, of the schedule's `q_block`
/// rows, iterates over KV blocks of `kv_block` keys.
class AttentionBlocks {
public:
  /// A query block has `rows` rows: rows / packedHeads rows of each of `packedHeads` query heads.
  /// Of packed rows, the kernel of `schedule` computes the sequences whose q_len it serves.
  AttentionBlocks(const AttentionInputs &in, ScheduleAttrInterface schedule, int64_t rows,
                  int64_t packedHeads, int64_t kvBlock, KvSplits splits,
                  int64_t interleavedHeads = 1);

  /// The number of the query block that KV split `t` belongs to.
  Scalar qBlock(const BlockCoords &t) const;
  /// The batch of the regions and of the keys: of packed rows, the sequence of the query block.
  Scalar batch(const BlockCoords &t) const { return batchOf(qBlock(t), t); }
  Scalar batchOf(Scalar qBlock, const BlockCoords &t) const {
    return packed ? packed->sequenceOf(qBlock) : t.b;
  }
  /// A query block's first row, and the last row of its batch.
  Scalar firstRow(Scalar qBlock) const {
    return packed ? packed->firstRow(qBlock) : qBlock * rowsOfHead;
  }
  Scalar lastRow(Scalar qBlock) const;
  Scalar row(Scalar ii, const BlockCoords &t) const { return row(ii, qBlock(t)); }
  /// Row ii, or the last one of the batch.
  Scalar row(Scalar ii, Scalar qBlock) const;
  /// Where that row is in query, context and lse.
  Scalar storedRow(Scalar ii, Scalar qBlock) const;
  Scalar head(Scalar ii, const BlockCoords &t) const;
  /// Upper bound of the number of query blocks.
  Scalar maxQBlocks() const;
  /// Upper bound of a query block's number of KV blocks.
  Scalar maxKvBlocks() const { return (in.numKeys + (kvBlock - 1)) / kvBlock; }

  /// The interleaved heads of a task that stores the output: splits are merged head by head.
  int64_t getStoredHeads() const { return splits.isSplit() ? 1 : interleavedHeads; }
  /// Bounds the extents along the query blocks, and along the KV blocks if `perKvBlock`, to those
  /// of a task, so that storage and loops have static sizes.
  void fix(Func f, bool perKvBlock) const;
  /// The same for a func that is computed for one head.
  void fixToHead(Func f) const;
  /// Computes a func of a KV block's tile in registers.
  void computeInRegisters(Func f, Loop at) const;

  const AttentionInputs &in;
  PipelineBuilder &p;
  int64_t rows, packedHeads, rowsOfHead, kvBlock;
  KvSplits splits;
  /// The query blocks of a task, of neighbouring heads, which take turns at each KV block.
  int64_t interleavedHeads;
  /// If queries are packed.
  std::optional<PackedBlocks> packed;
  /// Whether no other kernel of a call computes rows before this one.
  bool isFirst = true;

private:
  Scalar rowOfHead(Scalar ii) const { return packedHeads == 1 ? ii : ii / packedHeads; }
};

/// Inlines the regions of an op into bodies of funcs.
class AttentionRegions {
public:
  using Known = ArrayRef<std::pair<Value, Scalar>>;

  explicit AttentionRegions(const AttentionInputs &in) : in(in) {}

  /// The value that a region yields for `args`; `otherwise` if there is no region. `known` maps
  /// values of the region to scalars already computed.
  Scalar inlined(Region &region, ArrayRef<Scalar> args, Scalar otherwise, Known known = {});
  /// `value` of `region`, converted to `type`.
  Scalar inlinedValue(Region &region, Value value, ArrayRef<Scalar> args, Type type);
  /// Whether a region could not be inlined; the error has been reported.
  bool hasFailed() const { return failedAny; }

private:
  const AttentionInputs &in;
  bool failedAny = false;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONBLOCKS_H
