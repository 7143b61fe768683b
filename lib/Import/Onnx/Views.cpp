//===- Views.cpp - scores and probs with their elements moved -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs reshape a score to mask it, take its heads and batch as one for a product, and so
// on. Between score and context it stays in its own shape here.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

bool imports::isScore(Operation *op) { return isa_and_nonnull<ScoreOp, ModifyScoreOp, MaskOp>(op); }

bool imports::isProb(Operation *op) {
  auto softmax = dyn_cast_or_null<SoftmaxOp>(op);
  if (softmax)
    return softmax.getProb().getType().getRank() == 4;
  return isa_and_nonnull<ModifyProbOp>(op);
}

std::optional<View> View::find(TensorRef tensor, function_ref<bool(Operation *)> isStage) {
  View view;
  while (!tensor->value || !isStage(tensor->value.getDefiningOp())) {
    if (tensor->form != Form::Reshape && tensor->form != Form::Transpose)
      return std::nullopt;
    view.moves.insert(view.moves.begin(), tensor);
    tensor = tensor->sources[0];
  }
  view.stage = tensor;
  return view;
}

SmallVector<Value> View::getIndices(Body &body, ArrayRef<Value> indices) const {
  SmallVector<Value> own(indices);
  for (const TensorRef &move : moves) {
    if (move->form == Form::Transpose)
      own = llvm::map_to_vector(move->permutation, [&](int64_t dim) { return own[dim]; });
    else
      own = reindex(body, move->sizes, move->sources[0]->sizes, own);
  }
  return own;
}

TensorRef View::apply(Body &body, TensorRef tensor) const {
  for (const TensorRef &move : moves)
    tensor = move->form == Form::Transpose ? makeTranspose(tensor, move->permutation)
                                           : makeReshape(body, tensor, move->sizes);
  return tensor;
}

/// Where `dim` is after a reshape; none where it is mixed with others.
static std::optional<int64_t> followReshape(Body &body, const Tensor &move, int64_t dim) {
  const TensorRef &source = move.sources[0];
  auto common = refine(body, source->sizes, move.sizes);
  auto from = getWideDims(source->sizes), to = getWideDims(move.sizes);
  auto *place = llvm::find(from, dim);
  if (!common || place == from.end())
    return std::nullopt;
  const ReassociationIndices &group = common->from[place - from.begin()];
  auto *other = llvm::find(common->to, group);
  if (group.size() != 1 || other == common->to.end())
    return std::nullopt;
  return to[other - common->to.begin()];
}

std::optional<int64_t> View::follow(Body &body, int64_t dim) const {
  std::optional<int64_t> place = dim;
  for (const TensorRef &move : moves) {
    if (move->form == Form::Transpose)
      place = llvm::find(move->permutation, *place) - move->permutation.begin();
    else
      place = followReshape(body, *move, *place);
    if (!place)
      return std::nullopt;
  }
  return place;
}
