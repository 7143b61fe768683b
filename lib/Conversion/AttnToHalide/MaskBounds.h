//===- MaskBounds.h - which keys a tile of rows may see ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H

#include "PipelineBuilder.h"

namespace mlir::attn {

/// Keys [low, high) outside of which a mask is false for every row of a tile; a side
/// that is not there is not known. `isComplete` says that a closer look at the mask finds
/// no tighter ones, but for the tile's rows that differ.
struct KeyBounds {
  std::optional<Scalar> low, high;
  bool isComplete = false;
};

/// A tile of query rows [first, last] of one head of one batch.
struct RowTile {
  Scalar batch, head, first, last;
};

/// Whether the conditions of `mask` are joined by "and" alone.
bool isConjunction(Region &mask);

/// Bounds from the comparisons in `mask`, a region over (batch, head, q, k), that are
/// linear in q and k. Built where the builder stands; what is not known is left out.
/// `ofAllRows`: of a conjunction, the keys that every row sees, if they are complete, and not those
/// that some row does.
KeyBounds buildKeyBounds(PipelineBuilder &p, Region &mask, const RowTile &tile,
                         bool ofAllRows = false);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H
