//===- ExchangeOps.cpp - ops that all ranks take part in ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/FormulaWriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeRange.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// PlacesOp, AllGatherOp
//===----------------------------------------------------------------------===//

ResultSizes PlacesOp::getResultSizes(unsigned) { return {ShapedType::kDynamic}; }

/// The number of ranks is known in a call alone.
LogicalResult PlacesOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) {
  return failure();
}

void PlacesOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "places",
        ("places(" + w.nameOf(getRows()) + ", " + stringifyShardLayout(getLayout()) + ")").str());
}

LogicalResult AllGatherOp::verify() {
  auto type = cast<RankedTensorType>(getInput().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= type.getRank() || !type.isDynamicDim(dim)) // all_gather_c1
    return emitOpError("expected a dynamic dimension of ") << type << ", found " << dim;
  std::optional<ArrayRef<int64_t>> halo = getHalo(); // all_gather_c2
  auto isNegative = [](int64_t places) { return places < 0; };
  if (halo &&
      (halo->size() != 2 || llvm::any_of(*halo, isNegative) || getLayout() != ShardLayout::blocks))
    return emitOpError("expected halo to be two numbers of places in a sequence of blocks");
  return success();
}

ResultSizes AllGatherOp::getResultSizes(unsigned) {
  ResultSizes sizes = sizesLike(getInput());
  sizes[getDim()] = ResultSize(ShapedType::kDynamic);
  return sizes;
}

LogicalResult AllGatherOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> &sizes =
      shapes.emplace_back(tensor::getMixedSizes(builder, getLoc(), getInput()));
  sizes[getDim()] = getCount();
  return success();
}

void AllGatherOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "gathered", "all_gather(" + w.nameOf(getInput()) + ")");
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
