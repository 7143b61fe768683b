//===- MaskAnalysis.h - bounds of a mask as data ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask is a tree of comparisons joined by "and" and "or". Comparisons that are linear in q and k
// bound keys by rows, and rows by keys. Schedules, loop bounds and explanations read this tree;
// nothing here depends on how a target computes the bounds.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_MASKANALYSIS_H
#define ATTNC_DIALECT_ATTN_MASKANALYSIS_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/IndexRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <memory>
#include <optional>

namespace mlir::attn {

/// A bound of one coordinate x (k or q) by the other one: x `predicate` rhs - lhs, both taken
/// at x = 0.
struct LinearBound {
  arith::CmpIPredicate predicate;
  Value lhs, rhs;
  /// Coefficient of the other coordinate in lhs - rhs.
  int64_t slope;

  bool isLower() const;
  bool isUpper() const;
  /// Whether the bound is strict: x may not equal it.
  bool isStrict() const;
};

/// A condition of a mask.
struct MaskCondition {
  enum class Kind {
    /// Bounds nothing.
    opaque,
    /// A comparison linear in q and k.
    comparison,
    /// The conjunction of two conditions.
    both,
    /// The disjunction of two conditions.
    either,
  };
  Kind kind = Kind::opaque;

  /// For a comparison: lhs - rhs = keyFactor·k + rowFactor·q + rest.
  arith::CmpIOp compare;
  int64_t keyFactor = 0, rowFactor = 0;
  /// Numbers from tensors whose sums may wrap around; if one of them is large at run time, the
  /// comparison bounds nothing.
  SmallVector<Value> summed;
  /// Whether lhs - rhs fits in 32 bits.
  bool fits = true;

  /// Operands of `both` and `either`.
  const MaskCondition *left = nullptr, *right = nullptr;

  /// The bound that a comparison puts on k or on q; none if it does not bound it.
  std::optional<LinearBound> boundKey() const;
  std::optional<LinearBound> boundRow() const;

  /// Whether the keys of a row have a lower or an upper bound.
  bool hasLowestKey() const;
  bool hasHighestKey() const;
  /// Whether the keys of a row are enclosed by two ranges with keys between them: those of a
  /// disjunction of an upper and a lower bound, as attention sinks beside a window.
  bool hasTwoRanges() const;
  /// Whether the bounds are exact: each key within them is seen by some of the rows.
  bool isComplete() const;
};

/// Analyses the mask of an attention: a region over (batch, head, q, k), or none. Each value is
/// visited once.
class MaskAnalysis {
public:
  explicit MaskAnalysis(Region &mask);
  ~MaskAnalysis();
  MaskAnalysis(MaskAnalysis &&);

  /// Whether there is a mask.
  bool hasMask() const { return root != nullptr; }
  /// The condition that the mask yields; opaque without a mask.
  const MaskCondition &getCondition() const;

  /// Whether the bounds are exact for a query block.
  bool isComplete() const { return !root || root->isComplete(); }
  /// Whether the condition is a conjunction. With a disjunction, the keys that all rows see need
  /// not be contiguous.
  bool isConjunction() const { return conjunction; }
  bool dependsOnHead() const { return root && !mask.getArgument(1).use_empty(); }
  /// What a seen key fulfils beside the bounds: the terms of the conjunction that are not exactly
  /// bounds. Empty if the bounds are exact.
  SmallVector<Value> getOpenTerms() const;
  /// The number of adjacent rows, or keys, that `terms` do not tell apart, as they divide q by it:
  /// those of a block, where they read a table of blocks. 1 if they use q otherwise, 0 if they do
  /// not use it.
  int64_t getRowPeriod(ArrayRef<Value> terms) const;
  int64_t getKeyPeriod(ArrayRef<Value> terms) const;

  /// An upper bound of the number of keys from the first to the last one seen by any of `rows`
  /// adjacent rows: 256 for q - 255 <= k <= q and one row. None if there is no constant bound.
  std::optional<int64_t> getWidth(int64_t rows = 1);

  /// The most places that a key which row q sees lies before q, and behind it: 255 and 0 for
  /// q - 255 <= k <= q. None where there is no constant bound.
  struct Reach {
    std::optional<int64_t> before, behind;
  };
  Reach getReach();

private:
  class Reader;

  Region &mask;
  bool conjunction = true;
  const MaskCondition *root = nullptr;
  std::unique_ptr<Reader> reader;
};

/// The same, by the mask and kv_len of `op`.
std::optional<int64_t> getMaxKeys(AttentionOp op, MaskAnalysis &mask, int64_t rows);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_MASKANALYSIS_H
