//===- NarrowSoftmax.cpp - softmaxes between casts ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of 16 bits widen scores for a softmax and round its probs. attn.softmax of 16 bits does
// just that.
//
//===----------------------------------------------------------------------===//

#include "../Bodies.h"
#include "Stage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::attn;

/// The casts that read the elements of `prob`; none if anything else does.
static SmallVector<arith::TruncFOp> findRoundings(Value prob) {
  SmallVector<arith::TruncFOp> roundings;
  auto add = [&](Operation *user) {
    auto cast = dyn_cast<arith::TruncFOp>(user);
    if (cast)
      roundings.push_back(cast);
    return bool(cast);
  };
  for (OpOperand &use : prob.getUses()) {
    auto map = dyn_cast<MapOp>(use.getOwner());
    bool areCasts =
        map ? llvm::all_of(map.getBody().getArgument(use.getOperandNumber()).getUsers(), add)
            : add(use.getOwner());
    if (!areCasts)
      return {};
  }
  return roundings;
}

/// The cast that yields the elements of `score`, which nothing else reads.
static arith::ExtFOp findWidening(Value score) {
  if (auto map = score.getDefiningOp<MapOp>(); map && score.hasOneUse())
    return yieldedValue(map.getBody()).getDefiningOp<arith::ExtFOp>();
  return score.getDefiningOp<arith::ExtFOp>();
}

/// The tensor whose elements are what `widening` widens.
static Value takeNarrow(RewriterBase &rewriter, Value score, arith::ExtFOp widening) {
  auto map = score.getDefiningOp<MapOp>();
  if (!map)
    return widening.getIn();
  rewriter.setInsertionPoint(map);
  Type element = widening.getIn().getType();
  auto narrow =
      MapOp::create(rewriter, map.getLoc(), map.getType().clone(element), map.getInputs());
  rewriter.inlineRegionBefore(map.getBody(), narrow.getBody(), narrow.getBody().end());
  Operation *yield = narrow.getBody().front().getTerminator();
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, widening.getIn()); });
  return narrow;
}

static void narrowSoftmax(RewriterBase &rewriter, SoftmaxOp softmax) {
  SmallVector<arith::TruncFOp> roundings = findRoundings(softmax.getProb());
  arith::ExtFOp widening = findWidening(softmax.getScore());
  if (roundings.empty() || !widening || softmax.getSink())
    return;
  Type element = getElementTypeOrSelf(widening.getIn().getType());
  bool areInverse = llvm::all_of(roundings, [&](arith::TruncFOp cast) {
    return getElementTypeOrSelf(cast.getType()) == element;
  });
  if (!areInverse || !(element.isF16() || element.isBF16()))
    return;
  Value score = takeNarrow(rewriter, softmax.getScore(), widening);
  rewriter.setInsertionPoint(softmax);
  Value prob = SoftmaxOp::create(rewriter, softmax.getLoc(), score.getType(), score, Value(),
                                 softmax.getAxisAttr());
  Operation *wide = softmax.getScore().getDefiningOp();
  rewriter.replaceOp(softmax, prob);
  if (wide->use_empty())
    rewriter.eraseOp(wide);
  for (arith::TruncFOp cast : roundings) {
    if (auto element = dyn_cast<BlockArgument>(cast.getIn()))
      element.setType(cast.getType());
    rewriter.replaceOp(cast, cast.getIn());
  }
}

void attn::narrowSoftmaxes(RewriterBase &rewriter, func::FuncOp function) {
  for (auto softmax : llvm::make_early_inc_range(function.getBody().getOps<SoftmaxOp>()))
    narrowSoftmax(rewriter, softmax);
}
