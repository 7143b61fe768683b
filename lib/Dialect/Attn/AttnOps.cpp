//===- AttnOps.cpp - verifiers, sizes and folds of the attn ops
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dynamic size is compatible with every other: what can't be compared here is
// compared when the kernel is called.
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "MaskBody.h"
#include "ResultTypes.h"
#include "Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<MaskOp> attn::findMasksBehind(Value score) {
  SmallVector<MaskOp> masks;
  while (Operation *op = score.getDefiningOp()) {
    if (auto mask = dyn_cast<MaskOp>(op))
      masks.push_back(mask);
    else if (!isa<ModifyScoreOp>(op))
      break;
    score = op->getOperand(0);
  }
  return masks;
}

//===----------------------------------------------------------------------===//
// What the verifiers share
//===----------------------------------------------------------------------===//

static LogicalResult verifyGroups(Operation *op, int64_t numQHeads, int64_t numKvHeads) {
  if (!bothStatic(numQHeads, numKvHeads))
    return success();
  if (numKvHeads > 0 && numQHeads % numKvHeads == 0)
    return success();
  return op->emitOpError("expected num_q_heads ")
         << numQHeads << " to be a multiple of num_kv_heads, found " << numKvHeads;
}

/// The block of a body takes `element` (none for a mask), then batch, head, q
/// and k; it yields `yielded`.
static LogicalResult verifyBody(Operation *op, StringRef what, Region &body, Type element,
                                Type yielded) {
  SmallVector<Type> expected;
  if (element)
    expected.push_back(element);
  expected.append(4, IndexType::get(op->getContext()));
  Block &block = body.front();
  if (block.getArgumentTypes() != ArrayRef<Type>(expected))
    return op->emitOpError("expected ")
           << what << " to take (" << expected << "), found (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError("expected ")
           << what << " to end with attn.yield, found " << block.getTerminator()->getName();
  if (yield.getValue().getType() != yielded)
    return yield.emitOpError("expected a value of ")
           << yielded << ", found " << yield.getValue().getType();
  return verifyChains(body);
}

static void nameBody(Region &body, bool hasElement, StringRef element,
                     OpAsmSetValueNameFn setName) {
  SmallVector<StringRef, 5> names = {"batch", "head", "q", "k"};
  if (hasElement)
    names.insert(names.begin(), element);
  if (body.empty() || body.getNumArguments() != names.size())
    return;
  for (auto [argument, name] : llvm::zip(body.getArguments(), names))
    setName(argument, name);
}

/// A sink is broadcast to (batch, num_q_heads, q_len), the sizes that `like` begins with.
static LogicalResult verifySink(Operation *op, Value sink, StringRef where, Value like) {
  if (failed(verifyElement(op, "sink", sink, where, like)))
    return failure();
  StringRef names[] = {"sink batch", "sink num_q_heads", "sink q_len"};
  for (auto [dim, name] : llvm::enumerate(names))
    if (sizeOf(sink, dim) != 1 &&
        failed(verifySize(op, name, sizeOf(sink, dim), where, sizeOf(like, dim))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// ScoreOp
//===----------------------------------------------------------------------===//

LogicalResult ScoreOp::verify() {
  Value query = getQuery(), key = getKey();
  // score_c1
  if (failed(verifyElement(*this, "key", key, "query", query)) ||
      failed(verifyElement(*this, "score", getScore(), "query", query)))
    return failure();
  // score_c2
  if (failed(verifySize(*this, "key batch", sizeOf(key, 0), "query", sizeOf(query, 0))) ||
      failed(verifySize(*this, "key head_dim", sizeOf(key, 3), "query", sizeOf(query, 3))))
    return failure();
  // score_c3
  if (failed(verifyGroups(*this, sizeOf(query, 1), sizeOf(key, 1))))
    return failure();
  // score_c4
  return verifyShape(
      *this, "score", getScore(), {"batch", "num_q_heads", "q_len", "kv_len"},
      {eitherSize(query, key, 0), sizeOf(query, 1), sizeOf(query, 2), sizeOf(key, 2)});
}

LogicalResult ScoreOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  Value query = getQuery(), key = getKey();
  shapes = {
      resultSizes(builder, getLoc(), getScore(), {{query, 0}, {query, 1}, {query, 2}, {key, 2}})};
  return success();
}

//===----------------------------------------------------------------------===//
// AdditiveScoreOp
//===----------------------------------------------------------------------===//

LogicalResult AdditiveScoreOp::verify() {
  Value query = getQuery(), key = getKey(), weight = getWeight();
  // additive_score_c1
  if (failed(verifyElement(*this, "key", key, "query", query)) ||
      failed(verifyElement(*this, "weight", weight, "query", query)) ||
      failed(verifyElement(*this, "score", getScore(), "query", query)))
    return failure();
  // additive_score_c2
  if (failed(verifySize(*this, "key batch", sizeOf(key, 0), "query", sizeOf(query, 0))) ||
      failed(verifySize(*this, "key width", sizeOf(key, 3), "query", sizeOf(query, 3))) ||
      failed(verifyRank(*this, "weight", weight, 1)) ||
      failed(verifySize(*this, "weight width", sizeOf(weight, 0), "query", sizeOf(query, 3))))
    return failure();
  // additive_score_c3
  if (failed(verifyGroups(*this, sizeOf(query, 1), sizeOf(key, 1))))
    return failure();
  // additive_score_c4
  return verifyShape(
      *this, "score", getScore(), {"batch", "num_q_heads", "q_len", "kv_len"},
      {eitherSize(query, key, 0), sizeOf(query, 1), sizeOf(query, 2), sizeOf(key, 2)});
}

LogicalResult AdditiveScoreOp::reifyResultShapes(OpBuilder &builder,
                                                 ReifiedRankedShapedTypeDims &shapes) {
  Value query = getQuery(), key = getKey();
  shapes = {
      resultSizes(builder, getLoc(), getScore(), {{query, 0}, {query, 1}, {query, 2}, {key, 2}})};
  return success();
}

//===----------------------------------------------------------------------===//
// ModifyScoreOp, MaskOp, ModifyProbOp
//===----------------------------------------------------------------------===//

LogicalResult ModifyScoreOp::verifyRegions() {
  Type element = getElementTypeOrSelf(getScore());
  return verifyBody(*this, "the region", getBody(), element,
                    element); // modify_score_c1
}

LogicalResult MaskOp::verifyRegions() {
  Type i1 = IntegerType::get(getContext(), 1);
  return verifyBody(*this, "the region", getBody(), Type(), i1); // mask_c1
}

LogicalResult ModifyProbOp::verifyRegions() {
  Type element = getElementTypeOrSelf(getProb());
  return verifyBody(*this, "the region", getBody(), element,
                    element); // modify_prob_c1
}

void ModifyScoreOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, true, "score", setName);
}
void MaskOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, false, "", setName);
}
void ModifyProbOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, true, "prob", setName);
}

LogicalResult ModifyScoreOp::reifyResultShapes(OpBuilder &builder,
                                               ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getScore(), shapes);
}
LogicalResult MaskOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getScore(), shapes);
}
LogicalResult ModifyProbOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getProb(), shapes);
}

//===----------------------------------------------------------------------===//
// SoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  int64_t rank = rankOf(getScore());
  int64_t axis = getAxis();
  // softmax_c1
  if (axis < -rank || axis >= rank)
    return emitOpError("expected an axis within rank ") << rank << ", found " << axis;
  if (!getSink())
    return success();
  // softmax_c2
  if (rank != 4 || (axis != -1 && axis != 3))
    return emitOpError("expected a score of rank 4 and its last axis beside a sink, found rank ")
           << rank << " and axis " << axis;
  // softmax_c3
  return verifySink(*this, getSink(), "score", getScore());
}

LogicalResult SoftmaxOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getScore(), shapes);
}

//===----------------------------------------------------------------------===//
// ContextOp
//===----------------------------------------------------------------------===//

LogicalResult ContextOp::verify() {
  Value prob = getProb(), value = getValue();
  // context_c1
  if (failed(verifyElement(*this, "value", value, "prob", prob)) ||
      failed(verifyElement(*this, "context", getResult(), "prob", prob)))
    return failure();
  // context_c2
  if (failed(verifySize(*this, "value batch", sizeOf(value, 0), "prob", sizeOf(prob, 0))) ||
      failed(verifySize(*this, "value kv_len", sizeOf(value, 2), "prob", sizeOf(prob, 3))))
    return failure();
  // context_c3
  if (failed(verifyGroups(*this, sizeOf(prob, 1), sizeOf(value, 1))))
    return failure();
  // context_c4
  return verifyShape(
      *this, "context", getResult(), {"batch", "num_q_heads", "q_len", "value_dim"},
      {eitherSize(prob, value, 0), sizeOf(prob, 1), sizeOf(prob, 2), sizeOf(value, 3)});
}

LogicalResult ContextOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  Value prob = getProb();
  shapes = {resultSizes(builder, getLoc(), getResult(),
                        {{prob, 0}, {prob, 1}, {prob, 2}, {getValue(), 3}})};
  return success();
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyAttentionOperands(AttentionOp op) {
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  // attention_c1
  if (failed(verifyElement(op, "key", key, "query", query)) ||
      failed(verifyElement(op, "value", value, "query", query)) ||
      failed(verifyElement(op, "context", op.getResult(), "query", query)))
    return failure();
  // attention_c2
  if (failed(verifySize(op, "key batch", sizeOf(key, 0), "query", sizeOf(query, 0))) ||
      failed(verifySize(op, "value batch", sizeOf(value, 0), "query", sizeOf(query, 0))) ||
      failed(verifySize(op, "value batch", sizeOf(value, 0), "key", sizeOf(key, 0))) ||
      failed(verifySize(op, "key head_dim", sizeOf(key, 3), "query", sizeOf(query, 3))) ||
      failed(verifySize(op, "value num_kv_heads", sizeOf(value, 1), "key", sizeOf(key, 1))) ||
      failed(verifySize(op, "value kv_len", sizeOf(value, 2), "key", sizeOf(key, 2))))
    return failure();
  // attention_c3
  if (failed(verifyGroups(op, sizeOf(query, 1), sizeOf(key, 1))))
    return failure();
  return verifyGroups(op, sizeOf(query, 1), sizeOf(value, 1));
}

/// A call finds exactly one kernel.
static LogicalResult verifyOrder(AttentionOp op, ArrayRef<Attribute> schedules) {
  // attention_c6
  int64_t last =
      schedules.empty() ? -1 : cast<ScheduleAttrInterface>(schedules.back()).getMaxQLen();
  if (last != 0)
    return op.emitOpError("expected a last schedule without max_q_len");
  int64_t before = 0;
  for (Attribute schedule : schedules.drop_back()) {
    int64_t limit = cast<ScheduleAttrInterface>(schedule).getMaxQLen();
    if (limit <= before)
      return op.emitOpError("expected a max_q_len above ") << before << ", found " << limit;
    before = limit;
  }
  return success();
}

static LogicalResult verifySchedules(AttentionOp op) {
  if (!op.getSchedule())
    return success();
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>())
    if (failed(schedule.verifySchedule(op)))
      return failure();
  return verifyOrder(op, op.getSchedule()->getValue());
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttentionOperands(*this)) || failed(verifySchedules(*this)))
    return failure();
  // attention_c9
  if (getSink() && failed(verifySink(*this, getSink(), "query", getQuery())))
    return failure();
  // attention_c4
  int64_t batch = eitherSize(getQuery(), getKey(), 0), heads = sizeOf(getQuery(), 1),
          qLen = sizeOf(getQuery(), 2);
  if (failed(verifyShape(*this, "context", getResult(),
                         {"batch", "num_q_heads", "q_len", "value_dim"},
                         {batch, heads, qLen, sizeOf(getValue(), 3)})))
    return failure();
  if (!getLse())
    return success();
  return verifyShape(*this, "lse", getLse(), {"batch", "num_q_heads", "q_len"},
                     {batch, heads, qLen});
}

LogicalResult AttentionOp::verifyRegions() {
  Type element = getElementTypeOrSelf(getQuery()), i1 = IntegerType::get(getContext(), 1);
  // attention_c5
  if (!getScoreMod().empty() &&
      failed(verifyBody(*this, "score_mod", getScoreMod(), element, element)))
    return failure();
  if (!getMask().empty() && failed(verifyBody(*this, "mask", getMask(), Type(), i1)))
    return failure();
  if (!getProbMod().empty() &&
      failed(verifyBody(*this, "prob_mod", getProbMod(), element, element)))
    return failure();
  return success();
}

void AttentionOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, &body != &getMask(), &body == &getProbMod() ? "prob" : "score", setName);
}

LogicalResult AttentionOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  Value query = getQuery();
  shapes = {resultSizes(builder, getLoc(), getResult(),
                        {{query, 0}, {query, 1}, {query, 2}, {getValue(), 3}})};
  if (getLse())
    shapes.push_back(
        resultSizes(builder, getLoc(), getLse(), {{query, 0}, {query, 1}, {query, 2}}));
  return success();
}

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyLinearBias(LinearOp op, int64_t outFeatures) {
  if (!op.getBias())
    return success();
  // linear_c3
  if (failed(verifyRank(op, "bias", op.getBias(), 1)))
    return failure();
  return verifySize(op, "bias elements", sizeOf(op.getBias(), 0), "weight out_features",
                    outFeatures);
}

static LogicalResult verifyLinearResult(LinearOp op, int64_t outFeatures) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  // linear_c4
  if (failed(verifyRank(op, "a result", op.getResult(), input.getRank())))
    return failure();
  for (int64_t dim = 0; dim + 1 < input.getRank(); ++dim)
    if (failed(verifySize(op, "result dimension " + std::to_string(dim),
                          sizeOf(op.getResult(), dim), "input", input.getDimSize(dim))))
      return failure();
  return verifySize(op, "result width", sizeOf(op.getResult(), input.getRank() - 1),
                    "weight out_features", outFeatures);
}

LogicalResult LinearOp::verify() {
  Value input = getInput(), weight = getWeight();
  // linear_c1
  if (failed(verifyElement(*this, "weight", weight, "input", input)) ||
      (getBias() && failed(verifyElement(*this, "bias", getBias(), "input", input))) ||
      failed(verifyElement(*this, "result", getResult(), "input", input)))
    return failure();
  // linear_c2
  int64_t rank = rankOf(input);
  if (rank == 0)
    return emitOpError("expected input of rank 1 or more, found 0");
  if (failed(verifyRank(*this, "weight", weight, 2)) ||
      failed(verifySize(*this, "weight in_features", sizeOf(weight, 1), "input's last dimension",
                        sizeOf(input, rank - 1))))
    return failure();
  if (failed(verifyLinearBias(*this, sizeOf(weight, 0))))
    return failure();
  return verifyLinearResult(*this, sizeOf(weight, 0));
}

LogicalResult LinearOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  int64_t rank = rankOf(getInput());
  SmallVector<std::pair<Value, int64_t>> sources;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    sources.push_back({getInput(), dim});
  sources.push_back({getWeight(), 0});
  shapes = {resultSizes(builder, getLoc(), getResult(), sources)};
  return success();
}

//===----------------------------------------------------------------------===//
// SplitHeadsOp, MergeHeadsOp
//===----------------------------------------------------------------------===//

/// The dimension of a rank 3 tensor that holds the batch, and its length.
static int64_t batchDim(Layout layout) { return layout == Layout::batch_first ? 0 : 1; }
static int64_t lengthDim(Layout layout) { return 1 - batchDim(layout); }

LogicalResult SplitHeadsOp::verify() {
  Value input = getInput();
  int64_t heads = getNumHeads(), width = sizeOf(input, 2);
  // split_heads_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", input)))
    return failure();
  // split_heads_c2
  if (heads <= 0)
    return emitOpError("expected a positive num_heads, found ") << heads;
  bool dynamic = ShapedType::isDynamic(width);
  if (!dynamic && width % heads != 0)
    return emitOpError("expected num_heads to divide the width ") << width << ", found " << heads;
  // split_heads_c3
  return verifyShape(*this, "result", getResult(), {"batch", "num_heads", "len", "head_dim"},
                     {sizeOf(input, batchDim(getLayout())), heads,
                      sizeOf(input, lengthDim(getLayout())),
                      dynamic ? ShapedType::kDynamic : width / heads});
}

LogicalResult SplitHeadsOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  Value input = getInput();
  Location loc = getLoc();
  OpFoldResult batch = resultSize(builder, loc, getResult(), 0, input, batchDim(getLayout()));
  OpFoldResult length = resultSize(builder, loc, getResult(), 2, input, lengthDim(getLayout()));
  OpFoldResult headDim = resultSize(builder, loc, getResult(), 3, input, 2);
  if (sizeOf(getResult(), 3) == ShapedType::kDynamic) {
    Value heads = arith::ConstantIndexOp::create(builder, loc, getNumHeads());
    Value width = getValueOrCreateConstantIndexOp(builder, loc, headDim);
    headDim = arith::DivUIOp::create(builder, loc, width, heads).getResult();
  }
  shapes = {{batch, builder.getIndexAttr(getNumHeads()), length, headDim}};
  return success();
}

OpFoldResult SplitHeadsOp::fold(FoldAdaptor) {
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  if (!merge || merge.getLayout() != getLayout() || merge.getInput().getType() != getType())
    return {};
  // A dynamic number of heads may differ from the one split into.
  bool sameHeads = sizeOf(merge.getInput(), 1) == static_cast<int64_t>(getNumHeads());
  return sameHeads ? merge.getInput() : Value();
}

LogicalResult MergeHeadsOp::verify() {
  Value input = getInput();
  int64_t heads = sizeOf(input, 1), headDim = sizeOf(input, 3);
  // merge_heads_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", input)))
    return failure();
  // merge_heads_c2
  bool first = getLayout() == Layout::batch_first;
  SmallVector<StringRef> names = {first ? "batch" : "len", first ? "len" : "batch", "width"};
  return verifyShape(*this, "result", getResult(), names,
                     {sizeOf(input, first ? 0 : 2), sizeOf(input, first ? 2 : 0),
                      bothStatic(heads, headDim) ? heads * headDim : ShapedType::kDynamic});
}

/// num_heads · head_dim of the tensor merged.
static OpFoldResult mergedWidth(OpBuilder &builder, MergeHeadsOp op) {
  int64_t width = sizeOf(op.getResult(), 2);
  if (!ShapedType::isDynamic(width))
    return builder.getIndexAttr(width);
  Location loc = op.getLoc();
  auto size = [&](int64_t dim) {
    OpFoldResult mixed = tensor::getMixedSize(builder, loc, op.getInput(), dim);
    return getValueOrCreateConstantIndexOp(builder, loc, mixed);
  };
  Value heads = size(1), headDim = size(3);
  return arith::MulIOp::create(builder, loc, heads, headDim).getResult();
}

LogicalResult MergeHeadsOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  bool first = getLayout() == Layout::batch_first;
  OpFoldResult outer = resultSize(builder, getLoc(), getResult(), 0, getInput(), first ? 0 : 2);
  OpFoldResult inner = resultSize(builder, getLoc(), getResult(), 1, getInput(), first ? 2 : 0);
  shapes = {{outer, inner, mergedWidth(builder, *this)}};
  return success();
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  if (!split || split.getLayout() != getLayout() || split.getInput().getType() != getType())
    return {};
  return split.getInput();
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
