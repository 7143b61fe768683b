//===- RaiseSoftmax.cpp - softmaxes written out ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponentials divided by their sum, before or after the product with the values. What was taken
// off all scores of a row before changes nothing.
//
//===----------------------------------------------------------------------===//

#include "../Bodies.h"
#include "../Shapes.h"
#include "Stage.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A scalar of a map's region, or, without a map, the elements of a tensor.
struct Element {
  Value value;
  MapOp map = {};

  /// What computes it: a tensor's elements are what the map that gives them yields.
  Operation *resolve() {
    auto of = map ? MapOp() : value.getDefiningOp<MapOp>();
    if (of)
      value = yieldedValue(of.getBody()), map = of;
    return value.getDefiningOp();
  }
  /// The operand of the op that `resolve` gave.
  Element getOperand(unsigned n) {
    Value operand = value.getDefiningOp()->getOperand(n);
    auto argument = dyn_cast<BlockArgument>(operand);
    if (map && argument && argument.getOwner() == &map.getBody().front())
      return {map.getInputs()[argument.getArgNumber()]};
    return {operand, map};
  }
  bool isTensor() const { return !map; }
};

/// Exponentials of scores.
struct Numerators {
  Value scores;
  /// Along which dimension a maximum was taken off them.
  std::optional<int64_t> shiftedAlong;
};
} // namespace

/// The dimension along which `tensor` is `input` reduced and kept as a size of 1.
static std::optional<int64_t> getReducedDim(Value tensor, Value input, ReduceKind kind) {
  auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>();
  auto reduce = (expand ? expand.getSrc() : tensor).getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || reduce.getInput() != input ||
      reduce.getAxes().size() != 1 || rankOf(tensor) != rankOf(input))
    return std::nullopt;
  SmallVector<bool> reduced = reduce.getReducedDims();
  int64_t dim = llvm::find(reduced, true) - reduced.begin();
  return sizeOf(tensor, dim) == 1 ? std::optional(dim) : std::nullopt;
}

/// What `tensor` holds the exponentials of; none where it holds something else.
static std::optional<Numerators> matchNumerators(Value tensor) {
  Element power{tensor};
  if (!isa_and_nonnull<math::ExpOp>(power.resolve()))
    return std::nullopt;
  Element exponent = power.getOperand(0);
  if (exponent.isTensor() && exponent.value.getType() != tensor.getType())
    return std::nullopt;
  Element shifted = exponent;
  if (isa_and_nonnull<arith::SubFOp>(shifted.resolve())) {
    Element score = shifted.getOperand(0), most = shifted.getOperand(1);
    if (score.isTensor() && most.isTensor() && score.value.getType() == tensor.getType())
      if (auto dim = getReducedDim(most.value, score.value, ReduceKind::max))
        return Numerators{score.value, dim};
  }
  if (!exponent.isTensor())
    return std::nullopt;
  return Numerators{exponent.value, std::nullopt};
}

/// The numerators that a quotient's left side holds, where its right side is their sum: along the
/// dimension that they were shifted along, for else it matters by how much.
static std::optional<std::pair<Numerators, int64_t>> matchSum(Value weights, Value sum) {
  std::optional<int64_t> dim = getReducedDim(sum, weights, ReduceKind::sum);
  std::optional<Numerators> numerators = dim ? matchNumerators(weights) : std::nullopt;
  if (!numerators || numerators->shiftedAlong.value_or(*dim) != *dim)
    return std::nullopt;
  return std::pair(*numerators, *dim);
}

static Value createSoftmax(RewriterBase &rewriter, Location loc, Value scores, int64_t dim) {
  int64_t axis = dim == rankOf(scores) - 1 ? -1 : dim;
  return SoftmaxOp::create(rewriter, loc, scores.getType(), scores, /*sink=*/Value(),
                           rewriter.getI64IntegerAttr(axis));
}

/// The softmax, or the product of one, that a quotient of tensors ends.
static Value raiseQuotient(RewriterBase &rewriter, Operation *op) {
  Element quotient{op->getResult(0)};
  if (!isa_and_nonnull<arith::DivFOp>(quotient.resolve()))
    return nullptr;
  Element left = quotient.getOperand(0), right = quotient.getOperand(1);
  if (!left.isTensor() || !right.isTensor() || left.value.getType() != op->getResult(0).getType())
    return nullptr;
  rewriter.setInsertionPoint(op);
  if (auto match = matchSum(left.value, right.value))
    return createSoftmax(rewriter, op->getLoc(), match->first.scores, match->second);
  auto product = left.value.getDefiningOp<MatmulOp>();
  auto match = product ? matchSum(product.getLeft(), right.value) : std::nullopt;
  if (!match || match->second != rankOf(product.getLeft()) - 1 ||
      rankOf(product.getLeft()) != rankOf(product.getResult()))
    return nullptr;
  Value prob = createSoftmax(rewriter, op->getLoc(), match->first.scores, match->second);
  return MatmulOp::create(rewriter, op->getLoc(), product.getType(), prob, product.getRight());
}

void attn::raiseSoftmaxes(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<Operation *> quotients;
  for (Block &block : function.getBody())
    for (Operation &op : block)
      if (isElementwiseOnTensors(&op))
        quotients.push_back(&op);
  for (Operation *op : quotients)
    if (Value raised = raiseQuotient(rewriter, op))
      rewriter.replaceAllUsesWith(op->getResult(0), raised);
}
