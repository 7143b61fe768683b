//===- LayerOps.cpp - linear layers, heads, norms, embeddings -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "Formulas.h"
#include "Shapes.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

bool LinearOp::isInteger() { return getElementTypeOrSelf(getWeight()).isInteger(8); }

/// linear_c1
static LogicalResult verifyIntegers(LinearOp op) {
  constexpr int64_t kMostFeatures = LinearOp::kMostIntegerFeatures;
  if (op.getBias())
    return op.emitOpError("expected no bias of products of i8, found ") << op.getBias().getType();
  if (!getElementTypeOrSelf(op.getResult()).isInteger(32))
    return op.emitOpError("expected a result of i32 beside products of i8, found ")
           << op.getResult().getType();
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (weight.getRank() == 2 &&
      !(weight.getDimSize(1) >= 0 && weight.getDimSize(1) <= kMostFeatures))
    return op.emitOpError("expected a known number of at most ")
           << kMostFeatures << " in_features beside products of i8, found " << weight;
  return success();
}

LogicalResult LinearOp::verify() {
  Value input = getInput(), weight = getWeight();
  // linear_c1
  if (failed(verifyElement(*this, "weight", weight, "input", input)) ||
      (isInteger() && failed(verifyIntegers(*this))) ||
      (getBias() && failed(verifyElement(*this, "bias", getBias(), "input", input))) ||
      (!isInteger() && failed(verifyElement(*this, "result", getResult(), "input", input))))
    return failure();
  if (rankOf(input) == 0)
    return emitOpError("expected input of rank 1 or more, found 0");
  // linear_c2, linear_c3
  if (failed(verifyRank(*this, "weight", weight, 2)) ||
      (getBias() && failed(verifyRank(*this, "bias", getBias(), 1))) || failed(verifySizes(*this)))
    return failure();
  if (failed(verifyResult(*this))) // linear_c4
    return failure();
  // linear_c5
  return getSchedule() ? verifySchedules(*this, getScheduleAttr(), /*isOfLinear=*/true) : success();
}

SizeConstraints LinearOp::getSizeConstraints() {
  Value input = getInput(), weight = getWeight();
  SizeConstraints constraints = {
      {"in_features", {{"input", input, rankOf(input) - 1}, {"weight", weight, 1}}}};
  if (getBias())
    constraints.push_back({"out_features", {{"weight", weight, 0}, {"bias", getBias(), 0}}});
  return constraints;
}

FailureOr<ResultSizes> LinearOp::inferSizes(SizedTensor input, SizedTensor weight) {
  if (!input.hasRankAtLeast(1) || !weight.hasRank(2))
    return failure();
  ResultSizes sizes = sizesLike(input);
  sizes.back() = TensorDim{weight, 0};
  return sizes;
}

ResultSizes LinearOp::getResultSizes(unsigned) { return *inferSizes(getInput(), getWeight()); }

SmallVector<SizeProduct> LinearOp::getFlops() {
  return {flopsOfProduct(getResult(), TensorDim{getWeight(), 1})};
}

bool LinearOp::isDecomposed() { return rankOf(getInput()) != 1; }

void LinearOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "linear",
        w.nameOf(getInput()) + " @ " + w.nameOf(getWeight()) + "^T" +
            formatOptional(w, " + ", getBias()));
}

//===----------------------------------------------------------------------===//
// SplitHeadsOp, MergeHeadsOp
//===----------------------------------------------------------------------===//

LogicalResult SplitHeadsOp::verify() {
  int64_t heads = getNumHeads(), width = sizeOf(getInput(), 2);
  // split_heads_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", getInput())))
    return failure();
  // split_heads_c2
  if (heads <= 0)
    return emitOpError("expected a positive num_heads, found ") << heads;
  if (!ShapedType::isDynamic(width) && width % heads != 0)
    return emitOpError("expected num_heads to divide the width ") << width << ", found " << heads;
  // split_heads_c3
  return verifyResult(*this, getResult(), "result", {"batch", "num_heads", "len", "head_dim"});
}

static bool isTimeFirst(LayoutAttr layout) {
  return layout && layout.getValue() == Layout::time_first;
}

FailureOr<ResultSizes> SplitHeadsOp::inferSizes(SizedTensor input, IntegerAttr numHeads,
                                                LayoutAttr layout) {
  int64_t heads = std::max<int64_t>(numHeads.getInt(), 1); // the verifier refuses others
  if (!input.hasRank(3))
    return failure();
  TensorDim batch{input, 0}, len{input, 1};
  if (isTimeFirst(layout))
    std::swap(batch, len);
  return ResultSizes{batch, heads, len, ResultSize::quotient({input, 2}, heads)};
}

ResultSizes SplitHeadsOp::getResultSizes(unsigned) {
  return *inferSizes(getInput(), getNumHeadsAttr(), getLayoutAttr());
}

OpFoldResult SplitHeadsOp::fold(FoldAdaptor) {
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  if (!merge || merge.getLayout() != getLayout() || merge.getInput().getType() != getType())
    return {};
  // A dynamic number of heads may differ from num_heads.
  bool sameHeads = sizeOf(merge.getInput(), 1) == static_cast<int64_t>(getNumHeads());
  return sameHeads ? merge.getInput() : Value();
}

void SplitHeadsOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "heads",
        w.nameOf(getInput()) + " as " + std::to_string(getNumHeads()) + " heads");
}

LogicalResult MergeHeadsOp::verify() {
  // merge_heads_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", getInput())))
    return failure();
  // merge_heads_c2
  bool first = getLayout() == Layout::batch_first;
  return verifyResult(*this, getResult(), "result",
                      {first ? "batch" : "len", first ? "len" : "batch", "width"});
}

FailureOr<ResultSizes> MergeHeadsOp::inferSizes(SizedTensor heads, LayoutAttr layout) {
  if (!heads.hasRank(4))
    return failure();
  TensorDim batch{heads, 0}, len{heads, 2};
  if (isTimeFirst(layout))
    std::swap(batch, len);
  return ResultSizes{batch, len, ResultSize::product({heads, 1}, {heads, 3})};
}

ResultSizes MergeHeadsOp::getResultSizes(unsigned) {
  return *inferSizes(getInput(), getLayoutAttr());
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  if (!split || split.getLayout() != getLayout() || split.getInput().getType() != getType())
    return {};
  return split.getInput();
}

void MergeHeadsOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "merged", w.nameOf(getInput()) + ", heads side by side");
}

//===----------------------------------------------------------------------===//
// LayerNormOp
//===----------------------------------------------------------------------===//

/// `parameter`: the scale or the bias, null if absent.
static LogicalResult verifyNormParameter(LayerNormOp op, StringRef what, Value parameter) {
  if (!parameter)
    return success();
  // layer_norm_c2
  if (failed(verifyElement(op, what, parameter, "input", op.getInput())))
    return failure();
  // layer_norm_c3
  return verifyRank(op, what, parameter, 1);
}

LogicalResult LayerNormOp::verify() {
  // layer_norm_c1
  if (rankOf(getInput()) == 0)
    return emitOpError("expected input of rank 1 or more, found 0");
  // layer_norm_c3
  if (failed(verifyNormParameter(*this, "scale", getScale())) ||
      failed(verifyNormParameter(*this, "bias", getBias())) || failed(verifySizes(*this)))
    return failure();
  // layer_norm_c4
  if (!(getEpsilon().convertToDouble() >= 0))
    return emitOpError("expected an epsilon of 0 or more, found ") << getEpsilonAttr();
  return success();
}

SizeConstraints LayerNormOp::getSizeConstraints() {
  SizeConstraint width = {"width", {{"input", getInput(), rankOf(getInput()) - 1}}};
  if (getScale())
    width.members.push_back({"scale", getScale(), 0});
  if (getBias())
    width.members.push_back({"bias", getBias(), 0});
  return {width};
}

void LayerNormOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "normed",
        stringifyNormMode(getMode()).str() + "_norm(" + w.nameOf(getInput()) + ", epsilon " +
            formatNumber(getEpsilon().convertToDouble()) + ")" +
            formatOptional(w, " * ", getScale()) + formatOptional(w, " + ", getBias()));
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  // embedding_c1
  if (failed(verifyRank(*this, "table", getTable(), 2)) ||
      failed(verifyElement(*this, "result", getResult(), "table", getTable())))
    return failure();
  return verifyResult(*this); // embedding_c2
}

FailureOr<ResultSizes> EmbeddingOp::inferSizes(SizedTensor table, SizedTensor ids) {
  if (!table.hasRank(2) || !ids.hasRankAtLeast(0))
    return failure();
  ResultSizes sizes = sizesLike(ids);
  sizes.push_back(TensorDim{table, 1});
  return sizes;
}

ResultSizes EmbeddingOp::getResultSizes(unsigned) { return *inferSizes(getTable(), getIds()); }

void EmbeddingOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "embedded", w.nameOf(getTable()) + "[" + w.nameOf(getIds()) + "]");
}
