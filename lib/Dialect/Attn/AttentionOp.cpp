//===- AttentionOp.cpp - the fused op -------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "Formulas.h"
#include "RegionBody.h"
#include "Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Elements are the query's, or narrower ones.
static LogicalResult verifyStored(AttentionOp op, StringRef what, Value stored) {
  Type found = getElementTypeOrSelf(stored), query = getElementTypeOrSelf(op.getQuery());
  if (found == query || isNarrower(found, query))
    return success();
  return op.emitOpError("expected ")
         << what << " elements " << query << " to match query, or narrower ones, found " << found;
}

/// attention_c16
static LogicalResult verifyScales(AttentionOp op, StringRef what, Value stored, Value scales) {
  if (!scales)
    return success();
  if (getElementTypeOrSelf(stored) == getElementTypeOrSelf(op.getQuery()))
    return op.emitOpError("expected ") << what << " narrower than the query beside its scales";
  return verifyScaleBlocks(op, stored, scales);
}

static LogicalResult verifyElements(AttentionOp op) {
  Value query = op.getQuery();
  // attention_c1
  if (failed(verifyStored(op, "key", op.getKey())) ||
      failed(verifyStored(op, "value", op.getValue())) ||
      failed(verifyElement(op, "context", op.getResult(), "query", query)))
    return failure();
  // attention_c9
  return op.getSink() ? verifyElement(op, "sink", op.getSink(), "query", query) : success();
}

static LogicalResult verifyPackedRows(AttentionOp op) {
  auto verifyBatch = [&](StringRef name, Value rows) -> LogicalResult {
    if (int64_t found = sizeOf(rows, 0); found != 1)
      return op.emitOpError("expected packed ")
             << name << " of batch 1, found "
             << (ShapedType::isDynamic(found) ? "an open one" : std::to_string(found));
    return success();
  };
  // attention_c17
  if (op.getOffsets() && failed(verifyBatch("queries", op.getQuery())))
    return failure();
  if (op.getKvOffsets() &&
      (failed(verifyBatch("keys", op.getKey())) || failed(verifyBatch("values", op.getValue()))))
    return failure();
  // attention_c18
  if (op.getKvOffsets() && op.getPages())
    return op.emitOpError("expected pages or kv_offsets, found both");
  bool areFloats = isa<FloatType>(getElementTypeOrSelf(op.getKey())) &&
                   isa<FloatType>(getElementTypeOrSelf(op.getValue()));
  if (op.getKvOffsets() && (op.getKeyScales() || op.getValueScales() || !areFloats))
    return op.emitOpError("expected packed keys and values of floats without scales");
  for (Value offsets : {op.getOffsets(), op.getKvOffsets(), op.getPageOffsets()})
    if (offsets && sizeOf(offsets, 0) == 0)
      return op.emitOpError("expected at least one offset, found none");
  return success();
}

LogicalResult AttentionOp::verify() {
  // attention_c11
  if (getLengths() && !getPages())
    return emitOpError("expected lengths together with pages");
  if ((getPages() && rankOf(getPages()) == 1) != bool(getPageOffsets()))
    return emitOpError("expected page_offsets together with pages of rank 1");
  // attention_c12
  if (getPages() && sizeOf(getKey(), 2) == 0)
    return emitOpError("expected a page_size of at least 1, found 0");
  if (failed(verifyScales(*this, "key", getKey(), getKeyScales())) ||
      failed(verifyScales(*this, "value", getValue(), getValueScales())) ||
      failed(verifyPackedRows(*this)))
    return failure();
  // attention_c2, attention_c3, attention_c9
  if (failed(verifyElements(*this)) || failed(verifySizes(*this)) ||
      (getSchedule() &&
       failed(verifySchedules(*this, getScheduleAttr(), /*isOfLinear=*/false)))) // attention_c6
    return failure();
  // attention_c13
  if (failed(verifyScale(*this, getScale(), getQuery())))
    return failure();
  // attention_c4
  if (failed(verifyResult(*this, getResult(), "context",
                          {"batch", "num_q_heads", "q_len", "value_dim"})))
    return failure();
  return getLse() ? verifyResult(*this, getLse(), "lse", {"batch", "num_q_heads", "q_len"})
                  : success();
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
  bool isMask = &body == &getMask();
  nameBody(body, isMask ? "" : &body == &getProbMod() ? "prob" : "score", setName);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The tensors that have a size for each batch.
static SizeConstraint getBatch(AttentionOp op) {
  SizeConstraint batch{"batch", {{"query", op.getQuery(), 0}}};
  if (Value offsets = op.getOffsets())
    batch.members = {{"offsets", offsets, 0, /*extra=*/1}};
  if (Value offsets = op.getKvOffsets())
    batch.members.push_back({"kv_offsets", offsets, 0, /*extra=*/1});
  else if (Value offsets = op.getPageOffsets())
    batch.members.push_back({"page_offsets", offsets, 0, /*extra=*/1});
  else if (Value pages = op.getPages())
    batch.members.push_back({"pages", pages, 0});
  else
    batch.members.append({{"key", op.getKey(), 0}, {"value", op.getValue(), 0}});
  if (Value lengths = op.getLengths())
    batch.members.push_back({"lengths", lengths, 0});
  return batch;
}

/// The sizes that pages have in the place of kv_len of key and value. Regions' reads at the last
/// key are checked by kernels alone: no tensor has kv_len.
static void addPages(SizeConstraints &constraints, AttentionOp op) {
  constraints.back().name = "page_size";
  Value pages = op.getPages();
  constraints.push_back({"max_pages", {{"pages", pages, rankOf(pages) - 1}}});
  if (getPagedTensors(op).haveHeadGroups())
    constraints.push_back(
        multipleOf({"num_kv_heads", op.getKey(), 1}, {{"head groups of pages", pages, 1}}));
}

SizeConstraints AttentionOp::getSizeConstraints() {
  Value query = getQuery(), key = getKey(), value = getValue();
  SizeConstraints constraints = {
      getBatch(*this),
      multipleOf({"num_q_heads", query, 1}, {{"num_kv_heads", key, 1}, {"num_kv_heads", value, 1}}),
      {"head_dim", {{"query", query, 3}, {"key", key, 3}}},
      {"num_kv_heads", {{"key", key, 1}, {"value", value, 1}}},
      {"kv_len", {{"key", key, 2}, {"value", value, 2}}}};
  for (auto [name, scales] : {std::pair<StringRef, Value>{"key_scales", getKeyScales()},
                              {"value_scales", getValueScales()}})
    for (auto [constraint, dim] : {std::pair(0, 0), {3, 1}, {4, 2}})
      if (scales && !(dim == 0 && getPages()))
        constraints[constraint].members.push_back({name.str(), scales, dim});
  SmallVector<SizeConstraint::Member> places = {
      constraints[0].members[0], {"query", query, 1}, {"query", query, 2}, {"key", key, 2}};
  if (getPages()) {
    addPages(constraints, *this);
    places.pop_back();
  }
  addReads(constraints, *this, places);
  addSink(constraints, getSink(), ArrayRef(places).take_front(3));
  return constraints;
}

ResultSizes AttentionOp::getResultSizes(unsigned result) {
  Value query = getQuery(), batch = getPages() ? Value(getPages()) : Value(getKey());
  bool hasOffsets = getOffsets() || getKvOffsets() || getPageOffsets();
  ResultSize own =
      hasOffsets ? ResultSize(TensorDim{query, 0}) : ResultSize::anyOf({{query, 0}, {batch, 0}});
  ResultSizes sizes = {own, TensorDim{query, 1}, TensorDim{query, 2}};
  if (result == 0)
    sizes.push_back(TensorDim{getValue(), 3});
  return sizes;
}

ResultSize AttentionOp::getKvLen() {
  TensorDim rows{getKey(), 2};
  Value pages = getPages();
  return pages ? ResultSize::product({pages, rankOf(pages) - 1}, rows) : ResultSize(rows);
}

std::optional<int64_t> AttentionOp::getGroupSize() {
  int64_t heads = sizeOf(getQuery(), 1), kvHeads = sizeOf(getKey(), 1);
  if (!bothStatic(heads, kvHeads))
    return std::nullopt;
  return kvHeads == 0 ? 1 : heads / kvHeads;
}

SmallVector<OpOperand *, 4> AttentionOp::getStoredOperands() {
  SmallVector<OpOperand *, 4> operands = {&getKeyMutable(), &getValueMutable()};
  for (MutableOperandRange scales : {getKeyScalesMutable(), getValueScalesMutable()})
    for (OpOperand &operand : scales)
      operands.push_back(&operand);
  return operands;
}

SmallVector<Value, 4> AttentionOp::getStored() {
  return llvm::map_to_vector<4>(getStoredOperands(),
                                [](OpOperand *operand) { return operand->get(); });
}

/// Schedules have ascending limits.
int64_t AttentionOp::getServedBefore(int64_t maxQLen) {
  int64_t before = 0;
  for (auto other : getScheduleAttr().getAsRange<ScheduleAttrInterface>())
    if (int64_t most = other.getMaxQLen(); most && (maxQLen == 0 || most < maxQLen))
      before = std::max(before, most);
  return before;
}

/// A tensor without the transposes, and the slice of its first dims, that make a view of it.
static std::pair<Value, SmallVector<Attribute>> findWhole(Value tensor) {
  SmallVector<Attribute> transposes;
  while (Operation *op = tensor.getDefiningOp()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
    bool isOfFirst = slice && llvm::all_of(slice.getMixedOffsets(), isZeroInteger) &&
                     llvm::all_of(slice.getMixedStrides(), isOneInteger) &&
                     slice.getSourceType().getRank() == slice.getType().getRank();
    if (auto transpose = dyn_cast<TransposeOp>(op); transpose && transpose.keepsRows())
      transposes.push_back(transpose.getPermutationAttr());
    else if (!isOfFirst)
      break;
    tensor = op->getOperand(0);
  }
  return {tensor, transposes};
}

/// All sizes but the last are those of the keys, as the op's verifier and kernels check.
bool attn::areValuesInKeys(AttentionOp op) {
  int64_t headDim = sizeOf(op.getKey(), 3), valueDim = sizeOf(op.getValue(), 3);
  bool isShorter = bothStatic(headDim, valueDim) && valueDim <= headDim;
  return isShorter && op.getKey() != op.getValue() &&
         findWhole(op.getKey()) == findWhole(op.getValue());
}

bool AttentionOp::isWidened() {
  Type element = getQuery().getType().getElementType();
  return getKeyScales() || getValueScales() || getKey().getType().getElementType() != element ||
         getValue().getType().getElementType() != element;
}

SmallVector<SizeProduct> AttentionOp::getFlops() {
  return {flopsOfProduct(getResult(), getKvLen()), flopsOfProduct(getQuery(), getKvLen())};
}

bool AttentionOp::isDecomposed() { return getSchedule().has_value(); }

//===----------------------------------------------------------------------===//
// Formula
//===----------------------------------------------------------------------===//

/// The head sharing of GQA, if head counts are static.
static void writeSharing(AttentionOp op, FormulaWriter &w) {
  int64_t heads = op.getGroupSize().value_or(1);
  if (heads != 1)
    w.addStage("each head of " + w.nameOf(op.getKey()) + " and " + w.nameOf(op.getValue()) +
               " serves " + std::to_string(heads) + " of " + w.nameOf(op.getQuery()));
}

static void writeScales(FormulaWriter &w, Value stored, Value scales) {
  if (scales)
    w.addStage(w.nameOf(stored) + " times " + w.nameOf(scales) + formatBlocks(stored, scales));
}

/// Stages of the fused op, which store nothing, are indented below it.
void AttentionOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "context",
        "softmax(score" + formatOptional(w, ", and one more score without a value, ", getSink()) +
            ") @ " + w.nameOf(getValue()));
  w.addStage("score = " + formatScale(getScale()) + w.nameOf(getQuery()) + " @ " +
             w.nameOf(getKey()) + "^T");
  if (getPages())
    w.addStage("key and value k at k % page_size of page " +
               describePage(w, getPagedTensors(*this)));
  writeScales(w, getKey(), getKeyScales());
  writeScales(w, getValue(), getValueScales());
  if (Value offsets = getOffsets())
    w.addStage("query q of a batch in row " + w.nameOf(offsets) + "[batch] + q");
  if (Value offsets = getKvOffsets())
    w.addStage("key and value k of a batch in row " + w.nameOf(offsets) + "[batch] + k");
  writeSharing(*this, w);
  if (!getScoreMod().empty())
    w.addStage("score = " + w.write(getScoreMod(), getBodyNames("score")));
  if (!getMask().empty())
    for (auto [index, condition] : llvm::enumerate(w.writeConjuncts(getMask(), getMaskNames())))
      w.addStage((index ? "  and " : "over the keys with ") + condition);
  if (!getProbMod().empty())
    w.addStage("prob = " + w.write(getProbMod(), getBodyNames("prob")));
  if (getLse())
    w.add(getLse(), "lse", "log(sum(exp(score))) of each row");
}
