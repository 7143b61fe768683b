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

/// Reads elements of keys and values, in f32. Kernels address a key by chunk and offset; only this
/// class knows its row in memory and its element type.
class KvReader {
public:
  /// `mayBeEmpty`: chunks without a visible key are read too.
  KvReader(const AttentionTile &tile, const KeyRange &range, Func kvHead, bool mayBeEmpty)
      : tile(tile), range(range), kvHead(kvHead), mayBeEmpty(mayBeEmpty) {}

  /// The position of key k of chunk c, visible or not.
  Scalar number(Scalar k, Scalar c, const TileCoords &t) const;
  /// The same, clamped to the visible range; key 0 if it is empty.
  Scalar visibleNumber(Scalar k, Scalar c, const TileCoords &t) const;
  /// Whether key k of chunk c is visible.
  Scalar isVisible(Scalar k, Scalar c, const TileCoords &t) const;

  Scalar key(Scalar d, Scalar k, Scalar c, const TileCoords &t) const;
  Scalar value(Scalar d, Scalar k, Scalar c, const TileCoords &t) const;
  /// The value of a key; only visible keys' results are used.
  Scalar valueOfVisible(Scalar d, Scalar k, Scalar c, const TileCoords &t) const;

  const AttentionTile &tile;
  const KeyRange range;
  const Func kvHead;

private:
  /// The row of the tensors that holds a key; an index table would be read here.
  Scalar rowOf(Scalar number) const { return number; }
  Scalar read(Func tensor, Scalar d, Scalar number, const TileCoords &t) const;

  bool mayBeEmpty;
};

/// The key/value head that a tile reads.
Func buildKvHead(const AttentionTile &tile);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KVREADER_H
