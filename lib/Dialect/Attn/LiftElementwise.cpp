//===- LiftElementwise.cpp - elementwise ops on scores as regions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic between score and softmax may be written on whole tensors or as attn.map. It is
// rewritten as a region of attn.modify_score, the only form that later passes handle.
//
//===----------------------------------------------------------------------===//

#include "LiftElementwise.h"
#include "Bodies.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The scalar of `tensor` at the element's coordinates.
static Value scalarOf(RewriterBase &rewriter, Location loc, Value tensor, ValueRange indices) {
  if (!isa<RankedTensorType>(tensor.getType()))
    return tensor;
  SplatElementsAttr splat;
  if (matchPattern(tensor, m_Constant(&splat)))
    return arith::ConstantOp::create(rewriter, loc, splat.getSplatValue<TypedAttr>());
  if (auto op = tensor.getDefiningOp<tensor::SplatOp>())
    return op.getInput();
  auto read = tensor::ExtractOp::create(rewriter, loc, tensor, indices);
  read->setAttr(kSameSizeAttr, rewriter.getUnitAttr());
  return read;
}

/// Fills a body with `op` on scalars; the body's element replaces `tensor`.
static void buildBody(RewriterBase &rewriter, Region &body, Operation *op, Value tensor) {
  OpBuilder::InsertionGuard guard(rewriter);
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Block *block = createBody(rewriter, body, element, op->getLoc());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(operand == tensor ? block->getArgument(0)
                                         : scalarOf(rewriter, op->getLoc(), operand,
                                                    block->getArguments().drop_front()));
  Operation *scalar = rewriter.clone(*op);
  scalar->setOperands(operands);
  scalar->getResult(0).setType(element);
  YieldOp::create(rewriter, op->getLoc(), scalar->getResult(0));
}

/// Replaces `op` by `modified`, unless its region exceeds the limit.
static bool replaceIfShort(RewriterBase &rewriter, Operation *op, Operation *modified) {
  bool isShort = getLongestChain(modified->getRegion(0)) <= kLongestChain;
  isShort ? rewriter.replaceOp(op, modified) : rewriter.eraseOp(modified);
  return isShort;
}

template <typename OpTy>
static bool replaceBy(RewriterBase &rewriter, Operation *op, Value tensor) {
  rewriter.setInsertionPoint(op);
  auto modified = OpTy::create(rewriter, op->getLoc(), tensor.getType(), tensor);
  buildBody(rewriter, modified.getBody(), op, tensor);
  return replaceIfShort(rewriter, op, modified);
}

/// The indices of `tensor` for the element, broadcast as in numpy.
static SmallVector<Value> indicesOf(RewriterBase &rewriter, Location loc, Value tensor,
                                    ValueRange indices) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  SmallVector<Value> own;
  for (auto [size, index] : llvm::zip_equal(shape, indices.take_back(shape.size())))
    own.push_back(size == 1 ? arith::ConstantIndexOp::create(rewriter, loc, 0).getResult() : index);
  return own;
}

/// Rewrites a map with the operand `tensor` as a body on elements of `tensor`.
template <typename OpTy>
static bool replaceMapBy(RewriterBase &rewriter, MapOp op, Value tensor) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  auto modified = OpTy::create(rewriter, loc, tensor.getType(), tensor);
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Block *block = createBody(rewriter, modified.getBody(), element, loc);
  ValueRange indices = block->getArguments().drop_front();
  SmallVector<Value> elements;
  for (Value input : op.getInputs())
    elements.push_back(
        input == tensor ? block->getArgument(0)
                        : scalarOf(rewriter, loc, input, indicesOf(rewriter, loc, input, indices)));
  YieldOp::create(rewriter, loc, cloneBody(rewriter, op.getBody(), elements));
  return replaceIfShort(rewriter, op, modified);
}

/// Calls the function for scores or the one for probs with an operand of `op` that is one and has
/// the result's type. Returns whether a call succeeded.
static bool liftOperand(Operation *op, function_ref<bool(Value)> score,
                        function_ref<bool(Value)> prob) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() != 4)
    return false;
  for (Value operand : op->getOperands()) {
    // A region can't change the element type.
    if (operand.getType() != type)
      continue;
    Operation *source = operand.getDefiningOp();
    if (isa_and_nonnull<ScoreOp, ModifyScoreOp, MaskOp>(source))
      return score(operand);
    if (isa_and_nonnull<SoftmaxOp, ModifyProbOp>(source))
      return prob(operand);
  }
  return false;
}

bool attn::liftElementwise(RewriterBase &rewriter, Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return liftOperand(
        op, [&](Value score) { return replaceMapBy<ModifyScoreOp>(rewriter, map, score); },
        [&](Value prob) { return replaceMapBy<ModifyProbOp>(rewriter, map, prob); });
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1 ||
      op->getNumRegions() != 0)
    return false;
  return liftOperand(
      op, [&](Value score) { return replaceBy<ModifyScoreOp>(rewriter, op, score); },
      [&](Value prob) { return replaceBy<ModifyProbOp>(rewriter, op, prob); });
}
