//===- MaskReader.h - memoised state of the mask analysis -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_MASKREADER_H
#define ATTNC_LIB_DIALECT_ATTN_MASKREADER_H

#include "attnc/Dialect/Attn/MaskAnalysis.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::attn {

/// A linear combination: values with coefficients, and a constant. Invalid if a coefficient
/// overflows 64 bits.
struct LinearSum {
  llvm::SmallMapVector<Value, int64_t, 4> terms;
  int64_t constant = 0;
  bool isValid = true;

  void add(const LinearSum &other, int64_t factor);
  /// The constant, if no values are left.
  std::optional<int64_t> getConstant() const;
};

/// Visits each value once, however many paths lead to it.
class MaskAnalysis::Reader {
public:
  explicit Reader(Region &mask) : mask(mask) {}

  const MaskCondition *read(Value condition);
  void collectOpenTerms(Value condition, SmallVectorImpl<Value> &terms);
  int64_t getPeriod(ArrayRef<Value> terms, Value coordinate);
  std::optional<int64_t> getWidth(int64_t rows);
  Reach getReach();

private:
  // MaskAnalysis.cpp
  std::optional<int64_t> getFactor(Value value, Value coordinate);
  std::optional<int64_t> computeFactor(Value value, Value coordinate);
  void readComparison(arith::CmpIOp op, MaskCondition &condition);
  std::optional<int64_t> getDivisor(Operation *op, Value coordinate);

  // MaskWidth.cpp
  LinearSum getSum(Value value);
  std::optional<LinearSum> computeSum(Value value);
  void collectBounds();
  void addBound(Value larger, Value smaller, int64_t least);
  std::optional<int64_t> getShift(const LinearSum &bound, int64_t rows);

  Region &mask;
  IndexRanges ranges, smallRanges = IndexRanges(/*assumeSmall=*/true);
  llvm::DenseMap<std::pair<Value, Value>, std::optional<int64_t>> factors;
  llvm::DenseMap<Value, std::unique_ptr<MaskCondition>> conditions;
  llvm::DenseMap<Value, LinearSum> sums;
  /// The bounds of k in a conjunction, each as bound - k >= 0 or k - bound >= 0; computed on
  /// demand.
  struct KeyBounds {
    SmallVector<LinearSum> above, below;
  };
  std::optional<KeyBounds> bounds;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_MASKREADER_H
