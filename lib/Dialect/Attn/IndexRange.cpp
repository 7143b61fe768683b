//===- IndexRange.cpp - ranges of integers in regions ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels compute indices in 32 bits, MLIR's have 64. If ranges show that a comparison might
// differ, it is done in 64 bits.
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/IndexRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

static int64_t saturate(__int128 x) {
  return x > kEndless ? kEndless : x < -kEndless ? -kEndless : int64_t(x);
}

bool IntegerRange::fits(unsigned width) const {
  return width >= 64 ? low > -kEndless && high < kEndless
                     : llvm::isIntN(width, low) && llvm::isIntN(width, high);
}

bool IntegerRange::differenceFits(IntegerRange x, IntegerRange y, unsigned width) {
  int64_t most = saturate(std::max(__int128(x.high) - y.low, __int128(y.high) - x.low));
  return IntegerRange{0, saturate(__int128(most) + 1)}.fits(width);
}

static IntegerRange ofWidth(unsigned width) {
  return width >= 64 ? IntegerRange{-kEndless, kEndless}
                     : IntegerRange{llvm::minIntN(width), llvm::maxIntN(width)};
}

/// Unknown indices have the range of 32 bits, in which they are computed.
static IntegerRange ofType(Type type) {
  return ofWidth(type.isIndex() ? 32 : type.getIntOrFloatBitWidth());
}

/// Index arithmetic whose ranges are computed from its operands'.
static bool isArithmetic(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::SelectOp>(op);
}

bool attn::isLinearStep(Operation *op) {
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::IndexCastOp>(op);
}

bool attn::isCutOff(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    return std::abs(constant.value()) > kMaxIndex;
  auto cast = dyn_cast<arith::IndexCastOp>(op);
  if (!cast || !cast.getType().isIndex())
    return false;
  unsigned width = cast.getIn().getType().getIntOrFloatBitWidth();
  return width == 64 || (width == 32 && llvm::any_of(op->getUsers(), isArithmetic));
}

IntegerRange IntegerRange::getSmall(Type type) {
  int64_t most = type.isInteger(64) ? int64_t(1) << 60 : kMaxPosition;
  IntegerRange all = ofType(type);
  return {std::max(all.low, -most), std::min(all.high, most)};
}

IntegerRange IndexRanges::getUnknown(Type type) const {
  return assumeSmall && !type.isIndex() ? IntegerRange::getSmall(type) : ofType(type);
}

IntegerRange IndexRanges::get(Value value) {
  if (auto known = ranges.find(value); known != ranges.end())
    return known->second;
  IntegerRange range = compute(value);
  ranges[value] = range;
  return range;
}

static IntegerRange cutOff(IntegerRange range) {
  return {std::clamp(range.low, -kMaxIndex, kMaxIndex),
          std::clamp(range.high, -kMaxIndex, kMaxIndex)};
}

IntegerRange IndexRanges::compute(Value value) {
  Type type = value.getType();
  Operation *op = value.getDefiningOp();
  if (type.isIndex() && (!op || isa<tensor::DimOp>(op)))
    return {0, kMaxPosition};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    int64_t number = saturate(constant.getSExtValue());
    return isCutOff(op) ? cutOff({number, number}) : IntegerRange{number, number};
  }
  if (!op)
    return getUnknown(type);
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    IntegerRange from = get(cast.getIn());
    if (type.isIndex())
      return isCutOff(op) ? cutOff(from) : from;
    return from.fits(type.getIntOrFloatBitWidth()) ? from : ofType(type);
  }
  if (isPlainDivision(op))
    return computeQuotient(op);
  return isArithmetic(op) ? computeArithmetic(op) : getUnknown(type);
}

bool IndexRanges::isPlainDivision(Operation *op) {
  APInt divisor;
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp>(
          op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) || !divisor.isStrictlyPositive())
    return false;
  IntegerRange dividend = get(op->getOperand(0));
  return dividend.low >= 0 && ofType(op->getOperand(0).getType()).contains(dividend);
}

IntegerRange IndexRanges::computeQuotient(Operation *op) {
  APInt divisor;
  matchPattern(op->getOperand(1), m_ConstantInt(&divisor));
  IntegerRange dividend = get(op->getOperand(0));
  int64_t by = divisor.getSExtValue();
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return {0, std::min(dividend.high, by - 1)};
  return {dividend.low / by, dividend.high / by};
}

IntegerRange IndexRanges::computeArithmetic(Operation *op) {
  IntegerRange y = get(op->getOperands().back()), x = get(*std::prev(op->operand_end(), 2));
  if (isa<arith::AddIOp>(op))
    return {saturate(__int128(x.low) + y.low), saturate(__int128(x.high) + y.high)};
  if (isa<arith::SubIOp>(op))
    return {saturate(__int128(x.low) - y.high), saturate(__int128(x.high) - y.low)};
  if (isa<arith::MinSIOp>(op))
    return {std::min(x.low, y.low), std::min(x.high, y.high)};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(x.low, y.low), std::max(x.high, y.high)};
  if (isa<arith::SelectOp>(op))
    return {std::min(x.low, y.low), std::max(x.high, y.high)};
  __int128 products[] = {__int128(x.low) * y.low, __int128(x.low) * y.high,
                         __int128(x.high) * y.low, __int128(x.high) * y.high};
  auto [least, most] = std::minmax_element(std::begin(products), std::end(products));
  return {saturate(*least), saturate(*most)};
}

bool IndexRanges::mayWrap(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isLinearStep(op))
    return false;
  if (auto known = wraps.find(value); known != wraps.end())
    return known->second;
  // Indices that do not fit 32 bits are computed in 64.
  bool result = !value.getType().isIndex() && !isa<arith::IndexCastOp>(op) &&
                !get(value).fits(value.getType().getIntOrFloatBitWidth());
  result |= llvm::any_of(op->getOperands(), [&](Value each) { return mayWrap(each); });
  wraps[value] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic in 64 bits
//===----------------------------------------------------------------------===//

namespace {
/// The index arithmetic that a comparison, or a cast to an integer, depends on.
struct Arithmetic {
  llvm::SmallPtrSet<Operation *, 8> ops;
  /// Saturated numbers. Such a number is still on the same side of every position, but its
  /// remainders and its distance to another one change.
  int64_t numCutOff = 0, mostCutOff = 1;
  bool fits = true;

  bool isWide() const { return !fits || numCutOff > mostCutOff; }
};
} // namespace

static void collect(Value value, IndexRanges &ranges, Arithmetic &found) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.getType().isIndex() || found.ops.contains(op))
    return;
  if (isCutOff(op)) {
    ++found.numCutOff;
    found.ops.insert(op);
    return;
  }
  if (op->getNumOperands() == 0 || isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return;
  found.ops.insert(op);
  if (!isArithmetic(op) || isa<arith::MulIOp>(op))
    found.mostCutOff = 0;
  found.fits &= ranges.get(value).fits(32);
  for (Value operand : op->getOperands())
    collect(operand, ranges, found);
}

llvm::DenseSet<Operation *> attn::findWideIndices(Region &region) {
  llvm::DenseSet<Operation *> wide;
  IndexRanges ranges;
  region.walk([&](Operation *op) {
    Arithmetic found;
    if (isa<arith::IndexCastOp>(op))
      found.mostCutOff = 0;
    else if (!isa<arith::CmpIOp>(op))
      return;
    for (Value operand : op->getOperands())
      collect(operand, ranges, found);
    if (found.isWide())
      wide.insert(found.ops.begin(), found.ops.end());
  });
  return wide;
}
