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
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A scalar of a map's region, or, without a map, the elements of a tensor.
struct Element {
  Value value;
  MapOp map = {};

  /// The op that computes it; for the elements of a map's result, the op of the yielded value.
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

/// The scores whose exponentials `tensor` holds; none if it holds other values.
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

/// The numerators of a softmax, if `sum` is their sum along the dimension of their maximum: with
/// another one, the shift would not cancel.
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

//===----------------------------------------------------------------------===//
// Other spellings
//===----------------------------------------------------------------------===//

/// The maximum that scores are shifted by, also if an infinite one is replaced by 0.
static Value getShift(Element shift) {
  if (shift.isTensor())
    return shift.value;
  auto select = shift.value.getDefiningOp<arith::SelectOp>();
  Element most = select ? shift.getOperand(1) : Element{};
  return select && most.isTensor() && matchPattern(select.getFalseValue(), m_AnyZeroFloat())
             ? most.value
             : Value();
}

/// The scores of a difference between scores and their maximum.
static std::optional<Numerators> matchShifted(Element difference, Value like) {
  if (!isa_and_nonnull<arith::SubFOp>(difference.resolve()))
    return std::nullopt;
  Element score = difference.getOperand(0);
  Value most = score.isTensor() ? getShift(difference.getOperand(1)) : Value();
  if (!most || score.value.getType() != like.getType())
    return std::nullopt;
  auto dim = getReducedDim(most, score.value, ReduceKind::max);
  return dim ? std::optional(Numerators{score.value, dim}) : std::nullopt;
}

/// The exponential of a logarithm of a softmax: exp(x - max - log Σ exp(x - max)).
static Value raiseExponential(RewriterBase &rewriter, Operation *op) {
  Value result = op->getResult(0);
  Element power{result};
  if (!isa_and_nonnull<math::ExpOp>(power.resolve()))
    return nullptr;
  Element logProb = power.getOperand(0);
  if (!isa_and_nonnull<arith::SubFOp>(logProb.resolve()))
    return nullptr;
  std::optional<Numerators> shifted = matchShifted(logProb.getOperand(0), result);
  Element logSum = logProb.getOperand(1);
  if (!shifted || !isa_and_nonnull<math::LogOp>(logSum.resolve()))
    return nullptr;
  Element sum = logSum.getOperand(0);
  auto reduce = sum.isTensor() ? sum.value.getDefiningOp<ReduceOp>() : ReduceOp();
  Element summed{reduce ? reduce.getInput() : Value()};
  if (!reduce ||
      getReducedDim(sum.value, reduce.getInput(), ReduceKind::sum) != shifted->shiftedAlong ||
      !isa_and_nonnull<math::ExpOp>(summed.resolve()))
    return nullptr;
  std::optional<Numerators> other = matchShifted(summed.getOperand(0), result);
  if (!other || other->scores != shifted->scores || other->shiftedAlong != shifted->shiftedAlong)
    return nullptr;
  rewriter.setInsertionPoint(op);
  return createSoftmax(rewriter, op->getLoc(), shifted->scores, *shifted->shiftedAlong);
}

/// Taking a row's maximum off the scores of a softmax changes nothing.
static void dropShift(RewriterBase &rewriter, SoftmaxOp op) {
  std::optional<Numerators> shifted = matchShifted(Element{op.getScore()}, op.getScore());
  int64_t rank = rankOf(op.getScore()), axis = op.getAxis();
  if (shifted && shifted->shiftedAlong == (axis < 0 ? axis + rank : axis) && !op.getSink())
    rewriter.modifyOpInPlace(op, [&] { op.getScoreMutable().assign(shifted->scores); });
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
    else if (Value softmax = raiseExponential(rewriter, op))
      rewriter.replaceAllUsesWith(op->getResult(0), softmax);
  function.walk([&](SoftmaxOp op) { dropShift(rewriter, op); });
}
