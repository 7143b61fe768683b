//===- ProbGuards.cpp - conditions that no prob meets ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Bodies.h"
#include "Stage.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a scalar is a prob or a 0 in its place, in whatever type.
static bool isPlainProb(Value scalar, Value prob, int depth = 0) {
  constexpr int mostDepth = 16;
  if (scalar == prob || matchPattern(scalar, m_AnyZeroFloat()))
    return true;
  Operation *op = scalar.getDefiningOp();
  if (depth > mostDepth || !op)
    return false;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isPlainProb(select.getTrueValue(), prob, depth + 1) &&
           isPlainProb(select.getFalseValue(), prob, depth + 1);
  return isa<arith::ExtFOp>(op) && isPlainProb(op->getOperand(0), prob, depth + 1);
}

static bool isInfinite(Value scalar) {
  APFloat constant(0.0);
  return matchPattern(scalar, m_ConstantFloat(&constant)) && constant.isInfinity();
}

void attn::dropProbGuards(RewriterBase &rewriter, ModifyProbOp op) {
  Value prob = op.getBody().getArgument(0);
  for (auto compare : llvm::make_early_inc_range(op.getBody().front().getOps<arith::CmpFOp>())) {
    bool isEqual = compare.getPredicate() == arith::CmpFPredicate::OEQ;
    if (!isEqual || !isInfinite(compare.getRhs()) || !isPlainProb(compare.getLhs(), prob))
      continue;
    rewriter.setInsertionPoint(compare);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(compare, rewriter.getBoolAttr(false));
  }
}
