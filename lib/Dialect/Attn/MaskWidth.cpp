//===- MaskWidth.cpp - how many keys a row can see ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window is a conjunction of k >= x - a and k <= x + b. Both bounds are read as sums of what
// the region doesn't compute by additions; where they differ by a constant alone, that is the
// width, whatever x is.
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/MaskWidth.h"

#include "attnc/Dialect/Attn/IndexRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Values with their factors, and a constant. Factors that 64 bits don't hold make it invalid.
struct Sum {
  llvm::SmallMapVector<Value, int64_t, 4> terms;
  int64_t constant = 0;
  bool isValid = true;

  void add(const Sum &other, int64_t factor);
  /// The constant, where nothing else is left.
  std::optional<int64_t> getConstant() const {
    bool isConstant = llvm::all_of(terms, [](auto &term) { return term.second == 0; });
    return isConstant ? std::optional(constant) : std::nullopt;
  }
};

/// The bounds of k in a conjunction, each as bound - k >= 0 or k - bound >= 0.
struct Bounds {
  SmallVector<Sum> above, below;
  IndexRanges ranges;
  llvm::SmallDenseSet<Value> seen;
  /// Of values that were looked at before: many paths may lead to one.
  DenseMap<Value, Sum> sums;
};
} // namespace

void Sum::add(const Sum &other, int64_t factor) {
  isValid &= other.isValid;
  auto add = [&](int64_t &to, int64_t number) {
    auto sum = llvm::checkedMulAdd(number, factor, to);
    isValid &= sum.has_value();
    to = sum.value_or(0);
  };
  add(constant, other.constant);
  for (auto &[value, number] : other.terms)
    add(terms[value], number);
}

static Sum getSum(Value value, Bounds &bounds);

/// Looks into sums that do not wrap around. Nothing for a value that is none.
static std::optional<Sum> readSum(Value value, Bounds &bounds) {
  APInt number;
  Operation *op = value.getDefiningOp();
  auto isNarrow = [](Type type) { return type.isInteger() && type.getIntOrFloatBitWidth() < 32; };
  Sum sum;
  if (matchPattern(value, m_ConstantInt(&number)) && number.isSignedIntN(31)) {
    sum.constant = number.getSExtValue();
    return sum;
  }
  if (!isLinearStep(op) || isNarrow(value.getType()) || bounds.ranges.mayWrap(value))
    return std::nullopt;
  sum = getSum(op->getOperand(0), bounds);
  if (op->getNumOperands() == 2)
    sum.add(getSum(op->getOperand(1), bounds), isa<arith::SubIOp>(op) ? -1 : 1);
  return sum.isValid ? std::optional(sum) : std::nullopt;
}

static Sum getSum(Value value, Bounds &bounds) {
  if (auto found = bounds.sums.find(value); found != bounds.sums.end())
    return found->second;
  std::optional<Sum> sum = readSum(value, bounds);
  if (!sum)
    sum.emplace().terms[value] = 1;
  return bounds.sums[value] = *sum;
}

/// Adds `larger` - `smaller` - `least` >= 0 to the bounds of `k`, on the side that it is of.
static void addBound(Value larger, Value smaller, int64_t least, Value k, Bounds &bounds) {
  Sum sum = getSum(larger, bounds);
  sum.add(getSum(smaller, bounds), -1);
  sum.constant -= least;
  if (!sum.isValid)
    return;
  if (int64_t factor = sum.terms.lookup(k); factor == -1)
    bounds.above.push_back(sum);
  else if (factor == 1)
    bounds.below.push_back(sum);
}

static void collectBounds(Value condition, Value k, Bounds &bounds) {
  using P = arith::CmpIPredicate;
  if (!bounds.seen.insert(condition).second)
    return;
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    collectBounds(both.getLhs(), k, bounds);
    collectBounds(both.getRhs(), k, bounds);
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return;
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  P predicate = compare.getPredicate();
  if (predicate == P::sge || predicate == P::sgt || predicate == P::eq)
    addBound(lhs, rhs, predicate == P::sgt, k, bounds);
  if (predicate == P::sle || predicate == P::slt || predicate == P::eq)
    addBound(rhs, lhs, predicate == P::slt, k, bounds);
}

/// Whether a value of the region is the same for all rows and keys. What was `seen` before is, or
/// is known not to be.
static bool isOfHead(Value value, Region &mask, llvm::SmallDenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  if (value == mask.getArgument(2) || value == mask.getArgument(3))
    return false;
  Operation *op = value.getDefiningOp();
  return !op || !mask.isAncestor(op->getParentRegion()) ||
         llvm::all_of(op->getOperands(), [&](Value each) { return isOfHead(each, mask, seen); });
}

/// How many more keys `rows` rows see than one: as many as the bound moves on from the first of
/// them to the last. Nothing where it moves otherwise than in proportion.
static std::optional<int64_t> getShift(const Sum &bound, Region &mask, int64_t rows) {
  if (rows == 1)
    return 0;
  Value q = mask.getArgument(2), k = mask.getArgument(3);
  llvm::SmallDenseSet<Value> seen;
  for (auto &[value, factor] : bound.terms)
    if (factor != 0 && value != q && value != k && !isOfHead(value, mask, seen))
      return std::nullopt;
  return llvm::checkedMul(std::abs(bound.terms.lookup(q)), rows - 1);
}

std::optional<int64_t> attn::findMaskWidth(Region &mask, int64_t rows) {
  if (mask.empty())
    return std::nullopt;
  Bounds bounds;
  collectBounds(cast<YieldOp>(mask.front().getTerminator()).getValue(), mask.getArguments().back(),
                bounds);
  std::optional<int64_t> width;
  for (const Sum &above : bounds.above)
    for (const Sum &below : bounds.below) {
      Sum both = above; // (last - k) + (k - first)
      both.add(below, 1);
      auto distance = both.getConstant(), shift = getShift(above, mask, rows);
      if (!both.isValid || !distance || !shift || *distance == INT64_MAX)
        continue;
      if (auto found = llvm::checkedAdd(*distance + 1, *shift))
        width = std::min(width.value_or(INT64_MAX), *found);
    }
  return width;
}

std::optional<int64_t> attn::findMostKeys(AttentionOp op, int64_t rows) {
  std::optional<int64_t> width = findMaskWidth(op.getMask(), rows);
  if (auto key = op.getKey().getType(); !key.isDynamicDim(2))
    width = std::min(width.value_or(INT64_MAX), key.getDimSize(2));
  return width;
}
