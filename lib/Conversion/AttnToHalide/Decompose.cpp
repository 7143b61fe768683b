//===- Decompose.cpp - ops in terms of others ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decompose.h"

#include "attnc/Dialect/Attn/Dropout.h"

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

/// The groups of dimensions that become one where some are dropped.
static SmallVector<ReassociationIndices> groupDropped(const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (unsigned dim = 0; dim < dropped.size(); ++dim) {
    group.push_back(dim);
    if (!dropped[dim])
      groups.push_back(std::exchange(group, {}));
  }
  if (!groups.empty())
    groups.back().append(group);
  return groups;
}

/// A slice with strides as one of unit strides and one from offset 0 on.
static void splitStrides(tensor::ExtractSliceOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<OpFoldResult> spans, zeros(op.getSourceType().getRank(), b.getIndexAttr(0)),
      ones(zeros.size(), b.getIndexAttr(1));
  for (auto [size, stride] : llvm::zip_equal(op.getMixedSizes(), op.getStaticStrides())) {
    if (auto known = getConstantIntValue(size)) {
      spans.push_back(b.getIndexAttr(*known == 0 ? 0 : (*known - 1) * stride + 1));
      continue;
    }
    auto constant = [&](int64_t c) { return arith::ConstantIndexOp::create(b, c).getResult(); };
    Value steps = arith::SubIOp::create(b, cast<Value>(size), constant(1));
    Value last = arith::MulIOp::create(b, steps, constant(stride));
    Value span = arith::AddIOp::create(b, last, constant(1));
    spans.push_back(arith::MaxSIOp::create(b, span, constant(0)).getResult());
  }
  auto span = tensor::ExtractSliceOp::create(b, op.getSource(), op.getMixedOffsets(), spans, ones);
  auto strided =
      tensor::ExtractSliceOp::create(b, span, zeros, op.getMixedSizes(), op.getMixedStrides());
  op.replaceAllUsesWith(strided.getResult());
  op.erase();
}

/// Where the last dimension is dropped, or any of a slice with strides, that is done at last.
static void splitSlice(tensor::ExtractSliceOp op) {
  bool isUnit = op.hasUnitStride();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (isUnit && (dropped.empty() || !dropped.test(dropped.size() - 1)))
    return;
  if (dropped.any()) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto whole = tensor::ExtractSliceOp::create(b, op.getSource(), op.getMixedOffsets(),
                                                op.getMixedSizes(), op.getMixedStrides());
    auto groups = groupDropped(dropped);
    op.replaceAllUsesWith(
        tensor::CollapseShapeOp::create(b, op.getType(), whole, groups).getResult());
    op.erase();
    op = whole;
  }
  if (!isUnit && llvm::none_of(op.getStaticStrides(), ShapedType::isDynamic))
    splitStrides(op);
}

void attn::decompose(func::FuncOp function) {
  function.walk([](AttentionOp op) {
    if (!op.getSchedule())
      decomposeAttention(op);
  });
  function.walk([](DropoutOp op) {
    IRRewriter rewriter(op);
    expandDropout(rewriter, op);
  });
  function.walk([](PositionsOp op) { expandPositions(op); });
  function.walk([](tensor::ExtractSliceOp op) { splitSlice(op); });
  function.walk([](LinearOp op) {
    if (cast<RankedTensorType>(op.getInput().getType()).getRank() == 1)
      addRow(op);
  });
}
