//===- TensorCores.h - what tensor cores compute ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_TENSORCORES_H
#define ATTNC_DIALECT_ATTN_TENSORCORES_H

#include "attnc/Dialect/Attn/Attn.h"

namespace mlir::attn {

/// Why a GPU's tensor cores have no kernel for `op`; empty if they have one.
StringRef findTensorCoreObstacle(AttentionOp op);
StringRef findTensorCoreObstacle(LinearOp op);
/// Why what they have a kernel for has none by products of warpgroups; empty if it may.
StringRef findWarpgroupObstacle(AttentionOp op);

/// Whether the kernel of a linear layer can apply `op` to its result.
bool isTensorCoreEpilogue(MapOp op);

/// The tiles of a `#attn.mma` or `#attn.wgmma` kernel. In shared memory their rows, of head_dim or
/// value_dim elements, are padded to multiples of 64 so that 16-byte chunks of 8 adjacent rows can
/// be kept in different banks.
struct TensorCoreTiles {
  /// Padded to whole tiles of 16.
  int64_t headDim, valueDim;
  int64_t qBlock, kvBlock;
  int64_t warpRows = 16, packedHeads = 1, kvSplits = 1, maxQLen = 0;
  /// Keys and values of so many KV blocks are in shared memory.
  int64_t stages = 1;
  int64_t barriers = 0;

  TensorCoreTiles(AttentionOp op, MmaAttr schedule);
  TensorCoreTiles(AttentionOp op, WgmmaAttr schedule);

  /// Query rows of each packed head.
  int64_t rowsOfHead() const { return qBlock / packedHeads; }

  /// Whether the query stays in registers; else it is loaded for each KV block.
  bool keepsQuery() const { return headDim <= 192; }

  int64_t keyRowBytes() const { return rowBytes(headDim); }
  int64_t valueRowBytes() const { return rowBytes(valueDim); }
  int64_t keyOffset() const { return qBlock * keyRowBytes(); }
  int64_t valueOffset() const { return keyOffset() + stages * kvBlock * keyRowBytes(); }
  /// Of barriers of 8 bytes, which follow the tiles.
  int64_t barrierOffset() const { return valueOffset() + stages * kvBlock * valueRowBytes(); }
  int64_t sharedBytes() const { return barrierOffset() + 8 * barriers; }

private:
  TensorCoreTiles(AttentionOp op, int64_t qBlock, int64_t kvBlock);
  static int64_t rowBytes(int64_t dims) { return 2 * llvm::alignTo(dims, 64); }
};

/// A `#attn.mma` with the largest KV block that fits beside the query block: most work between
/// barriers.
MmaAttr fitMma(AttentionOp op, int64_t qBlock, int64_t warpRows, int64_t packedHeads,
               int64_t kvSplits, int64_t maxQLen);
/// The same for many rows of a head.
MmaAttr fitMmaToManyRows(AttentionOp op, int64_t maxQLen);

/// The tiles of a `#attn.mma_linear` kernel. Four warps share a block's tile: side by side along
/// the features, and along the rows where these are more than a warp takes.
struct LinearTiles {
  static constexpr int64_t kWarps = 4;
  int64_t rowBlock, featureBlock, depth, stages;

  explicit LinearTiles(MmaLinearAttr schedule);

  int64_t warpRows() const { return std::min<int64_t>(rowBlock, 64); }
  int64_t warpsAlongFeatures() const { return kWarps / (rowBlock / warpRows()); }
  int64_t warpFeatures() const { return featureBlock / warpsAlongFeatures(); }

  int64_t rowBytes() const { return 2 * depth; }
  int64_t weightOffset() const { return rowBlock * rowBytes(); }
  int64_t stageBytes() const { return (rowBlock + featureBlock) * rowBytes(); }
  int64_t sharedBytes() const { return stages * stageBytes(); }
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_TENSORCORES_H
