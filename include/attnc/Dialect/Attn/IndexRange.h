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

/// Largest position in a tensor, and largest size: sums of two positions and a value saturated at
/// `kMaxIndex` fit into 32 bits.
constexpr int64_t kMaxPosition = int64_t(1) << 29;

/// Larger values saturate to this in 32-bit index arithmetic: they still compare with positions as
/// before.
constexpr int64_t kMaxIndex = int64_t(1) << 30;

/// The integers from `low` to `high`; the largest 64-bit magnitude stands for anything beyond.
struct IntegerRange {
  int64_t low, high;

  bool fits(unsigned width) const;
  /// Whether |x - y| + 1 fits in `width` bits.
  static bool differenceFits(IntegerRange x, IntegerRange y, unsigned width);
  bool contains(IntegerRange other) const { return low <= other.low && other.high <= high; }
  /// Integers of `type` whose sums do not wrap around: at most `kMaxPosition`, or 2^60 for i64.
  static IntegerRange getSmall(Type type);
};

/// Bounds the integers that a region computes, as mathematical integers: if a range does not fit
/// the value's type, the value may wrap around. Each value is visited once.
class IndexRanges {
public:
  /// Integers read from tensors have the range of their type; with `assumeSmall`, that of
  /// `IntegerRange::getSmall`.
  explicit IndexRanges(bool assumeSmall = false) : assumeSmall(assumeSmall) {}

  IntegerRange get(Value value);
  /// Whether a sum, difference or product that `value` depends on may wrap around.
  bool mayWrap(Value value);
  /// Whether `op` divides a number that is not negative by a constant above 0: all roundings agree.
  bool isPlainDivision(Operation *op);

private:
  IntegerRange compute(Value value);
  IntegerRange computeArithmetic(Operation *op);
  IntegerRange computeQuotient(Operation *op);
  IntegerRange getUnknown(Type type) const;

  bool assumeSmall;
  llvm::DenseMap<Value, IntegerRange> ranges;
  llvm::DenseMap<Value, bool> wraps;
};

/// Sums, differences and casts.
bool isLinearStep(Operation *op);

/// Whether the result of `op` is an index that saturates at `kMaxIndex`: a large constant, or a
/// number from a tensor.
bool isCutOff(Operation *op);

/// The index arithmetic of `region` that needs 64 bits, because 32 would change a comparison or an
/// integer cast from an index.
llvm::DenseSet<Operation *> findWideIndices(Region &region);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INDEXRANGE_H
