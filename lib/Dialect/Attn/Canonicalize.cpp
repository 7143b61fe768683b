//===- Canonicalize.cpp - canonicalization patterns of the attn ops
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bodies.h"

#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A modify_score or modify_prob with an identity region.
template <typename OpTy>
struct DropIdentity : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (yieldedValue(op.getBody()) != op.getBody().getArgument(0))
      return rewriter.notifyMatchFailure(op, "the region changes its argument");
    rewriter.replaceOp(op, op->getOperand(0));
    return success();
  }
};

/// A mask that hides nothing.
struct DropTrueMask : OpRewritePattern<MaskOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaskOp op, PatternRewriter &rewriter) const override {
    if (!matchPattern(yieldedValue(op.getBody()), m_One()))
      return rewriter.notifyMatchFailure(op, "the mask is not constantly true");
    rewriter.replaceOp(op, op.getScore());
    return success();
  }
};

/// mask(mask(score, a), b) becomes mask(score, a and b).
struct MergeMasks : OpRewritePattern<MaskOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaskOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getScore().getDefiningOp<MaskOp>();
    if (!inner || !isOnlyMaskedBy(inner, op))
      return rewriter.notifyMatchFailure(op, "not the only mask of a mask");
    if (std::max(getLongestChain(inner.getBody()), getLongestChain(op.getBody())) >= kLongestChain)
      return rewriter.notifyMatchFailure(op, "no room for another op in a row");
    // Sizes are read from the score before the masks.
    rewriter.replaceAllUsesExcept(inner.getResult(), inner.getScore(), op);
    rewriter.setInsertionPointToStart(&op.getBody().front());
    Value first = cloneBody(rewriter, inner.getBody(), op.getBody().getArguments());
    auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
    rewriter.setInsertionPoint(yield);
    Value both = arith::AndIOp::create(rewriter, yield.getLoc(), first, yield.getValue());
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, both); });
    rewriter.modifyOpInPlace(op, [&] { op.getScoreMutable().assign(inner.getScore()); });
    rewriter.eraseOp(inner);
    return success();
  }

private:
  /// Whether all other users of `inner` are `tensor.dim`.
  static bool isOnlyMaskedBy(MaskOp inner, MaskOp outer) {
    return llvm::all_of(inner->getUsers(), [&](Operation *user) {
      return user == outer.getOperation() || isa<tensor::DimOp>(user);
    });
  }
};

/// See `simplifyAttention`.
struct SimplifyAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    return success(simplifyAttention(rewriter, op));
  }
};

} // namespace

void ModifyScoreOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropIdentity<ModifyScoreOp>>(context);
}

void MaskOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropTrueMask, MergeMasks>(context);
}

void ModifyProbOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropIdentity<ModifyProbOp>>(context);
}

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyAttention>(context);
}
