//===- IndexRange.h - ranges of integers in regions -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_INDEXRANGE_H
#define ATTNC_DIALECT_ATTN_INDEXRANGE_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::attn {

/// Positions in tensors, and their sizes, are at most this: sums of two of them and of what is cut
/// off at `kMostIndex` fit into 32 bits.
constexpr int64_t kMostPosition = int64_t(1) << 29;

/// What is larger becomes this as an index of 32 bits: it still compares with positions as before.
constexpr int64_t kMostIndex = int64_t(1) << 30;

/// The integers from `low` to `high`. The largest magnitude of 64 bits stands for any beyond.
struct IntegerRange {
  int64_t low, high;

  bool fits(unsigned width) const;
  /// Whether x - y and y - x fit, and one more.
  static bool differenceFits(IntegerRange x, IntegerRange y, unsigned width);
  bool contains(IntegerRange other) const { return low <= other.low && other.high <= high; }
  /// Integers of `type` of which sums do not wrap around: `kMostPosition` at most, or 2^60 of 64
  /// bits.
  static IntegerRange getSmall(Type type);
};

/// Bounds the integers that a region computes, as mathematical ones: where a range does not fit the
/// value's type, the value may wrap around. Each value is looked at once.
class IndexRanges {
public:
  /// Nothing is known of an i32 or i64 from a tensor; with `assumeSmall`, it is small.
  explicit IndexRanges(bool assumeSmall = false) : assumeSmall(assumeSmall) {}

  IntegerRange get(Value value);
  /// Whether some sum, difference or product that `value` is made of may wrap around.
  bool mayWrap(Value value);

private:
  IntegerRange compute(Value value);
  IntegerRange computeArithmetic(Operation *op);
  IntegerRange getUnknown(Type type) const;

  bool assumeSmall;
  llvm::DenseMap<Value, IntegerRange> ranges;
  llvm::DenseMap<Value, bool> wraps;
};

/// Sums, differences and casts.
bool isLinearStep(Operation *op);

/// Whether the result of `op` is an index that becomes `kMostIndex` where it is larger: a large
/// constant, or a number from a tensor.
bool isCutOff(Operation *op);

/// The index arithmetic of `region` that has to be done in 64 bits: 32 would change a comparison,
/// or an integer that an index is cast to.
llvm::DenseSet<Operation *> findWideIndices(Region &region);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INDEXRANGE_H
