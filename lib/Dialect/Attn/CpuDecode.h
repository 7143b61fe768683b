//===- CpuDecode.h - choose schedules of decode on a CPU ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_CPUDECODE_H
#define ATTNC_LIB_DIALECT_ATTN_CPUDECODE_H

#include "CpuFacts.h"

namespace mlir::attn {

/// Chooses `#attn.decode`.
class CpuDecode : CpuFacts {
public:
  using CpuFacts::CpuFacts;

  /// Whether there is one for these dims.
  bool servesDims() const { return headDim % lanes == 0; }
  Attribute select(int64_t rowsOfHead, int64_t maxQLen = 0);

private:
  /// Prefetches of keys and values, as in `#attn.decode`.
  struct Fetches {
    int64_t keys, count, locality = 2, blocks = 0;
  };
  /// Register tiles, as in `#attn.decode`.
  struct Tiles {
    int64_t scoreRows, scoreKeys, contextRows, contextVectors;
  };

  /// From so many rows on, products take time beside reading keys and values, from several rows on,
  /// as long as reading 16 bits, and from many rows on, as reading 32.
  static constexpr int64_t kSomeRows = 4, kSeveralRows = 6, kManyRows = 8;

  int64_t keyBits() { return op.getKey().getType().getElementTypeBitWidth(); }
  /// Of all heads.
  int64_t elementsOfKey() { return op.getKey().getType().getDimSize(1) * headDim; }
  /// Heads of a key that take turns at each KV block.
  int64_t interleavedHeads(int64_t rows);

  Tiles tiles(int64_t rows, bool inPairs, bool areProductBound);
  /// The rows of a tile of context that share the values of f32 which they load with AVX2, at short
  /// KV blocks; 0 where tiles are as elsewhere.
  int64_t rowsOfValue(int64_t rows);
  /// Whether long rows of f32 are read with AVX2, one head after the other.
  bool readsLongRows();
  /// Whether a row of values is summed up at once, not in halves.
  bool readsWholeRows(int64_t rows) { return rows == 1 && readsLongRows(); }
  /// Whether heads are read in turns with AVX2, so that the keys of one lie apart.
  bool readsFarRows(int64_t rows);

  int64_t kvBlock(int64_t rows, bool waitsForProducts);
  int64_t farKvBlock(int64_t rows);
  /// Whether KV blocks are a few keys, prefetched by the one before.
  bool hasShortKvBlocks(int64_t rows);

  Fetches fetches(int64_t rows, int64_t kvBlock);
  /// Whether interleaved heads prefetch the next KV block in the order of memory.
  bool fetchesBlocks(int64_t rows);
  /// Whether prefetches fill the L1 cache.
  bool readsIntoL1();
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_CPUDECODE_H
