//===- Decompose.cpp - ops in terms of others -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandPositions.h"
#include "ExpandQuantize.h"
#include "PackedRows.h"

#include "attnc/Dialect/Attn/Decompose.h"
#include "attnc/Dialect/Attn/Dropout.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNDECOMPOSE
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Creates an op on `input` with the region, if there is one.
template <typename OpTy>
static Value applyRegion(ImplicitLocOpBuilder &b, Value input, Region &region) {
  if (region.empty())
    return input;
  auto op = OpTy::create(b, input.getType(), input);
  op.getBody().takeBody(region);
  return op.getResult();
}

/// Broadcasts a tensor over rows along the keys.
static Value addKeys(ImplicitLocOpBuilder &b, Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
  return tensor::ExpandShapeOp::create(b, RankedTensorType::get(shape, type.getElementType()), rows,
                                       groups);
}

/// The prob with a sink: prob / (1 + exp(sink - lse)), and 0 for a score of -inf. A sink of -inf
/// adds nothing; one of inf gives NaN.
static Value shareWithSink(ImplicitLocOpBuilder &b, Value score, Value prob, Value lse,
                           Value sink) {
  auto constant = [&](const APFloat &value) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(prob.getType(), value));
  };
  const llvm::fltSemantics &semantics = cast<FloatType>(prob.getType()).getFloatSemantics();
  auto isInfinite = [&](Value x, bool negative) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x,
                                 constant(APFloat::getInf(semantics, negative)));
  };
  Value weight = math::ExpOp::create(b, arith::SubFOp::create(b, sink, lse));
  Value sum = arith::AddFOp::create(b, constant(APFloat::getOne(semantics)), weight);
  Value share = arith::DivFOp::create(b, prob, sum);
  share = arith::SelectOp::create(b, isInfinite(sink, /*negative=*/false),
                                  constant(APFloat::getNaN(semantics)), share);
  share = arith::SelectOp::create(b, isInfinite(sink, /*negative=*/true), prob, share);
  return arith::SelectOp::create(b, isInfinite(score, /*negative=*/true),
                                 constant(APFloat::getZero(semantics)), share);
}

static LogicalResult decomposeSink(SoftmaxOp op, PatternRewriter &rewriter) {
  if (op.isDecomposed())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto type = cast<RankedTensorType>(op.getScore().getType());
  Type element = type.getElementType(), wide = element;
  if (element.getIntOrFloatBitWidth() < 32)
    wide = b.getF32Type();
  Value lse =
      LseOp::create(b, RankedTensorType::get(type.getShape().drop_back(), wide), op.getScore());
  Value prob = SoftmaxOp::create(b, type, op.getScore(), /*sink=*/Value());
  SmallVector<Value> inputs = {op.getScore(), prob, addKeys(b, lse), addKeys(b, op.getSink())};
  auto map = MapOp::create(b, type, inputs);
  b.createBlock(&map.getBody(), {}, {element, element, wide, element},
                SmallVector<Location>(4, op.getLoc()));
  Block *block = b.getInsertionBlock();
  auto widen = [&](Value x) -> Value {
    return x.getType() == wide ? x : arith::ExtFOp::create(b, wide, x);
  };
  Value share = shareWithSink(b, widen(block->getArgument(0)), widen(block->getArgument(1)),
                              block->getArgument(2), widen(block->getArgument(3)));
  YieldOp::create(b, wide == element ? share : arith::TruncFOp::create(b, element, share));
  rewriter.replaceOp(op, map);
  return success();
}

/// Packed rows in batches of their own.
static Value unpackRows(ImplicitLocOpBuilder &b, Value packed, Value offsets) {
  Value rows = toRowsFirst(b, b.getLoc(), packed);
  ResultSizes sizes = *UnpackRowsOp::inferSizes(rows, offsets);
  Type type = cast<RankedTensorType>(packed.getType()).clone(getStaticSizes(sizes));
  return UnpackRowsOp::create(b, type, rows, offsets);
}

/// The rows of a pool in the order of the keys, or those of packed sequences; else `rows`
/// themselves.
static Value gatherRows(ImplicitLocOpBuilder &b, AttentionOp op, Value rows) {
  if (Value offsets = op.getKvOffsets())
    return unpackRows(b, rows, offsets);
  if (!op.getPages())
    return rows;
  Value offsets = op.getPageOffsets();
  auto layout = PageLayoutAttr::get(b.getContext(), PageLayout::heads_first);
  ResultSizes sizes = *GatherPagesOp::inferSizes(
      rows, op.getPages(), offsets ? SizedTensor(offsets) : SizedTensor(Type()), layout);
  Type type = cast<RankedTensorType>(rows.getType()).clone(getStaticSizes(sizes));
  return GatherPagesOp::create(b, type, rows, op.getPages(), offsets, op.getLengths(), layout);
}

/// Keys or values in the query's elements: those of pages gathered, narrower ones widened.
static Value takeRows(ImplicitLocOpBuilder &b, AttentionOp op, Value rows, Value scales) {
  Type element = op.getQuery().getType().getElementType();
  Value gathered = gatherRows(b, op, rows);
  auto type = cast<RankedTensorType>(gathered.getType());
  if (type.getElementType() == element)
    return gathered;
  return DequantizeOp::create(b, type.clone(element), gathered,
                              scales ? gatherRows(b, op, scales) : Value());
}

/// The rows of `tensor`, with a batch for each sequence, as attn.attention gives them.
static Value packRows(ImplicitLocOpBuilder &b, Value tensor, Value offsets, RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape().drop_front());
  std::swap(shape[0], shape[1]);
  auto packed = RankedTensorType::get(shape, type.getElementType());
  return toHeadsFirst(b, b.getLoc(), PackRowsOp::create(b, packed, tensor, offsets));
}

static LogicalResult decomposeAttention(AttentionOp op, PatternRewriter &rewriter) {
  if (op.isDecomposed())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value key = takeRows(b, op, op.getKey(), op.getKeyScales()),
        value = takeRows(b, op, op.getValue(), op.getValueScales());
  Value offsets = op.getOffsets();
  auto query = cast<TypedValue<RankedTensorType>>(offsets ? unpackRows(b, op.getQuery(), offsets)
                                                          : Value(op.getQuery()));
  SmallVector<int64_t> shape(query.getType().getShape());
  shape.back() = op.getKvLen().getStatic();
  auto scoreType = query.getType().clone(shape);
  Value score = ScoreOp::create(b, scoreType, query, key, op.getScaleAttr());
  score = applyRegion<ModifyScoreOp>(b, score, op.getScoreMod());
  score = applyRegion<MaskOp>(b, score, op.getMask());
  auto replaceBy = [&](Value result, auto create) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = query.getType().getDimSize(0);
    Value computed = create(offsets ? type.clone(shape) : type);
    rewriter.replaceAllUsesWith(result, offsets ? packRows(b, computed, offsets, type) : computed);
  };
  if (op.getLse())
    replaceBy(op.getLse(), [&](Type type) -> Value { return LseOp::create(b, type, score); });
  Value prob = SoftmaxOp::create(b, score.getType(), score, op.getSink());
  prob = applyRegion<ModifyProbOp>(b, prob, op.getProbMod());
  replaceBy(op.getResult(),
            [&](Type type) -> Value { return ContextOp::create(b, type, prob, value); });
  rewriter.eraseOp(op);
  return success();
}

/// A single row as a matrix of one row.
static LogicalResult addRow(LinearOp op, PatternRewriter &rewriter) {
  if (op.isDecomposed())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto withRow = [](Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    return RankedTensorType::get({1, type.getDimSize(0)}, type.getElementType());
  };
  ReassociationIndices both = {0, 1};
  Value input = tensor::ExpandShapeOp::create(b, withRow(op.getInput()), op.getInput(), {both});
  auto result = LinearOp::create(b, withRow(op.getResult()), input, op.getWeight(), op.getBias());
  if (op.getSchedule())
    result.setScheduleAttr(op.getScheduleAttr());
  rewriter.replaceOp(op, tensor::CollapseShapeOp::create(b, op.getType(), result, {both}));
  return success();
}

/// The reassociation for dropped dimensions.
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

/// Splits a strided slice into one of unit strides and a strided one from offset 0.
static void splitStrides(tensor::ExtractSliceOp op, PatternRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
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
  rewriter.replaceOp(op, strided);
}

static bool hasDynamicStrides(tensor::ExtractSliceOp op) {
  return llvm::any_of(op.getStaticStrides(), ShapedType::isDynamic);
}

/// A slice of unit strides that keeps its last dimension is a view; a strided one must start at
/// offset 0. Dynamic strides are an error of the conversion.
static bool hasKernel(tensor::ExtractSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (op.hasUnitStride())
    return dropped.empty() || !dropped.test(dropped.size() - 1);
  return dropped.none() &&
         (hasDynamicStrides(op) || llvm::all_of(op.getMixedOffsets(), isZeroInteger));
}

/// Splits off dropped dimensions and strides as separate ops.
static LogicalResult splitSlice(tensor::ExtractSliceOp op, PatternRewriter &rewriter) {
  bool isUnit = op.hasUnitStride();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (isUnit ? hasKernel(op) : dropped.none() && hasDynamicStrides(op))
    return failure();
  if (dropped.any()) {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto whole = tensor::ExtractSliceOp::create(b, op.getSource(), op.getMixedOffsets(),
                                                op.getMixedSizes(), op.getMixedStrides());
    auto groups = groupDropped(dropped);
    rewriter.replaceOp(op, tensor::CollapseShapeOp::create(b, op.getType(), whole, groups));
    op = whole;
  }
  if (!isUnit && !hasDynamicStrides(op))
    splitStrides(op, rewriter);
  return success();
}

static bool hasKernel(tensor::InsertSliceOp op) { return op.getDroppedDims().none(); }

/// Expands the source to the destination's rank.
static LogicalResult keepDims(tensor::InsertSliceOp op, PatternRewriter &rewriter) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (hasKernel(op))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  SmallVector<int64_t> shape(op.getStaticSizes());
  auto type = RankedTensorType::get(shape, op.getType().getElementType());
  Value source = tensor::ExpandShapeOp::create(b, type, op.getSource(), groupDropped(dropped),
                                               op.getMixedSizes());
  rewriter.replaceOp(op,
                     tensor::InsertSliceOp::create(b, source, op.getDest(), op.getMixedOffsets(),
                                                   op.getMixedSizes(), op.getMixedStrides()));
  return success();
}

static LogicalResult decomposeSplat(tensor::SplatOp op, PatternRewriter &rewriter) {
  Value element = op.getInput();
  rewriter.replaceOpWithNewOp<tensor::GenerateOp>(op, op.getType(), op.getDynamicSizes(),
                                                  [&](OpBuilder &nested, Location loc, ValueRange) {
                                                    tensor::YieldOp::create(nested, loc, element);
                                                  });
  return success();
}

/// A tensor filled with the padding value, with the source inserted.
static LogicalResult decomposePad(tensor::PadOp op, PatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op.getLoc(), op.getSource()),
                            ones(sizes.size(), b.getIndexAttr(1)), low = op.getMixedLowPad();
  SmallVector<Value> dynamic;
  for (auto [dim, size, before, after] : llvm::enumerate(sizes, low, op.getMixedHighPad())) {
    if (!op.getType().isDynamicDim(dim))
      continue;
    auto value = [&](OpFoldResult x) { return getValueOrCreateConstantIndexOp(b, b.getLoc(), x); };
    Value padded = arith::AddIOp::create(b, value(before), value(size));
    dynamic.push_back(arith::AddIOp::create(b, padded, value(after)));
  }
  auto padding = tensor::GenerateOp::create(b, op.getType(), dynamic);
  padding.getBody().takeBody(op.getRegion());
  rewriter.replaceOp(op,
                     tensor::InsertSliceOp::create(b, op.getSource(), padding, low, sizes, ones));
  return success();
}

/// The size of a result's dimension, read from the shape operand.
static OpFoldResult getShapeElement(ImplicitLocOpBuilder &b, tensor::ReshapeOp op, int64_t dim) {
  int64_t known = cast<RankedTensorType>(op.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(known))
    return b.getIndexAttr(known);
  Value size;
  if (auto elements = op.getShape().getDefiningOp<tensor::FromElementsOp>())
    size = elements.getElements()[dim];
  else
    size = tensor::ExtractOp::create(b, op.getShape(),
                                     ValueRange(arith::ConstantIndexOp::create(b, dim)));
  if (!size.getType().isIndex())
    size = arith::IndexCastOp::create(b, b.getIndexType(), size);
  // Clamps a negative size to 0.
  return arith::MaxSIOp::create(b, size, arith::ConstantIndexOp::create(b, 0)).getResult();
}

/// A dimension and its factors. Sizes must be static in both tensors or in neither.
static LogicalResult decomposeReshape(tensor::ReshapeOp op, PatternRewriter &rewriter) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType()),
       type = dyn_cast<RankedTensorType>(op.getType());
  if (!source || !type || source.getRank() == 0 || type.getRank() == 0 ||
      source.hasStaticShape() != type.hasStaticShape())
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto all = [](RankedTensorType of) {
    return ReassociationIndices(llvm::to_vector(llvm::seq<int64_t>(of.getRank())));
  };
  Value flat = op.getSource();
  if (source.getRank() > 1)
    flat = tensor::CollapseShapeOp::create(b, flat, ArrayRef<ReassociationIndices>(all(source)));
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(getShapeElement(b, op, dim));
  Operation *shape = op.getShape().getDefiningOp();
  rewriter.replaceOp(op, tensor::ExpandShapeOp::create(
                             b, type, flat, ArrayRef<ReassociationIndices>(all(type)), sizes));
  if (shape && isOpTriviallyDead(shape))
    rewriter.eraseOp(shape);
  return success();
}

/// The largest or least of several dimensions: of rows first, which are computed in lanes.
static LogicalResult reduceRowsFirst(ReduceOp op, PatternRewriter &rewriter) {
  constexpr int64_t kFewest = 16;
  auto type = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<bool> reduced = op.getReducedDims();
  bool isExtreme = op.getKind() == ReduceKind::max || op.getKind() == ReduceKind::min;
  if (!isExtreme || op.getKeepDims() || llvm::count(reduced, true) < 2 || !reduced.back() ||
      (!type.isDynamicDim(type.getRank() - 1) && type.getShape().back() < kFewest))
    return failure();
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < last; ++dim)
    if (reduced[dim])
      others.push_back(dim);
  Value rows =
      ReduceOp::create(rewriter, op.getLoc(),
                       RankedTensorType::get(type.getShape().drop_back(), type.getElementType()),
                       op.getKind(), op.getInput(), last, /*keep_dims=*/false);
  rewriter.replaceOpWithNewOp<ReduceOp>(op, op.getType(), op.getKind(), rows, others,
                                        /*keep_dims=*/false);
  return success();
}

/// Replaces the op by what `expand` builds.
template <typename OpTy, void (*expand)(OpTy, RewriterBase &)>
static LogicalResult decomposeBy(OpTy op, PatternRewriter &rewriter) {
  expand(op, rewriter);
  return success();
}

bool attn::isDecomposed(Operation *op) {
  if (auto attnOp = dyn_cast<AttnOpInterface>(op))
    return attnOp.isDecomposed();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return hasKernel(slice);
  auto insert = dyn_cast<tensor::InsertSliceOp>(op);
  return !insert || hasKernel(insert);
}

/// Refuses strides below 1 and negative padding, for which there is no kernel.
static LogicalResult checkSteps(Operation *op) {
  auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
  for (int64_t stride : slice ? slice.getStaticStrides() : ArrayRef<int64_t>())
    if (stride < 1 && !ShapedType::isDynamic(stride))
      return op->emitOpError("expected strides of at least 1, found ") << stride;
  auto pad = dyn_cast<tensor::PadOp>(op);
  if (!pad)
    return success();
  for (int64_t width : llvm::concat<const int64_t>(pad.getStaticLow(), pad.getStaticHigh()))
    if (width < 0 && !ShapedType::isDynamic(width))
      return op->emitOpError("expected no negative padding, found ") << width;
  return success();
}

namespace {
struct AttnDecomposePass : mlir::attn::impl::AttnDecomposeBase<AttnDecomposePass> {
  using Base::Base;

  /// Rewrites each op once; new ops are left to later steps.
  template <typename... Patterns>
  void apply(Patterns... rewrites) {
    RewritePatternSet patterns(&getContext());
    (patterns.add(rewrites), ...);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

  void runOnOperation() override {
    auto check = [](Operation *op) { return WalkResult(checkSteps(op)); };
    if (failed(verifyDims(getOperation())) || getOperation().walk(check).wasInterrupted())
      return signalPassFailure();
    apply(decomposeAttention); // before the ops that it consists of
    apply(decomposeSink);
    apply(decomposeBy<DropoutOp, expandDropout>);
    apply(decomposeBy<PositionsOp, expandPositions>);
    apply(decomposeBy<QuantizeOp, expandQuantize>);
    apply(decomposeBy<DequantizeOp, expandDequantize>);
    apply(splitSlice);
    apply(decomposeReshape);
    apply(decomposeSplat);
    apply(decomposePad); // before the insertion that it becomes
    apply(keepDims);
    apply(reduceRowsFirst);
    apply(addRow);
  }
};
} // namespace
