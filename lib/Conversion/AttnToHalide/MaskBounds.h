//===- MaskBounds.h - emit the key bounds of a query block ------*- C++ -*-===//
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

/// Keys [low, high); a missing side is unbounded.
struct KeyBounds {
  std::optional<Scalar> low, high;
};

/// The query rows [first, last] of one head of one batch.
struct QueryRows {
  Scalar batch, head, first, last;
};

/// Whether bounds enclose the keys that any row sees, or are within the keys that all rows see.
enum class SeenBy { anyRow, allRows };

/// Emits the bounds that `condition` of `mask` puts on the keys of `rows`, at the insertion point.
/// `SeenBy::allRows` requires a complete condition.
KeyBounds emitKeyBounds(PipelineBuilder &p, Region &mask, const MaskCondition &condition,
                        const QueryRows &rows, SeenBy seenBy);

/// Emits the two ranges of a condition that has two, in any order.
std::pair<KeyBounds, KeyBounds> emitTwoRanges(PipelineBuilder &p, Region &mask,
                                              const MaskCondition &condition, const QueryRows &rows,
                                              SeenBy seenBy);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_MASKBOUNDS_H
