//===- MaskWidth.cpp - how many keys a row can see ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window is a conjunction of k >= x - a and k <= x + b. Both bounds are read as linear
// combinations; if they differ by a constant, that is the width, whatever x is.
//
//===----------------------------------------------------------------------===//

#include "MaskReader.h"

#include "mlir/IR/Matchers.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::attn;

void LinearSum::add(const LinearSum &other, int64_t factor) {
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

std::optional<int64_t> LinearSum::getConstant() const {
  bool isConstant = llvm::all_of(terms, [](auto &term) { return term.second == 0; });
  return isConstant ? std::optional(constant) : std::nullopt;
}

/// Expands sums that do not wrap around; none for other values.
std::optional<LinearSum> MaskAnalysis::Reader::computeSum(Value value) {
  APInt number;
  Operation *op = value.getDefiningOp();
  auto isNarrow = [](Type type) { return type.isInteger() && type.getIntOrFloatBitWidth() < 32; };
  LinearSum sum;
  if (matchPattern(value, m_ConstantInt(&number)) && number.isSignedIntN(31)) {
    sum.constant = number.getSExtValue();
    return sum;
  }
  if (!isLinearStep(op) || isNarrow(value.getType()) || ranges.mayWrap(value))
    return std::nullopt;
  sum = getSum(op->getOperand(0));
  if (op->getNumOperands() == 2)
    sum.add(getSum(op->getOperand(1)), isa<arith::SubIOp>(op) ? -1 : 1);
  return sum.isValid ? std::optional(sum) : std::nullopt;
}

LinearSum MaskAnalysis::Reader::getSum(Value value) {
  if (auto found = sums.find(value); found != sums.end())
    return found->second;
  std::optional<LinearSum> sum = computeSum(value);
  if (!sum)
    sum.emplace().terms[value] = 1;
  return sums[value] = *sum;
}

/// Adds `larger` - `smaller` - `least` >= 0 to the lower or upper bounds of k.
void MaskAnalysis::Reader::addBound(Value larger, Value smaller, int64_t least) {
  LinearSum sum = getSum(larger);
  sum.add(getSum(smaller), -1);
  sum.constant -= least;
  if (!sum.isValid)
    return;
  if (int64_t factor = sum.terms.lookup(mask.getArgument(3)); factor == -1)
    bounds->above.push_back(sum);
  else if (factor == 1)
    bounds->below.push_back(sum);
}

/// The comparisons of a conjunction.
void MaskAnalysis::Reader::collectBounds() {
  using P = arith::CmpIPredicate;
  bounds.emplace();
  SmallVector<Value> required = {cast<YieldOp>(mask.front().getTerminator()).getValue()};
  llvm::SmallDenseSet<Value> seen;
  while (!required.empty()) {
    Value condition = required.pop_back_val();
    if (!seen.insert(condition).second)
      continue;
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      required.append({both.getLhs(), both.getRhs()});
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      continue;
    Value lhs = compare.getLhs(), rhs = compare.getRhs();
    P predicate = compare.getPredicate();
    if (predicate == P::sge || predicate == P::sgt || predicate == P::eq)
      addBound(lhs, rhs, predicate == P::sgt);
    if (predicate == P::sle || predicate == P::slt || predicate == P::eq)
      addBound(rhs, lhs, predicate == P::slt);
  }
}

/// Whether a value of the region is the same for all rows and keys. Values in `seen` are not
/// visited again.
static bool isOfHead(Value value, Region &mask, llvm::SmallDenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  if (value == mask.getArgument(2) || value == mask.getArgument(3))
    return false;
  Operation *op = value.getDefiningOp();
  return !op || !mask.isAncestor(op->getParentRegion()) ||
         llvm::all_of(op->getOperands(), [&](Value each) { return isOfHead(each, mask, seen); });
}

/// How many more keys `rows` rows see than one: the distance that the bound moves from the first to
/// the last row. None if the bound is not linear in q.
std::optional<int64_t> MaskAnalysis::Reader::getShift(const LinearSum &bound, int64_t rows) {
  if (rows == 1)
    return 0;
  Value q = mask.getArgument(2), k = mask.getArgument(3);
  llvm::SmallDenseSet<Value> seen;
  for (auto &[value, factor] : bound.terms)
    if (factor != 0 && value != q && value != k && !isOfHead(value, mask, seen))
      return std::nullopt;
  return llvm::checkedMul(std::abs(bound.terms.lookup(q)), rows - 1);
}

std::optional<int64_t> MaskAnalysis::Reader::getWidth(int64_t rows) {
  if (!bounds)
    collectBounds();
  std::optional<int64_t> width;
  for (const LinearSum &above : bounds->above)
    for (const LinearSum &below : bounds->below) {
      LinearSum both = above; // (last - k) + (k - first)
      both.add(below, 1);
      auto distance = both.getConstant(), shift = getShift(above, rows);
      if (!both.isValid || !distance || !shift || *distance == INT64_MAX)
        continue;
      if (auto found = llvm::checkedAdd(*distance + 1, *shift))
        width = std::min(width.value_or(INT64_MAX), *found);
    }
  return width;
}

/// The constant c of a bound q + c - k >= 0 or k - q + c >= 0.
static std::optional<int64_t> getDistance(const LinearSum &bound, Region &mask) {
  Value q = mask.getArgument(2), k = mask.getArgument(3);
  bool isOfBoth = bound.terms.lookup(q) == -bound.terms.lookup(k);
  for (auto &[value, factor] : bound.terms)
    isOfBoth &= value == q || value == k || factor == 0;
  return isOfBoth ? std::optional(std::max<int64_t>(bound.constant, 0)) : std::nullopt;
}

MaskAnalysis::Reach MaskAnalysis::Reader::getReach() {
  if (!bounds)
    collectBounds();
  auto getLeast = [&](ArrayRef<LinearSum> sums) {
    std::optional<int64_t> least;
    for (const LinearSum &sum : sums)
      if (std::optional<int64_t> distance = getDistance(sum, mask))
        least = std::min(least.value_or(INT64_MAX), *distance);
    return least;
  };
  return {getLeast(bounds->below), getLeast(bounds->above)};
}
