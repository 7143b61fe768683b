//===- LiftElementwise.cpp - arithmetic on scores, as regions
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic between score and softmax may be written on whole tensors. As the
// region of attn.modify_score it means the same, and everything after knows one
// spelling only.
//
//===----------------------------------------------------------------------===//

#include "LiftElementwise.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The scalar that `tensor` holds at the position of the element.
static Value scalarOf(RewriterBase &rewriter, Location loc, Value tensor, ValueRange indices) {
  if (!isa<RankedTensorType>(tensor.getType()))
    return tensor;
  SplatElementsAttr splat;
  if (matchPattern(tensor, m_Constant(&splat)))
    return arith::ConstantOp::create(rewriter, loc, splat.getSplatValue<TypedAttr>());
  if (auto op = tensor.getDefiningOp<tensor::SplatOp>())
    return op.getInput();
  return tensor::ExtractOp::create(rewriter, loc, tensor, indices);
}

/// Fills a body with `op` on scalars; its element stands for `tensor`.
static void buildBody(RewriterBase &rewriter, Region &body, Operation *op, Value tensor) {
  OpBuilder::InsertionGuard guard(rewriter);
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  SmallVector<Type> types(5, rewriter.getIndexType());
  types.front() = element;
  SmallVector<Location> locs(5, op->getLoc());
  Block *block = rewriter.createBlock(&body, body.end(), types, locs);
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

template <typename OpTy>
static void replaceBy(RewriterBase &rewriter, Operation *op, Value tensor) {
  rewriter.setInsertionPoint(op);
  auto modified = OpTy::create(rewriter, op->getLoc(), tensor.getType(), tensor);
  buildBody(rewriter, modified.getBody(), op, tensor);
  rewriter.replaceOp(op, modified.getResult());
}

bool attn::liftElementwise(RewriterBase &rewriter, Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1 ||
      op->getNumRegions() != 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  for (Value operand : op->getOperands()) {
    // A change of the element type has no place in a region.
    if (!type || type.getRank() != 4 || operand.getType() != type)
      continue;
    Operation *source = operand.getDefiningOp();
    if (isa_and_nonnull<ScoreOp, ModifyScoreOp, MaskOp>(source))
      return replaceBy<ModifyScoreOp>(rewriter, op, operand), true;
    if (isa_and_nonnull<SoftmaxOp, ModifyProbOp>(source))
      return replaceBy<ModifyProbOp>(rewriter, op, operand), true;
  }
  return false;
}
