//===- RaiseContext.cpp - products of probs are contexts ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From each product or `attn.context` back through elementwise ops, reshapes and transposes to a
// softmax along keys. Elementwise ops between the two become `attn.modify_prob`, and the product
// `attn.context`.
//
//===----------------------------------------------------------------------===//

#include "../Shapes.h"
#include "Batches.h"
#include "Stage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

/// A softmax of scores, over four dimensions along the last of them, or a step behind one.
static bool isProb(Operation *op) {
  // attn-fuse-attention makes dropouts of a prob steps.
  while (isa_and_nonnull<DropoutOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (isa_and_nonnull<ModifyProbOp>(op))
    return true;
  auto softmax = dyn_cast_or_null<SoftmaxOp>(op);
  int64_t axis = softmax ? int64_t(softmax.getAxis()) : 0;
  return softmax && rankOf(softmax.getProb()) == 4 && (axis == -1 || axis == 3);
}

/// Whether the stage is shown as matrices of the same rows and columns, in the order of its batches
/// and heads.
static bool keepsMatrices(const Stage &prob, MatmulOp op) {
  int64_t rank = rankOf(op.getLeft());
  return llvm::none_of(prob.moves, llvm::IsaPred<TransposeOp>) && prob.follow(2) == rank - 2 &&
         prob.follow(3) == rank - 1;
}

/// Whether the prob's batch and heads are those that the product would have.
static bool haveSameFront(const Stage &prob, MatmulOp op, const Batches &batches) {
  auto type = cast<RankedTensorType>(prob.value.getType());
  if (type.getShape().take_front(2) != batches.getStageType().getShape().take_front(2))
    return false;
  int64_t rank = rankOf(op.getLeft());
  if (rank == 4)
    return prob.moves.empty();
  if (rank < 4)
    return true;
  auto expand = prob.moves.size() == 1 ? dyn_cast<tensor::ExpandShapeOp>(prob.moves[0])
                                       : tensor::ExpandShapeOp();
  return expand && expand.getReassociationIndices() == batches.getGroups();
}

static bool mayBeContext(MatmulOp op) {
  return rankOf(op.getLeft()) == rankOf(op.getResult()) &&
         (rankOf(op.getRight()) > 2 || rankOf(op.getLeft()) == 2) && haveKnownFront(op);
}

/// Shows the graph `context` as what `op` computes.
static void replaceByContext(RewriterBase &rewriter, Operation *op, Stage context) {
  context.setShownElement(getElementTypeOrSelf(op->getResult(0)));
  rewriter.replaceAllUsesWith(op->getResult(0), context.show(rewriter));
}

static void makeContext(RewriterBase &rewriter, const Stage &prob, MatmulOp op) {
  if (!mayBeContext(op) || !keepsMatrices(prob, op))
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  std::optional<std::pair<OpFoldResult, OpFoldResult>> parts;
  if (rankOf(op.getLeft()) == 3)
    parts = std::pair(tensor::getMixedSize(rewriter, loc, prob.value, 0),
                      tensor::getMixedSize(rewriter, loc, prob.value, 1));
  Batches batches(rewriter, op, parts);
  if (!haveSameFront(prob, op, batches))
    return;
  Type element = getElementTypeOrSelf(prob.value);
  Value value = inElements(rewriter, loc, batches.raise(op.getRight(), Batches::Keys), element);
  Stage context{
      ContextOp::create(rewriter, loc, batches.getStageType().clone(element), prob.value, value)};
  batches.addMoves(context);
  replaceByContext(rewriter, op, context);
}

/// The context in the prob's elements, if the graph shows it narrower ones.
static void widenContext(RewriterBase &rewriter, const Stage &prob, ContextOp op) {
  if (!prob.shownElement || !prob.moves.empty())
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Type element = getElementTypeOrSelf(prob.value);
  Value value = inElements(rewriter, loc, op.getValue(), element);
  replaceByContext(
      rewriter, op,
      Stage{ContextOp::create(rewriter, loc, op.getType().clone(element), prob.value, value)});
}

/// The prob that `op`, a product or context, takes, as a stage: elementwise ops behind the softmax
/// become regions.
static std::optional<Stage> raiseProb(RewriterBase &rewriter, Operation *op, const Chains &chains) {
  std::optional<StagePath> path = findPath(op->getOperand(0), isProb, chains);
  if (!path || path->root->getBlock() != op->getBlock())
    return std::nullopt;
  Type element = getElementTypeOrSelf(path->root->getResult(0)),
       narrow = getElementTypeOrSelf(op->getOperand(0));
  if (element != narrow && !mayWiden(narrow, element))
    return std::nullopt;
  Stage prob{path->root->getResult(0)};
  for (Operation *step : path->steps) {
    if (isMove(step))
      prob.push(step);
    else if (!joinStage<ModifyProbOp>(rewriter, prob, step, chains.getBefore(step)))
      return std::nullopt;
    else if (auto modify = prob.value.getDefiningOp<ModifyProbOp>();
             isa<SoftmaxOp>(modify.getProb().getDefiningOp()))
      dropProbGuards(rewriter, modify);
  }
  return prob;
}

void attn::raiseContexts(RewriterBase &rewriter, func::FuncOp function) {
  for (Block &block : function.getBody()) {
    Chains chains(block, isProb);
    SmallVector<Operation *> products;
    for (Operation &op : block)
      if (isa<MatmulOp, ContextOp>(op))
        products.push_back(&op);
    for (Operation *product : products) {
      std::optional<Stage> prob = raiseProb(rewriter, product, chains);
      if (!prob)
        continue;
      if (auto matmul = dyn_cast<MatmulOp>(product))
        makeContext(rewriter, *prob, matmul);
      else
        widenContext(rewriter, *prob, cast<ContextOp>(product));
    }
  }
}
