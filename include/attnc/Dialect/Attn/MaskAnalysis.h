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
  /// The other coordinate's factor in lhs - rhs.
  int64_t slope;

  bool isLower() const;
  bool isUpper() const;
  /// Whether x may not equal the bound.
  bool isStrict() const;
};

/// A condition of a mask.
struct MaskCondition {
  enum class Kind {
    /// Bounds nothing.
    opaque,
    /// A comparison that is linear in q and k.
    comparison,
    /// Both of two conditions.
    both,
    /// At least one of two conditions.
    either,
  };
  Kind kind = Kind::opaque;

  /// Of a comparison: lhs - rhs = keyFactor·k + rowFactor·q + rest.
  arith::CmpIOp compare;
  int64_t keyFactor = 0, rowFactor = 0;
  /// Numbers from tensors whose sums may wrap around; where one of them is large, the comparison
  /// bounds nothing.
  SmallVector<Value> summed;
  /// Whether 32 bits hold lhs - rhs.
  bool fits = true;

  /// Of `both` and `either`.
  const MaskCondition *left = nullptr, *right = nullptr;

  /// What a comparison says of k or of q; nothing where it does not bound it.
  std::optional<LinearBound> boundKey() const;
  std::optional<LinearBound> boundRow() const;

  /// Whether the keys of a row have a lower or an upper bound.
  bool hasLowestKey() const;
  bool hasHighestKey() const;
  /// Whether the bounds leave out every key that they can: some row of those around sees each
  /// of the others.
  bool isComplete() const;
};

/// Reads the mask of an attention: a region over (batch, head, q, k), or none. Each value is
/// looked at once.
class MaskAnalysis {
public:
  explicit MaskAnalysis(Region &mask);
  ~MaskAnalysis();
  MaskAnalysis(MaskAnalysis &&);

  /// Whether there is a mask.
  bool hasMask() const { return root != nullptr; }
  /// What the mask yields; an opaque condition where there is no mask.
  const MaskCondition &getCondition() const;

  /// Whether the bounds are all that there is to know of which keys a tile of rows sees.
  bool isComplete() const { return !root || root->isComplete(); }
  /// Whether conditions are joined by "and" alone. Of alternatives, the keys that all rows see need
  /// not be one run.
  bool isConjunction() const { return conjunction; }
  bool dependsOnHead() const { return root && !mask.getArgument(1).use_empty(); }

  /// The keys from the first to the last one that some of `rows` rows next to each other see, at
  /// most: 256 of q - 255 <= k <= q for one row. Nothing where no such constant is known.
  std::optional<int64_t> getWidth(int64_t rows = 1);

private:
  class Reader;

  Region &mask;
  bool conjunction = true;
  const MaskCondition *root = nullptr;
  std::unique_ptr<Reader> reader;
};

/// The keys from the first to the last one that some of `rows` rows next to each other see, by the
/// mask and kv_len of `op`.
std::optional<int64_t> getMostKeys(AttentionOp op, MaskAnalysis &mask, int64_t rows);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_MASKANALYSIS_H
