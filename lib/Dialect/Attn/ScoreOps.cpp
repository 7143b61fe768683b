//===- ScoreOps.cpp - score, mask, softmax, lse, context, merge -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "Formulas.h"
#include "RegionBody.h"
#include "Shapes.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// ScoreOp
//===----------------------------------------------------------------------===//

double attn::roundScale(double scale, Value tensor) {
  return getElementTypeOrSelf(tensor).isF64() ? scale : static_cast<float>(scale);
}

LogicalResult attn::verifyScale(Operation *op, const APFloat &scale, Value query) {
  double rounded = roundScale(scale.convertToDouble(), query);
  if (std::isfinite(rounded))
    return success();
  SmallString<16> found;
  scale.toString(found, /*FormatPrecision=*/6);
  return op->emitOpError("expected a finite scale in ")
         << (getElementTypeOrSelf(query).isF64() ? "f64" : "f32") << ", found " << found;
}

LogicalResult ScoreOp::verify() {
  Value query = getQuery(), key = getKey();
  // score_c1
  if (failed(verifyElement(*this, "key", key, "query", query)) ||
      failed(verifyElement(*this, "score", getScore(), "query", query)))
    return failure();
  // score_c2, score_c3
  if (failed(verifySizes(*this)))
    return failure();
  // score_c5
  if (failed(verifyScale(*this, getScale(), query)))
    return failure();
  // score_c4
  return verifyResult(*this, getScore(), "score", {"batch", "num_q_heads", "q_len", "kv_len"});
}

SizeConstraints ScoreOp::getSizeConstraints() {
  Value query = getQuery(), key = getKey();
  return {{"batch", {{"query", query, 0}, {"key", key, 0}}},
          multipleOf({"num_q_heads", query, 1}, {{"num_kv_heads", key, 1}}),
          {"q_len", {{"query", query, 2}}},
          {"kv_len", {{"key", key, 2}}},
          {"head_dim", {{"query", query, 3}, {"key", key, 3}}}};
}

FailureOr<ResultSizes> ScoreOp::inferSizes(SizedTensor query, SizedTensor key) {
  if (!query.hasRank(4) || !key.hasRank(4))
    return failure();
  return ResultSizes{ResultSize::anyOf({{query, 0}, {key, 0}}), TensorDim{query, 1},
                     TensorDim{query, 2}, TensorDim{key, 2}};
}

ResultSizes ScoreOp::getResultSizes(unsigned) { return *inferSizes(getQuery(), getKey()); }

SmallVector<SizeProduct> ScoreOp::getFlops() {
  return {flopsOfProduct(getScore(), TensorDim{getQuery(), 3})};
}

void ScoreOp::writeFormula(FormulaWriter &w) {
  w.add(getScore(), "score",
        formatScale(getScale()) + w.nameOf(getQuery()) + " @ " + w.nameOf(getKey()) + "^T");
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
  // additive_score_c2, additive_score_c3
  if (failed(verifyRank(*this, "weight", weight, 1)) || failed(verifySizes(*this)))
    return failure();
  // additive_score_c4
  return verifyResult(*this, getScore(), "score", {"batch", "num_q_heads", "q_len", "kv_len"});
}

SizeConstraints AdditiveScoreOp::getSizeConstraints() {
  Value query = getQuery(), key = getKey();
  return {{"batch", {{"query", query, 0}, {"key", key, 0}}},
          multipleOf({"num_q_heads", query, 1}, {{"num_kv_heads", key, 1}}),
          {"q_len", {{"query", query, 2}}},
          {"kv_len", {{"key", key, 2}}},
          {"width", {{"query", query, 3}, {"key", key, 3}, {"weight", getWeight(), 0}}}};
}

ResultSizes AdditiveScoreOp::getResultSizes(unsigned) {
  return *ScoreOp::inferSizes(getQuery(), getKey());
}

void AdditiveScoreOp::writeFormula(FormulaWriter &w) {
  w.add(getScore(), "score",
        "sum(" + w.nameOf(getWeight()) + " * tanh(" + w.nameOf(getQuery()) + "[q] + " +
            w.nameOf(getKey()) + "[k]))");
}

//===----------------------------------------------------------------------===//
// ModifyScoreOp, MaskOp, ModifyProbOp
//===----------------------------------------------------------------------===//

static SizeConstraints getReads(Operation *op, Value score) {
  SizeConstraints constraints;
  addReads(constraints, op,
           {{"score", score, 0}, {"score", score, 1}, {"score", score, 2}, {"score", score, 3}});
  return constraints;
}

LogicalResult ModifyScoreOp::verifyRegions() {
  Type element = getElementTypeOrSelf(getScore());
  // modify_score_c1
  return failure(failed(verifyBody(*this, "the region", getBody(), element, element)) ||
                 failed(verifySizes(*this)));
}

LogicalResult MaskOp::verifyRegions() {
  Type i1 = IntegerType::get(getContext(), 1);
  // mask_c1
  return failure(failed(verifyBody(*this, "the region", getBody(), Type(), i1)) ||
                 failed(verifySizes(*this)));
}

LogicalResult ModifyProbOp::verifyRegions() {
  Type element = getElementTypeOrSelf(getProb());
  // modify_prob_c1
  return failure(failed(verifyBody(*this, "the region", getBody(), element, element)) ||
                 failed(verifySizes(*this)));
}

SizeConstraints ModifyScoreOp::getSizeConstraints() { return getReads(*this, getScore()); }
SizeConstraints MaskOp::getSizeConstraints() { return getReads(*this, getScore()); }
SizeConstraints ModifyProbOp::getSizeConstraints() { return getReads(*this, getProb()); }

void ModifyScoreOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, "score", setName);
}
void MaskOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, "", setName);
}
void ModifyProbOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameBody(body, "prob", setName);
}

void ModifyScoreOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "score", w.write(getBody(), getBodyNames(w.nameOf(getScore()))));
}

void MaskOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "score",
        w.nameOf(getScore()) + " for keys with " +
            llvm::join(w.writeConjuncts(getBody(), getMaskNames()), " and ") + ", else -inf");
}

void ModifyProbOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "prob", w.write(getBody(), getBodyNames(w.nameOf(getProb()))));
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
  return failure(failed(verifyElement(*this, "sink", getSink(), "score", getScore())) ||
                 failed(verifySizes(*this)));
}

SizeConstraints SoftmaxOp::getSizeConstraints() {
  SizeConstraints constraints;
  Value score = getScore();
  addSink(constraints, getSink(), {{"score", score, 0}, {"score", score, 1}, {"score", score, 2}});
  return constraints;
}

bool SoftmaxOp::isDecomposed() { return !getSink(); }

void SoftmaxOp::writeFormula(FormulaWriter &w) {
  int64_t axis = getAxis();
  w.add(getProb(), "prob",
        "softmax(" + w.nameOf(getScore()) + formatOptional(w, " beside ", getSink()) +
            (axis == -1 ? "" : ", axis " + std::to_string(axis)) + ")");
}

//===----------------------------------------------------------------------===//
// LseOp
//===----------------------------------------------------------------------===//

LogicalResult LseOp::verify() {
  // lse_c1
  if (rankOf(getScore()) == 0)
    return emitOpError("expected score of rank 1 or more, found 0");
  return verifyResult(*this); // lse_c2
}

FailureOr<ResultSizes> LseOp::inferSizes(SizedTensor score) {
  if (!score.hasRankAtLeast(1))
    return failure();
  ResultSizes sizes = sizesLike(score);
  sizes.pop_back();
  return sizes;
}

ResultSizes LseOp::getResultSizes(unsigned) { return *inferSizes(getScore()); }

void LseOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "lse", "log(sum(exp(" + w.nameOf(getScore()) + "))) of each row");
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
  // context_c2, context_c3
  if (failed(verifySizes(*this)))
    return failure();
  // context_c4
  return verifyResult(*this, getResult(), "context",
                      {"batch", "num_q_heads", "q_len", "value_dim"});
}

SizeConstraints ContextOp::getSizeConstraints() {
  Value prob = getProb(), value = getValue();
  return {{"batch", {{"prob", prob, 0}, {"value", value, 0}}},
          multipleOf({"num_q_heads", prob, 1}, {{"num_kv_heads", value, 1}}),
          {"kv_len", {{"prob", prob, 3}, {"value", value, 2}}}};
}

FailureOr<ResultSizes> ContextOp::inferSizes(SizedTensor prob, SizedTensor value) {
  if (!prob.hasRank(4) || !value.hasRank(4))
    return failure();
  return ResultSizes{ResultSize::anyOf({{prob, 0}, {value, 0}}), TensorDim{prob, 1},
                     TensorDim{prob, 2}, TensorDim{value, 3}};
}

ResultSizes ContextOp::getResultSizes(unsigned) { return *inferSizes(getProb(), getValue()); }

SmallVector<SizeProduct> ContextOp::getFlops() {
  return {flopsOfProduct(getResult(), TensorDim{getProb(), 3})};
}

void ContextOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "context", w.nameOf(getProb()) + " @ " + w.nameOf(getValue()));
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

// merge_c2
LogicalResult MergeOp::verify() { return verifySizes(*this); }

SizeConstraints MergeOp::getSizeConstraints() {
  SizeConstraints constraints;
  for (StringRef name : {"batch", "num_q_heads", "q_len", "value_dim"}) {
    int64_t dim = constraints.size();
    SizeConstraint &size = constraints.emplace_back(SizeConstraint{
        name.str(), {{"context_a", getContextA(), dim}, {"context_b", getContextB(), dim}}});
    if (dim < rankOf(getLseA()))
      size.members.append({{"lse_a", getLseA(), dim}, {"lse_b", getLseB(), dim}});
  }
  return constraints;
}

ResultSizes MergeOp::getResultSizes(unsigned result) {
  return sizesLike(result == 0 ? getContextA() : getLseA());
}

void MergeOp::writeFormula(FormulaWriter &w) {
  std::string lseA = w.nameOf(getLseA()), lseB = w.nameOf(getLseB());
  w.add(getContext(), "context",
        "(exp(" + lseA + ") * " + w.nameOf(getContextA()) + " + exp(" + lseB + ") * " +
            w.nameOf(getContextB()) + ") / (exp(" + lseA + ") + exp(" + lseB + "))");
  w.add(getLse(), "lse", "log(exp(" + lseA + ") + exp(" + lseB + "))");
}
