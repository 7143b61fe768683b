//===- ResultSizes.cpp - computed sizes of results ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/ResultSizes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace attnc;

namespace {
/// Computes sizes by folding the ops that compute them on constants.
class SizeEvaluator {
public:
  explicit SizeEvaluator(ArrayRef<ArrayRef<int64_t>> arguments) : arguments(arguments) {}

  std::optional<int64_t> getSize(Value tensor, int64_t dim);

private:
  std::optional<int64_t> getSize(OpResult tensor, int64_t dim);
  std::optional<int64_t> getProduct(Value tensor, ArrayRef<int64_t> dims);
  std::optional<int64_t> evaluate(OpFoldResult index);
  Attribute fold(Value value);

  ArrayRef<ArrayRef<int64_t>> arguments;
};
} // namespace

Attribute SizeEvaluator::fold(Value value) {
  Attribute constant;
  Operation *op = value.getDefiningOp();
  if (!op || matchPattern(value, m_Constant(&constant)))
    return constant;
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto index = dim.getConstantIndex();
    auto size = index ? getSize(dim.getSource(), *index) : std::nullopt;
    return size ? IntegerAttr::get(value.getType(), *size) : Attribute();
  }
  if (op->getNumRegions() != 0 || op->getNumResults() != 1)
    return nullptr;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(fold(operand));
    if (!operands.back())
      return nullptr;
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return nullptr;
  if (auto known = dyn_cast<Attribute>(results[0]))
    return known;
  return fold(cast<Value>(results[0]));
}

std::optional<int64_t> SizeEvaluator::evaluate(OpFoldResult index) {
  if (auto known = getConstantIntValue(index))
    return known;
  auto value = dyn_cast<Value>(index);
  auto constant = value ? dyn_cast_or_null<IntegerAttr>(fold(value)) : IntegerAttr();
  return constant ? std::optional(constant.getInt()) : std::nullopt;
}

std::optional<int64_t> SizeEvaluator::getProduct(Value tensor, ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) {
    auto size = getSize(tensor, dim);
    if (!size)
      return std::nullopt;
    product *= *size;
  }
  return product;
}

std::optional<int64_t> SizeEvaluator::getSize(OpResult tensor, int64_t dim) {
  Operation *op = tensor.getOwner();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return evaluate(expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return getProduct(collapse.getSrc(), collapse.getReassociationIndices()[dim]);
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
    return shape ? evaluate(OpFoldResult(shape.getElements()[dim])) : std::nullopt;
  }
  OpBuilder before(op);
  ReifiedRankedShapedTypeDims sizes;
  if (succeeded(reifyResultShapes(before, op, sizes)))
    return evaluate(sizes[tensor.getResultNumber()][dim]);
  // An elementwise op.
  bool sameRank = op->getNumOperands() > 0 && isa<RankedTensorType>(op->getOperand(0).getType()) &&
                  cast<RankedTensorType>(op->getOperand(0).getType()).getRank() ==
                      cast<RankedTensorType>(tensor.getType()).getRank();
  return sameRank ? getSize(op->getOperand(0), dim) : std::nullopt;
}

std::optional<int64_t> SizeEvaluator::getSize(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return arguments[argument.getArgNumber()][dim];
  return getSize(cast<OpResult>(tensor), dim);
}

std::optional<SmallVector<SmallVector<int64_t>>>
attnc::getResultShapes(func::FuncOp graph, ArrayRef<ArrayRef<int64_t>> arguments) {
  // Sizes of intermediate tensors become ops of a copy, since the graph need not have them.
  OwningOpRef<func::FuncOp> copy(cast<func::FuncOp>(graph->clone()));
  SizeEvaluator evaluator(arguments);
  SmallVector<SmallVector<int64_t>> shapes;
  for (Value result : copy->getBody().front().getTerminator()->getOperands()) {
    SmallVector<int64_t> &shape = shapes.emplace_back();
    for (int64_t dim = 0; dim < cast<RankedTensorType>(result.getType()).getRank(); ++dim) {
      auto size = evaluator.getSize(result, dim);
      if (!size)
        return std::nullopt;
      shape.push_back(*size);
    }
  }
  return shapes;
}
