//===- Decompose.cpp - fused attention back into its parts ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"

#include "attnc/Dialect/Attn/Attn.h"

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

static void decompose(AttentionOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto query = op.getQuery().getType(), key = op.getKey().getType();
  auto scoreType = RankedTensorType::get(
      {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2), key.getDimSize(2)},
      query.getElementType());
  Value score = ScoreOp::create(b, scoreType, op.getQuery(), op.getKey(), op.getScaleAttr());
  score = applyRegion<ModifyScoreOp>(b, score, op.getScoreMod());
  score = applyRegion<MaskOp>(b, score, op.getMask());
  Value prob = SoftmaxOp::create(b, score.getType(), score);
  prob = applyRegion<ModifyProbOp>(b, prob, op.getProbMod());
  Value context = ContextOp::create(b, op.getResult().getType(), prob, op.getValue());
  op.getResult().replaceAllUsesWith(context);
  op.erase();
}

void attn::decomposeUnscheduled(func::FuncOp function) {
  function.walk([](AttentionOp op) {
    if (!op.getSchedule())
      decompose(op);
  });
}
