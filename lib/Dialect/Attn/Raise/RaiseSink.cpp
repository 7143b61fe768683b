//===- RaiseSink.cpp - one more score of each row that has no value -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs put a column beside the scores, and take it out of the probs again.
//
//===----------------------------------------------------------------------===//

#include "../Shapes.h"
#include "Stage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// A column before its broadcast over rows; the column itself if it was not broadcast.
static Value getNarrow(Value column) {
  auto generate = column.getDefiningOp<tensor::GenerateOp>();
  if (!generate)
    return column;
  Block &body = generate.getBody().front();
  auto read = body.getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  if (!read || read->getBlock() != &body || read.getTensor().getType().getRank() != 4)
    return column;
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    int64_t size = read.getTensor().getType().getDimSize(dim);
    bool isAll = index == body.getArgument(dim) && size == generate.getType().getDimSize(dim) &&
                 !ShapedType::isDynamic(size);
    if (size != 1 && !isAll)
      return column;
  }
  return read.getTensor();
}

/// The scores and the column that are concatenated.
static std::optional<std::pair<Value, Value>> findColumn(tensor::ConcatOp both) {
  if (both.getInputs().size() != 2 || both.getRank() != 4 || both.getDim() != 3)
    return std::nullopt;
  Value first = both.getInputs()[0], second = both.getInputs()[1];
  if (sizeOf(second, 3) == 1)
    return std::pair(first, second);
  return sizeOf(first, 3) == 1 ? std::optional(std::pair(second, first)) : std::nullopt;
}

/// Whether a slice of the probs is those of the scores.
static bool takesScores(tensor::ExtractSliceOp slice, Value scores, bool isBehind) {
  int64_t start = isBehind ? 1 : 0;
  for (auto [dim, offset, size] : llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes())) {
    if (getConstantIntValue(offset) != (dim == 3 ? start : 0) || slice.getType().getRank() != 4 ||
        slice.getType().getDimSize(dim) != sizeOf(scores, dim))
      return false;
  }
  return slice.hasUnitStride() && slice.getType() == scores.getType();
}

static void raiseSink(RewriterBase &rewriter, SoftmaxOp softmax, const Chains &chains,
                      function_ref<bool(Operation *)> isScore) {
  auto both = softmax.getScore().getDefiningOp<tensor::ConcatOp>();
  int64_t axis = softmax.getAxis();
  auto found = both && (axis == -1 || axis == 3) ? findColumn(both) : std::nullopt;
  if (!found || softmax.getSink() || !findPath(found->first, isScore, chains))
    return;
  auto [scores, column] = *found;
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : softmax->getUsers())
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
        slice && takesScores(slice, scores, both.getInputs()[0] != scores))
      slices.push_back(slice);
  if (slices.empty())
    return;
  rewriter.setInsertionPoint(softmax);
  Location loc = softmax.getLoc();
  SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
  Value sink = tensor::CollapseShapeOp::create(rewriter, loc, getNarrow(column), groups);
  Value prob = SoftmaxOp::create(rewriter, loc, scores.getType(), scores, sink,
                                 rewriter.getI64IntegerAttr(-1));
  for (tensor::ExtractSliceOp slice : slices)
    rewriter.replaceOp(slice, prob);
}

void attn::raiseSinks(RewriterBase &rewriter, func::FuncOp function) {
  for (Block &block : function.getBody()) {
    Chains chains(block, isScoreSource);
    for (SoftmaxOp softmax : llvm::to_vector(block.getOps<SoftmaxOp>()))
      raiseSink(rewriter, softmax, chains, isScoreSource);
  }
}
