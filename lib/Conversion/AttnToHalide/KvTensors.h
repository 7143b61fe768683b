//===- KvTensors.h - keys and values in memory ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_KVTENSORS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_KVTENSORS_H

#include "PackedRows.h"
#include "Pages.h"

namespace mlir::attn {

/// The one place that reads keys and values: all else names a key by its number among
/// `getNumKeys()`. Only this class depends on a key's row in memory and its element type.
class KvTensors {
public:
  KvTensors(PipelineBuilder &p, AttentionOp op);

  Scalar getNumKeys() const;
  /// Whether finding a key takes more than its number: kernels look up each key once.
  bool arePaged() const { return pages.has_value(); }
  /// Whether pages are those of a table of head groups.
  bool haveHeadsOwnPages() const { return pages && pages->haveHeadsOwnPages(); }
  Scalar getNumHeads() const;
  /// Whether elements are other than f32: reading one takes more than a load.
  bool areWidened() const;
  /// Vectors of key elements in a cache line of 64 bytes.
  int64_t countKeyVectors(int64_t lanes) const;

  /// Neighbouring keys that are rows of one page side by side, if the first one's number is a
  /// multiple of theirs: as many as divide a page and `keys`, or 1 if the page's size is not known.
  int64_t countKeysOfRun(int64_t keys) const;
  /// The row of a key in its page, or among the rows in order; `page` is then null.
  struct Place {
    Scalar row, page;
  };
  /// `number` is within the number of keys, which are not packed.
  Place placeOf(Scalar number, Scalar kvHead, Scalar b) const;
  bool arePacked() const { return packed.has_value(); }
  /// The first row of sequence b among packed rows.
  Scalar startOf(Scalar b) const { return packed->startOf(b); }
  /// The place of a key of the sequence whose first packed row is `start`; it has that key.
  Place placeFrom(Scalar start, Scalar number) const;
  /// The place, whose row and page were looked up before, with the bounds that they have.
  Place withBounds(Place place) const;

  /// An element of a key, or of a value, in f32, without its scale.
  Scalar key(Scalar d, Place place, Scalar kvHead, Scalar b) const;
  Scalar value(Scalar d, Place place, Scalar kvHead, Scalar b) const;
  /// The same as they are stored.
  Scalar keyElement(Scalar d, Place place, Scalar kvHead, Scalar b) const;
  Scalar valueElement(Scalar d, Place place, Scalar kvHead, Scalar b) const;

  /// The scales of quantized keys, or values: `scales` is null if there are none.
  struct Scales {
    /// The number of the scale of dim d among `count` in a row.
    Scalar blockOf(Scalar d) const;

    Func scales;
    int64_t count = 0, dimsOfBlock = 1;
  };
  const Scales &getKeyScales() const { return keyScales; }
  const Scales &getValueScales() const { return valueScales; }
  /// Scale `n` of a row, in f32.
  Scalar scale(const Scales &of, Scalar n, Place place, Scalar kvHead, Scalar b) const;

  /// Dims 2·pair and 2·pair + 1 of a key of bf16; one dim of two values.
  Scalar keyPair(Scalar pair, Place place, Scalar kvHead, Scalar b) const;
  Scalar valuePair(Scalar d, Place first, Place second, Scalar kvHead, Scalar b) const;

private:
  Scalar read(Func rows, Scalar d, Place place, Scalar kvHead, Scalar b) const;

  Scales getScales(StringRef name, Value scales, Value rows) const;

  PipelineBuilder &p;
  Func keys, values;
  Scales keyScales, valueScales;
  /// If keys and values are in pages.
  std::optional<PageTable> pages;
  /// If sequences of keys and values are packed.
  std::optional<PackedSequences> packed;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KVTENSORS_H
