//===- MaskBounds.h - compute which keys a tile of rows sees ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H

#include "PipelineBuilder.h"

#include "attnc/Dialect/Attn/MaskAnalysis.h"

namespace mlir::attn {

/// Keys [low, high); a side that is not there is not bounded.
struct KeyBounds {
  std::optional<Scalar> low, high;
};

/// A tile of query rows [first, last] of one head of one batch.
struct RowTile {
  Scalar batch, head, first, last;
};

/// Which rows of a tile see the keys that bounds are of.
enum class SeenBy { anyRow, allRows };

/// Computes the bounds that `condition`, of `mask`, sets to the keys of a tile, where the builder
/// stands. For `SeenBy::allRows`, conditions are joined by "and" alone and complete.
KeyBounds emitKeyBounds(PipelineBuilder &p, Region &mask, const MaskCondition &condition,
                        const RowTile &tile, SeenBy seenBy);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H
