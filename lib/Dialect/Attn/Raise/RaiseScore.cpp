//===- RaiseScore.cpp - products that softmaxes take are scores -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From each softmax back through elementwise ops, reshapes and transposes to a product. The
// product becomes `attn.score`, what changes its elements `attn.modify_score`, and the softmax one
// along the keys.
//
//===----------------------------------------------------------------------===//

#include "../Shapes.h"
#include "Batches.h"
#include "Stage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isScoreSource(Operation *op) {
  return isa<ScoreOp, ModifyScoreOp, MaskOp, MatmulOp>(op);
}

/// Weights hold no keys: such a product is a layer.
static bool mayBeScore(MatmulOp op) {
  bool isShared = rankOf(op.getRight()) == 2;
  return !(isShared && (rankOf(op.getLeft()) > 2 || isWeight(op.getRight()))) && haveKnownFront(op);
}

/// The product as a score in elements of `element`, with its sides swapped where the softmax is
/// along its rows.
static Stage makeScore(RewriterBase &rewriter, MatmulOp op, bool isSwapped, Type element) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Batches batches(rewriter, op);
  Value query = batches.raise(op.getLeft(), isSwapped ? Batches::Keys : Batches::Queries);
  Value key = swapLast(rewriter, loc,
                       batches.raise(op.getRight(), isSwapped ? Batches::Queries : Batches::Keys));
  if (isSwapped)
    std::swap(query, key);
  RankedTensorType type = batches.getStageType();
  SmallVector<int64_t> shape(type.getShape());
  if (isSwapped)
    std::swap(shape[2], shape[3]);
  auto score = ScoreOp::create(
      rewriter, loc, type.clone(shape, element), inElements(rewriter, loc, query, element),
      inElements(rewriter, loc, key, element), rewriter.getF64FloatAttr(1));
  Stage stage{score.getScore()};
  if (isSwapped)
    stage.push(swapLast(rewriter, loc, stage.value).getDefiningOp());
  batches.addMoves(stage);
  stage.setShownElement(getElementTypeOrSelf(op.getResult()));
  rewriter.replaceAllUsesWith(op.getResult(), stage.show(rewriter));
  return stage;
}

/// The tensors that an elementwise op reads.
static SmallVector<Value> getReadTensors(Operation *op) {
  auto generate = dyn_cast<tensor::GenerateOp>(op);
  if (!generate)
    return op->getOperands();
  return llvm::map_to_vector(generate.getBody().getOps<tensor::ExtractOp>(),
                             [](tensor::ExtractOp read) -> Value { return read.getTensor(); });
}

/// Makes other products that a step of the score reads scores as well: fusion may join them.
static void raiseOtherProducts(RewriterBase &rewriter, Operation *step, const Chains &chains,
                               bool isSwapped, Type element) {
  for (Value read : getReadTensors(step)) {
    std::optional<StagePath> path = findPath(read, isScoreSource, chains);
    auto matmul = path ? dyn_cast<MatmulOp>(path->root) : MatmulOp();
    if (matmul && llvm::all_of(path->steps, isMove) && mayBeScore(matmul) &&
        (!isSwapped || hasOwnHeads(matmul)))
      makeScore(rewriter, matmul, isSwapped, element);
  }
}

/// The score in wider elements, and the same one for other readers.
static Stage widenScore(RewriterBase &rewriter, ScoreOp op, Type element) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value query = inElements(rewriter, loc, op.getQuery(), element),
        key = inElements(rewriter, loc, op.getKey(), element);
  Stage stage{
      ScoreOp::create(rewriter, loc, op.getType().clone(element), query, key, op.getScaleAttr())};
  stage.setShownElement(getElementTypeOrSelf(op.getScore()));
  rewriter.replaceAllUsesWith(op.getScore(), stage.show(rewriter));
  return stage;
}

/// The dimension of the root's result along which the softmax is, counted from the last.
static std::optional<int64_t> findAxis(SoftmaxOp softmax, const StagePath &path) {
  int64_t rank = rankOf(softmax.getScore()), axis = softmax.getAxis();
  Stage shown{path.root->getResult(0)};
  for (Operation *step : path.steps)
    if (isMove(step))
      shown.push(step);
  for (int64_t back : {0, 1})
    if (shown.follow(rankOf(shown.value) - 1 - back) == (axis < 0 ? axis + rank : axis))
      return back;
  return std::nullopt;
}

/// The softmax of the stage, along the keys, shown in the place of `softmax`.
static void moveSoftmax(RewriterBase &rewriter, SoftmaxOp softmax, Stage stage) {
  if (stage.moves.empty() || softmax.getSink())
    return;
  rewriter.setInsertionPoint(softmax);
  auto moved = SoftmaxOp::create(rewriter, softmax.getLoc(), stage.value.getType(), stage.value,
                                 /*sink=*/Value(), rewriter.getI64IntegerAttr(-1));
  stage.value = moved.getProb();
  rewriter.replaceAllUsesWith(softmax.getProb(), stage.show(rewriter));
}

static void raiseScore(RewriterBase &rewriter, SoftmaxOp softmax, const Chains &chains) {
  std::optional<StagePath> path = findPath(softmax.getScore(), isScoreSource, chains);
  std::optional<int64_t> axis = path ? findAxis(softmax, *path) : std::nullopt;
  if (!axis || path->root->getBlock() != softmax->getBlock())
    return;
  auto matmul = dyn_cast<MatmulOp>(path->root);
  bool isSwapped = *axis == 1;
  if (matmul ? !mayBeScore(matmul) || (isSwapped && !hasOwnHeads(matmul)) : isSwapped)
    return;
  Type element = getElementTypeOrSelf(softmax.getScore()),
       narrow = getElementTypeOrSelf(path->root->getResult(0));
  auto score = dyn_cast<ScoreOp>(path->root);
  if (element != narrow && (!mayWiden(narrow, element) || !(matmul || score)))
    return;
  Stage stage = matmul              ? makeScore(rewriter, matmul, isSwapped, element)
                : element != narrow ? widenScore(rewriter, score, element)
                                    : Stage{path->root->getResult(0)};
  for (Operation *step : path->steps) {
    if (matmul && !isMove(step))
      raiseOtherProducts(rewriter, step, chains, isSwapped, element);
    if (isMove(step))
      stage.push(step);
    else if (!joinStage<ModifyScoreOp>(rewriter, stage, step, chains.getBefore(step)))
      return;
  }
  moveSoftmax(rewriter, softmax, stage);
}

/// Elementwise ops between a score and a `step`, as attn.mask, that takes it in the same shape and
/// element type become attn.modify_score.
static void raiseStepsBefore(RewriterBase &rewriter, Operation *step, const Chains &chains) {
  Value score = step->getOperand(0);
  std::optional<StagePath> path = findPath(score, isScoreSource, chains);
  if (!path || isa<MatmulOp>(path->root) || path->root->getBlock() != step->getBlock() ||
      path->root->getResult(0).getType() != score.getType() ||
      !llvm::all_of(path->steps, [&](Operation *op) {
        return !isMove(op) && op->getResult(0).getType() == score.getType();
      }))
    return;
  Stage stage{path->root->getResult(0)};
  for (Operation *op : path->steps)
    if (!joinStage<ModifyScoreOp>(rewriter, stage, op, chains.getBefore(op)))
      return;
}

void attn::raiseScores(RewriterBase &rewriter, func::FuncOp function) {
  for (Block &block : function.getBody()) {
    Chains chains(block, isScoreSource);
    SmallVector<Operation *> steps;
    for (Operation &op : block)
      if (isa<ModifyScoreOp, MaskOp>(op))
        steps.push_back(&op);
    for (Operation *step : steps)
      raiseStepsBefore(rewriter, step, chains);
    for (SoftmaxOp softmax : llvm::to_vector(block.getOps<SoftmaxOp>()))
      raiseScore(rewriter, softmax, chains);
  }
}
