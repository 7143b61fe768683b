//===- KvReader.h - the one place that reads keys and values ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H

#include "KeyRange.h"

namespace mlir::attn {

/// Reads elements of keys and values, in f32. Kernels know keys by their place in a chunk; where a
/// key's row lies in memory, and how its elements become f32, is known here alone.
class KvReader {
public:
  /// `mayBeEmpty`: chunks are read although no key of theirs is visible.
  KvReader(const AttentionTile &tile, const KeyRange &range, Func kvHead, bool mayBeEmpty)
      : tile(tile), range(range), kvHead(kvHead), mayBeEmpty(mayBeEmpty) {}

  /// The number of key k of chunk c, which may be no visible one.
  Scalar number(Scalar k, Scalar c, const TileCoords &t) const;
  /// The same, clamped to those that are visible: to key 0 where none is.
  Scalar visibleNumber(Scalar k, Scalar c, const TileCoords &t) const;
  /// Whether key k of chunk c is visible.
  Scalar isVisible(Scalar k, Scalar c, const TileCoords &t) const;

  Scalar key(Scalar d, Scalar k, Scalar c, const TileCoords &t) const;
  Scalar value(Scalar d, Scalar k, Scalar c, const TileCoords &t) const;
  /// The value of a key that is visible wherever the result counts.
  Scalar valueOfVisible(Scalar d, Scalar k, Scalar c, const TileCoords &t) const;

  const AttentionTile &tile;
  const KeyRange range;
  const Func kvHead;

private:
  /// The row of the tensors that holds a key: an index map stands here.
  Scalar rowOf(Scalar number) const { return number; }
  Scalar read(Func tensor, Scalar d, Scalar number, const TileCoords &t) const;

  bool mayBeEmpty;
};

/// The head of key and value that a tile reads.
Func buildKvHead(const AttentionTile &tile);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H
