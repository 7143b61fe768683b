//===- ProbRegion.cpp - analysis of prob regions --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/ProbRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

ProbRegion::ProbRegion(Region &body) {
  Block &block = body.front();
  Value prob = block.getArgument(0);
  yielded = block.getTerminator()->getOperand(0);
  dependent.insert(prob);
  linear.insert(prob);
  for (Operation &op : block.without_terminator()) {
    if (!readsProb(op))
      continue;
    dependent.insert(op.result_begin(), op.result_end());
    Value value = getGuarded(op);
    if (value ? isLinear(value) : keeps(op, [&](Value v) { return isLinear(v); }))
      linear.insert(op.getResult(0));
    if (value ? isLinear(value) : keeps(op, [&](Value v) { return isGuarded(v); }))
      guarded.insert(op.getResult(0));
  }
}

bool ProbRegion::isLinear(Value value) const {
  return linear.contains(value) || matchPattern(value, m_AnyZeroFloat());
}

bool ProbRegion::isGuarded(Value value) const {
  return guarded.contains(value) || matchPattern(value, m_AnyZeroFloat());
}

bool ProbRegion::readsProb(Operation &op) const {
  WalkResult result = op.walk([&](Operation *nested) {
    bool reads = llvm::any_of(nested->getOperands(), [&](Value v) { return !isFree(v); });
    return reads ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Sums of linear values are linear, and so are products with a factor independent of the prob.
bool ProbRegion::keeps(Operation &op, function_ref<bool(Value)> hasProperty) const {
  if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::AddFOp, arith::SubFOp>(op))
    return llvm::all_of(op.getOperands(), hasProperty);
  if (isa<arith::MulFOp>(op) && isFree(op.getOperand(0)))
    return hasProperty(op.getOperand(1));
  if (isa<arith::MulFOp, arith::DivFOp>(op))
    return hasProperty(op.getOperand(0)) && isFree(op.getOperand(1));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isFree(select.getCondition()) && hasProperty(select.getTrueValue()) &&
           hasProperty(select.getFalseValue());
  return false;
}

/// The value that a condition tests for NaN; null for other conditions.
static Value getAskedForNaN(Value condition) {
  if (auto isNaN = condition.getDefiningOp<math::IsNaNOp>())
    return isNaN.getOperand();
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  bool isUnordered = compare && (compare.getPredicate() == arith::CmpFPredicate::UNO ||
                                 compare.getPredicate() == arith::CmpFPredicate::UNE);
  return isUnordered && compare.getLhs() == compare.getRhs() ? compare.getLhs() : Value();
}

Value ProbRegion::getGuarded(Operation &op) const {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return {};
  Value asked = getAskedForNaN(select.getCondition());
  return asked == select.getFalseValue() ? asked : Value();
}
