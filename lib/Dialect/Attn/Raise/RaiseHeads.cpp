//===- RaiseHeads.cpp - transposed reshapes are heads ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions are taken apart before they are transposed and put together behind, so that a
// transpose of heads is seen whatever else happens around it. A transpose that need not be is none.
//
//===----------------------------------------------------------------------===//

#include "../Bodies.h"
#include "../Shapes.h"
#include "Stage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether heads of a layer's rows are split off, or merged, by a transpose in that order.
static std::optional<Layout> getLayout(ArrayRef<int64_t> permutation, bool isSplit) {
  if (llvm::equal(permutation, ArrayRef<int64_t>{0, 2, 1, 3}))
    return Layout::batch_first;
  if (llvm::equal(permutation,
                  isSplit ? ArrayRef<int64_t>{1, 2, 0, 3} : ArrayRef<int64_t>{2, 0, 1, 3}))
    return Layout::time_first;
  return std::nullopt;
}

static bool areHeadGroups(ArrayRef<ReassociationIndices> groups) {
  return groups.size() == 3 && groups[0].size() == 1 && groups[1].size() == 1 &&
         groups[2].size() == 2;
}

/// The reshape of a layer's rows whose heads a transpose brings to the front, and how; null where
/// it is another.
static std::pair<tensor::ExpandShapeOp, Layout> findSplitRows(TransposeOp op) {
  auto expand = op.getInput().getDefiningOp<tensor::ExpandShapeOp>();
  std::optional<Layout> layout = getLayout(op.getPermutation(), /*isSplit=*/true);
  if (!expand || !layout || !areHeadGroups(expand.getReassociationIndices()) ||
      expand.getResultType().isDynamicDim(2) || expand.getResultType().getDimSize(2) < 1 ||
      !isa<FloatType>(getElementTypeOrSelf(op.getInput())))
    return {};
  return {expand, *layout};
}

namespace {

/// Two transposes in a row are one, or none.
struct ComposeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    Value source = op.getInput();
    SmallVector<int64_t> order(op.getPermutation());
    if (auto before = source.getDefiningOp<TransposeOp>()) {
      source = before.getInput();
      for (int64_t &dim : order)
        dim = before.getPermutation()[dim];
    } else if (!isIdentityPermutation(order)) {
      return rewriter.notifyMatchFailure(op, "the only transpose");
    }
    if (isIdentityPermutation(order) && source.getType() == op.getType())
      rewriter.replaceOp(op, source);
    else if (source == op.getInput())
      return rewriter.notifyMatchFailure(op, "a cast of sizes");
    else
      rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), source, order);
    return success();
  }
};

/// A dimension is taken apart before it is transposed.
struct ExpandBeforeTranspose : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getSrc().getDefiningOp<TransposeOp>();
    if (!transpose || findSplitRows(transpose).first)
      return rewriter.notifyMatchFailure(op, "not behind a transpose, or behind heads");
    auto groups = op.getReassociationIndices();
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), before;
    SmallVector<ReassociationIndices> groupsBefore;
    SmallVector<int64_t> order(sizes.size());
    for (int64_t dim = 0; dim < int64_t(groups.size()); ++dim) {
      auto place = llvm::find(transpose.getPermutation(), dim) - transpose.getPermutation().begin();
      if (transpose.getInput().getType().isDynamicDim(dim) !=
          transpose.getType().isDynamicDim(place))
        return rewriter.notifyMatchFailure(op, "one type knows more sizes than the other");
      groupsBefore.emplace_back();
      for (int64_t part : groups[place]) {
        order[part] = before.size();
        groupsBefore.back().push_back(before.size());
        before.push_back(sizes[part]);
      }
    }
    auto type = RankedTensorType::get(decomposeMixedValues(before).first,
                                      op.getResultType().getElementType());
    Value apart = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), type, transpose.getInput(),
                                                groupsBefore, before);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), apart, order);
    return success();
  }
};

/// All dimensions in groups around those of other sizes than 1.
static SmallVector<ReassociationIndices> groupUnits(ArrayRef<int64_t> shape) {
  SmallVector<ReassociationIndices> groups(1);
  bool isTaken = false;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size != 1 && std::exchange(isTaken, true))
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return groups;
}

/// A transpose that moves dimensions of size 1 alone becomes a reshape.
struct TransposeOfUnits : OpRewritePattern<TransposeOp> {
  // Heads that are one, or of one row, are heads.
  explicit TransposeOfUnits(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/0) {}
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto from = cast<RankedTensorType>(op.getInput().getType());
    SmallVector<int64_t> wide;
    llvm::copy_if(op.getPermutation(), std::back_inserter(wide),
                  [&](int64_t dim) { return from.getDimSize(dim) != 1; });
    if (!llvm::is_sorted(wide) || wide.empty() || isIdentityPermutation(op.getPermutation()))
      return rewriter.notifyMatchFailure(op, "other dimensions move");
    Location loc = op.getLoc();
    // The sizes that a reshape was given say more than a question for those of its result.
    auto expand = op.getInput().getDefiningOp<tensor::ExpandShapeOp>();
    SmallVector<OpFoldResult> before =
        expand ? expand.getMixedOutputShape() : tensor::getMixedSizes(rewriter, loc, op.getInput());
    auto sizes = llvm::map_to_vector(op.getPermutation(), [&](int64_t dim) { return before[dim]; });
    Value value =
        tensor::CollapseShapeOp::create(rewriter, loc, op.getInput(), groupUnits(from.getShape()));
    // The result's type may be less exact than the sizes.
    auto type = op.getType().clone(decomposeMixedValues(sizes).first);
    Value turned = tensor::ExpandShapeOp::create(rewriter, loc, type, value,
                                                 groupUnits(type.getShape()), sizes);
    rewriter.replaceOp(op, rewriter.createOrFold<tensor::CastOp>(loc, op.getType(), turned));
    return success();
  }
};

/// A single element is read where it was before a transpose.
struct ExtractBeforeTranspose : OpRewritePattern<tensor::ExtractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getTensor().getDefiningOp<TransposeOp>();
    if (!transpose)
      return rewriter.notifyMatchFailure(op, "not of a transpose");
    SmallVector<Value> own(op.getIndices());
    for (auto [index, dim] : llvm::zip_equal(op.getIndices(), transpose.getPermutation()))
      own[dim] = index;
    rewriter.modifyOpInPlace(op, [&] {
      op.getTensorMutable().assign(transpose.getInput());
      op.getIndicesMutable().assign(own);
    });
    return success();
  }
};

/// Folds an expansion of a collapsed tensor to its old sizes. In each group, all sizes but one must
/// be known to be equal; the last one then is, too.
struct ExpandOfCollapse : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || collapse.getReassociationIndices() != op.getReassociationIndices() ||
        collapse.getSrcType() != op.getResultType() ||
        llvm::is_contained(op.getResultType().getShape(), 0))
      return rewriter.notifyMatchFailure(op, "other sizes");
    ArrayRef<int64_t> shape = op.getResultType().getShape();
    SmallVector<OpFoldResult> wanted = op.getMixedOutputShape();
    auto isOpen = [&](int64_t dim) {
      return ShapedType::isDynamic(shape[dim]) && !isSizeOf(wanted[dim], collapse.getSrc(), dim);
    };
    for (const ReassociationIndices &group : op.getReassociationIndices())
      if (llvm::count_if(group, isOpen) > 1)
        return rewriter.notifyMatchFailure(op, "several sizes that only the call tells");
    rewriter.replaceOp(op, collapse.getSrc());
    return success();
  }

private:
  static bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim) {
    auto value = dyn_cast<Value>(size);
    auto of = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
    return of && of.getSource() == tensor && of.getConstantIndex() == dim;
  }
};

struct RaiseSplitHeads : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto [expand, layout] = findSplitRows(op);
    if (!expand)
      return rewriter.notifyMatchFailure(op, "not heads of rows");
    rewriter.replaceOpWithNewOp<SplitHeadsOp>(op, op.getType(), expand.getSrc(),
                                              expand.getResultType().getDimSize(2), layout);
    return success();
  }
};

struct RaiseMergeHeads : OpRewritePattern<tensor::CollapseShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getSrc().getDefiningOp<TransposeOp>();
    if (!transpose || !areHeadGroups(op.getReassociationIndices()) ||
        !isa<FloatType>(getElementTypeOrSelf(op.getSrc())))
      return rewriter.notifyMatchFailure(op, "not heads side by side");
    std::optional<Layout> layout = getLayout(transpose.getPermutation(), /*isSplit=*/false);
    if (!layout)
      return rewriter.notifyMatchFailure(op, "heads in another order");
    rewriter.replaceOpWithNewOp<MergeHeadsOp>(op, op.getType(), transpose.getInput(), *layout);
    return success();
  }
};

/// A factor between two transposes goes behind the second, so that they meet.
struct TransposeBeforeScale : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto map = op.getInput().getDefiningOp<MapOp>();
    if (!map || map.getInputs().size() != 1 || !map->hasOneUse() ||
        map.getInputs()[0].getType() != map.getType() ||
        !map.getInputs()[0].getDefiningOp<TransposeOp>() ||
        !isa_and_nonnull<arith::MulFOp, arith::DivFOp>(yieldedValue(map.getBody()).getDefiningOp()))
      return rewriter.notifyMatchFailure(op, "no factor between transposes");
    Value turned = TransposeOp::create(rewriter, op.getLoc(), op.getType(), map.getInputs()[0],
                                       op.getPermutation());
    auto scaled = MapOp::create(rewriter, map.getLoc(), op.getType(), turned);
    rewriter.cloneRegionBefore(map.getBody(), scaled.getBody(), scaled.getBody().end());
    rewriter.replaceOp(op, scaled);
    return success();
  }
};

} // namespace

LogicalResult attn::raiseHeads(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  patterns.add<ComposeTransposes, TransposeBeforeScale, TransposeOfUnits, ExtractBeforeTranspose,
               ExpandBeforeTranspose, ExpandOfCollapse, RaiseSplitHeads, RaiseMergeHeads>(
      function.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, function.getContext());
  return applyPatternsGreedily(function, std::move(patterns));
}
