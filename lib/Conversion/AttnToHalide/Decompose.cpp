//===- Decompose.cpp - ops in terms of others ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::attn;

/// An op with a region that works on `input`, if the region is there.
template <typename OpTy>
static Value applyRegion(ImplicitLocOpBuilder &b, Value input, Region &region) {
  if (region.empty())
    return input;
  auto op = OpTy::create(b, input.getType(), input);
  op.getBody().takeBody(region);
  return op.getResult();
}

static void decomposeAttention(AttentionOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto query = op.getQuery().getType(), key = op.getKey().getType();
  auto scoreType = RankedTensorType::get(
      {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2), key.getDimSize(2)},
      query.getElementType());
  Value score = ScoreOp::create(b, scoreType, op.getQuery(), op.getKey(), op.getScaleAttr());
  score = applyRegion<ModifyScoreOp>(b, score, op.getScoreMod());
  score = applyRegion<MaskOp>(b, score, op.getMask());
  if (op.getLse())
    op.getLse().replaceAllUsesWith(LseOp::create(b, op.getLse().getType(), score));
  Value prob = SoftmaxOp::create(b, score.getType(), score);
  prob = applyRegion<ModifyProbOp>(b, prob, op.getProbMod());
  Value context = ContextOp::create(b, op.getResult().getType(), prob, op.getValue());
  op.getResult().replaceAllUsesWith(context);
  op.erase();
}

/// A single row as a product with one row.
static void addRow(LinearOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto withRow = [](Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    return RankedTensorType::get({1, type.getDimSize(0)}, type.getElementType());
  };
  ReassociationIndices both = {0, 1};
  Value input = tensor::ExpandShapeOp::create(b, withRow(op.getInput()), op.getInput(), {both});
  Value result = LinearOp::create(b, withRow(op.getResult()), input, op.getWeight(), op.getBias());
  op.replaceAllUsesWith(
      tensor::CollapseShapeOp::create(b, op.getType(), result, {both}).getResult());
  op.erase();
}

void attn::decompose(func::FuncOp function) {
  function.walk([](AttentionOp op) {
    if (!op.getSchedule())
      decomposeAttention(op);
  });
  function.walk([](LinearOp op) {
    if (cast<RankedTensorType>(op.getInput().getType()).getRank() == 1)
      addRow(op);
  });
}
