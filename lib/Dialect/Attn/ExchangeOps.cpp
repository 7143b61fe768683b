//===- ExchangeOps.cpp - ops that all ranks take part in ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/FormulaWriter.h"

#include "mlir/IR/TypeRange.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// ThisRankOp
//===----------------------------------------------------------------------===//

// this_rank_c1
LogicalResult ThisRankOp::verify() {
  if (getType().getDimSize(0) == 2)
    return success();
  return emitOpError("expected a result of 2 elements, found ") << getType();
}

ResultSizes ThisRankOp::getResultSizes(unsigned) { return {2}; }

void ThisRankOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "rank", "(this rank, the number of ranks)");
}

//===----------------------------------------------------------------------===//
// RingOp, AllReduceOp
//===----------------------------------------------------------------------===//

/// Checks the types that the region takes and yields; the latter are the results'.
static LogicalResult verifyExchange(Operation *op, Region &body, TypeRange taken,
                                    TypeRange yielded) {
  Block &block = body.front();
  if (block.getArgumentTypes() != taken)
    return op->emitOpError("expected the region to take (")
           << taken << "), found (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError("expected the region to end with attn.yield, found ")
           << block.getTerminator()->getName();
  if (yield->getOperandTypes() != yielded)
    return yield.emitOpError("expected tensors of (")
           << yielded << "), found (" << yield->getOperandTypes() << ")";
  return success();
}

static void writeExchange(FormulaWriter &w, Operation *op, StringRef name) {
  auto names = llvm::map_to_vector(op->getOperands(), [&](Value value) { return w.nameOf(value); });
  for (auto [number, result] : llvm::enumerate(op->getResults()))
    w.add(result, ("carried_" + Twine(number)).str(),
          (name + "(" + llvm::join(names, ", ") + ")[" + Twine(number) + "]").str());
}

// ring_c1
LogicalResult RingOp::verifyRegions() {
  return verifyExchange(*this, getBody(), getOperandTypes(), getInits().getTypes());
}

ResultSizes RingOp::getResultSizes(unsigned result) { return sizesLike(getInits()[result]); }

void RingOp::writeFormula(FormulaWriter &w) { writeExchange(w, *this, "ring"); }

// all_reduce_c1
LogicalResult AllReduceOp::verifyRegions() {
  SmallVector<Type> twice(getOperandTypes());
  llvm::append_range(twice, getOperandTypes());
  return verifyExchange(*this, getBody(), twice, getOperandTypes());
}

ResultSizes AllReduceOp::getResultSizes(unsigned result) { return sizesLike(getInputs()[result]); }

void AllReduceOp::writeFormula(FormulaWriter &w) { writeExchange(w, *this, "all_reduce"); }
