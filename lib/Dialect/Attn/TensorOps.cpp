//===- TensorOps.cpp - maps, reductions, transposes, products -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "Formulas.h"
#include "Shapes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  // map_c2
  if (failed(verifySizes(*this)))
    return failure();
  return verifyResult(*this); // map_c3
}

LogicalResult MapOp::verifyRegions() {
  // map_c1
  if (getInputs().empty())
    return emitOpError("expected an operand, found none");
  auto elements = llvm::map_to_vector(
      getInputs(), [](Value input) { return getElementTypeOrSelf(input.getType()); });
  Block &block = getBody().front();
  if (block.getArgumentTypes() != ArrayRef<Type>(elements))
    return emitOpError("expected the region to take (")
           << elements << "), found (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("expected the region to end with attn.yield, found ")
           << block.getTerminator()->getName();
  Type expected = getElementTypeOrSelf(getResult());
  if (yield->getOperandTypes() != ArrayRef<Type>(expected))
    return yield.emitOpError("expected a value of ")
           << expected << ", found " << yield->getOperandTypes();
  return verifyChains(getBody());
}

SizeConstraints MapOp::getSizeConstraints() {
  SizeConstraints constraints;
  SmallVector<std::string> names;
  for (size_t n = 0; n < getInputs().size(); ++n)
    names.push_back("operand " + std::to_string(n));
  addBroadcast(constraints, getInputs(), names);
  return constraints;
}

ResultSizes MapOp::getResultSizes(unsigned) {
  return broadcastSizes(SmallVector<SizedTensor>(getInputs().begin(), getInputs().end()));
}

void MapOp::writeFormula(FormulaWriter &w) {
  std::vector<std::string> inputs;
  for (Value input : getInputs())
    inputs.push_back(w.nameOf(input));
  w.add(getResult(), "mapped", w.write(getBody(), inputs));
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

static SmallVector<bool> findReduced(int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<bool> reduced(rank, false);
  for (int64_t axis : axes)
    reduced[axis < 0 ? axis + rank : axis] = true;
  return reduced;
}

SmallVector<bool> ReduceOp::getReducedDims() { return findReduced(rankOf(getInput()), getAxes()); }

static LogicalResult verifyReduceElement(ReduceOp op) {
  // reduce_c1
  Type element = getElementTypeOrSelf(op.getInput());
  if (failed(verifyElement(op, "result", op.getResult(), "input", op.getInput())))
    return failure();
  bool wantsFloat = op.getKind() == ReduceKind::mean || op.getKind() == ReduceKind::l2;
  if (element.isInteger(1) || (wantsFloat && !isa<FloatType>(element)))
    return op.emitOpError("expected elements that ")
           << stringifyReduceKind(op.getKind()) << " takes, found " << element;
  return success();
}

static LogicalResult verifyReduceAxes(ReduceOp op) {
  // reduce_c2
  int64_t rank = rankOf(op.getInput());
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t axis : op.getAxes()) {
    if (axis < -rank || axis >= rank)
      return op.emitOpError("expected axes within rank ") << rank << ", found " << axis;
    if (!seen.insert(axis < 0 ? axis + rank : axis).second)
      return op.emitOpError("expected every axis once, found ") << axis << " twice";
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyReduceElement(*this)) || failed(verifyReduceAxes(*this)))
    return failure();
  return verifyResult(*this); // reduce_c3
}

FailureOr<ResultSizes> ReduceOp::inferSizes(SizedTensor input, ArrayRef<int64_t> axes,
                                            UnitAttr keepDims) {
  int64_t rank = input.type ? input.type.getRank() : 0;
  auto isWithin = [&](int64_t axis) { return -rank <= axis && axis < rank; };
  if (!input.type || !llvm::all_of(axes, isWithin))
    return failure();
  ResultSizes sizes;
  for (auto [dim, reduced] : llvm::enumerate(findReduced(rank, axes)))
    if (!reduced)
      sizes.push_back(TensorDim{input, int64_t(dim)});
    else if (keepDims)
      sizes.push_back(1);
  return sizes;
}

ResultSizes ReduceOp::getResultSizes(unsigned) {
  return *inferSizes(getInput(), getAxes(), getKeepDimsAttr());
}

void ReduceOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "reduce",
        stringifyReduceKind(getKind()).str() + "(" + w.nameOf(getInput()) + ", axes " +
            formatNumbers(getAxes()) + ")");
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

bool TransposeOp::keepsRows() {
  auto order = getPermutation();
  return order.empty() || order.back() + 1 == static_cast<int64_t>(order.size());
}

LogicalResult TransposeOp::verify() {
  // transpose_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", getInput())))
    return failure();
  // transpose_c2
  int64_t rank = rankOf(getInput());
  auto order = getPermutation();
  if (static_cast<int64_t>(order.size()) != rank || !isPermutationVector(order))
    return emitOpError("expected a permutation of ")
           << rank << " dimensions, found [" << order << "]";
  return verifyResult(*this); // transpose_c3
}

FailureOr<ResultSizes> TransposeOp::inferSizes(SizedTensor input, ArrayRef<int64_t> permutation) {
  ResultSizes sizes;
  for (int64_t dim : permutation) {
    if (!input.type || dim < 0 || dim >= input.type.getRank())
      return failure();
    sizes.push_back(TensorDim{input, dim});
  }
  return sizes;
}

ResultSizes TransposeOp::getResultSizes(unsigned) {
  return *inferSizes(getInput(), getPermutation());
}

void TransposeOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "transpose",
        w.nameOf(getInput()) + " with dims " + formatNumbers(getPermutation()));
}

//===----------------------------------------------------------------------===//
// MatmulOp
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  Value left = getLeft(), right = getRight();
  // matmul_c1
  if (failed(verifyElement(*this, "right", right, "left", left)) ||
      failed(verifyElement(*this, "result", getResult(), "left", left)))
    return failure();
  // matmul_c2
  for (auto [operand, name] : {std::pair(left, "left"), {right, "right"}})
    if (rankOf(operand) < 2)
      return emitOpError("expected ") << name << " of rank 2 or more, found " << rankOf(operand);
  // matmul_c3, matmul_c4
  if (failed(verifySizes(*this)))
    return failure();
  return verifyResult(*this); // matmul_c5
}

SizeConstraints MatmulOp::getSizeConstraints() {
  Value left = getLeft(), right = getRight();
  SizeConstraints constraints = {
      {"inner size", {{"left", left, rankOf(left) - 1}, {"right", right, rankOf(right) - 2}}}};
  addBroadcast(constraints, {left, right}, {"left", "right"}, /*numOwn=*/2);
  return constraints;
}

FailureOr<ResultSizes> MatmulOp::inferSizes(SizedTensor left, SizedTensor right) {
  if (!left.hasRankAtLeast(2) || !right.hasRankAtLeast(2))
    return failure();
  ResultSizes sizes = broadcastSizes({left, right}, /*numOwn=*/2);
  sizes.push_back(TensorDim{left, left.type.getRank() - 2});
  sizes.push_back(TensorDim{right, right.type.getRank() - 1});
  return sizes;
}

ResultSizes MatmulOp::getResultSizes(unsigned) { return *inferSizes(getLeft(), getRight()); }

SmallVector<SizeProduct> MatmulOp::getFlops() {
  return {flopsOfProduct(getResult(), TensorDim{getLeft(), rankOf(getLeft()) - 1})};
}

void MatmulOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "matmul", w.nameOf(getLeft()) + " @ " + w.nameOf(getRight()));
}
