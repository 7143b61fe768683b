//===- Raise.cpp - find attention among products --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step for each thing that is found. Softmaxes come first, as they tell which products
// are scores and contexts; what is then left of the products are linear layers.
//
//===----------------------------------------------------------------------===//

#include "../Bodies.h"
#include "../ScoreFactors.h"
#include "Stage.h"

#include "attnc/Dialect/Attn/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNRAISE
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct AttnRaisePass : attn::impl::AttnRaiseBase<AttnRaisePass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    IRRewriter rewriter(&getContext());
    raiseSoftmaxes(rewriter, function);
    narrowSoftmaxes(rewriter, function);
    raiseSinks(rewriter, function);
    raiseScores(rewriter, function);
    raiseContexts(rewriter, function);
    // Products raised to scores and contexts must not become linear layers.
    eraseDead(rewriter, function.getBody());
    raiseLinears(rewriter, function);
    if (failed(raiseHeads(function)))
      return signalPassFailure();
    shareHeads(rewriter, function);
    function.walk([&](ScoreOp op) { absorbFactors(rewriter, op); });
    eraseDead(rewriter, function.getBody());
  }
};
} // namespace
