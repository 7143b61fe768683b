//===- SequenceOps.cpp - positions, caches and dropout --------------------===//
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
// PositionsOp
//===----------------------------------------------------------------------===//

LogicalResult PositionsOp::verify() {
  int64_t rank = rankOf(getInput()), least = getOffset() ? 3 : 2;
  // positions_c1
  if (rank < least)
    return emitOpError("expected input of rank ") << least << " or more, found " << rank;
  // positions_c2
  int64_t width = sizeOf(getInput(), rank - 1);
  if (isRotary() && !ShapedType::isDynamic(width) && width % 2 != 0)
    return emitOpError("expected an even width to rotate, found ") << width;
  // positions_c3
  if (getOffset() &&
      (failed(verifyRank(*this, "offset", getOffset(), 1)) || failed(verifySizes(*this))))
    return failure();
  // positions_c4
  if (!(getBase().convertToDouble() > 0))
    return emitOpError("expected a positive base, found ") << getBaseAttr();
  return success();
}

SizeConstraints PositionsOp::getSizeConstraints() {
  if (!getOffset())
    return {};
  return {{"size", {{"input", getInput(), 0}, {"offset", getOffset(), 0}}}};
}

void PositionsOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "positions",
        w.nameOf(getInput()) + (isRotary() ? " rotated by its positions (" : " + its positions (") +
            stringifyPositionKind(getKind()).str() + ")" +
            formatOptional(w, " from ", getOffset()));
}

//===----------------------------------------------------------------------===//
// AppendCacheOp
//===----------------------------------------------------------------------===//

LogicalResult AppendCacheOp::verify() {
  // append_cache_c1
  if (failed(verifyElement(*this, "rows", getRows(), "cache", getCache())))
    return failure();
  // append_cache_c2, append_cache_c3
  return failure(failed(verifyRank(*this, "length", getLength(), 1)) || failed(verifySizes(*this)));
}

SizeConstraints AppendCacheOp::getSizeConstraints() {
  Value cache = getCache(), rows = getRows();
  return {{"batch", {{"cache", cache, 0}, {"rows", rows, 0}, {"length", getLength(), 0}}},
          {"heads", {{"cache", cache, 1}, {"rows", rows, 1}}},
          {"width", {{"cache", cache, 3}, {"rows", rows, 3}}}};
}

void AppendCacheOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "cache",
        w.nameOf(getCache()) + " with its rows from " + w.nameOf(getLength()) +
            "[batch] on replaced by " + w.nameOf(getRows()));
}

//===----------------------------------------------------------------------===//
// GatherPagesOp
//===----------------------------------------------------------------------===//

PagedTensors attn::getPagedTensors(Operation *op) {
  if (auto gather = dyn_cast<GatherPagesOp>(op))
    return {gather.getTable(), {gather.getPool()}};
  if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getPages())
    return {attention.getPages(), attention.getStored()};
  if (auto append = dyn_cast<AppendPagesOp>(op))
    return {append.getTable(), {append.getPool()}};
  return {};
}

LogicalResult GatherPagesOp::verify() {
  // gather_pages_c1
  if (failed(verifyElement(*this, "result", getResult(), "pool", getPool())))
    return failure();
  // gather_pages_c2
  if (failed(verifySizes(*this)))
    return failure();
  // gather_pages_c4
  if (sizeOf(getPool(), getKeyDim()) == 0)
    return emitOpError("expected a page_size of at least 1, found 0");
  // gather_pages_c3
  return verifyResult(*this, getResult(), "result",
                      {"batch", "num_kv_heads", "kv_len", "head_dim"});
}

static bool isHeadsFirst(PageLayoutAttr layout) {
  return layout && layout.getValue() == PageLayout::heads_first;
}

FailureOr<ResultSizes> GatherPagesOp::inferSizes(SizedTensor pool, SizedTensor table,
                                                 PageLayoutAttr layout) {
  if (!pool.hasRank(4) || !table.hasRank(2))
    return failure();
  TensorDim keys{pool, 1}, heads{pool, 2};
  if (::isHeadsFirst(layout))
    std::swap(keys, heads);
  return ResultSizes{TensorDim{table, 0}, heads, ResultSize::product({table, 1}, keys),
                     TensorDim{pool, 3}};
}

SizeConstraints GatherPagesOp::getSizeConstraints() {
  Value pool = getPool(), table = getTable();
  SizeConstraints constraints = {{"batch", {{"table", table, 0}}},
                                 {"max_pages", {{"table", table, 1}}},
                                 {"num_pages", {{"pool", pool, 0}}},
                                 {"page_size", {{"pool", pool, getKeyDim()}}}};
  if (Value lengths = getLengths())
    constraints[0].members.push_back({"lengths", lengths, 0});
  return constraints;
}

ResultSizes GatherPagesOp::getResultSizes(unsigned) {
  return *inferSizes(getPool(), getTable(), getLayoutAttr());
}

void GatherPagesOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "rows",
        "of " + w.nameOf(getPool()) + ", row k at k % page_size of page " + w.nameOf(getTable()) +
            "[batch, k / page_size]" + formatOptional(w, ", up to ", getLengths(), "[batch]"));
}

//===----------------------------------------------------------------------===//
// AppendPagesOp
//===----------------------------------------------------------------------===//

LogicalResult AppendPagesOp::verify() {
  // append_pages_c1
  if (failed(verifyElement(*this, "rows", getRows(), "pool", getPool())))
    return failure();
  // append_pages_c2
  if (failed(verifySizes(*this)))
    return failure();
  // append_pages_c3
  if (sizeOf(getPool(), getKeyDim()) == 0)
    return emitOpError("expected a page_size of at least 1, found 0");
  return success();
}

SizeConstraints AppendPagesOp::getSizeConstraints() {
  Value pool = getPool(), table = getTable(), rows = getRows();
  SizeConstraints constraints = {
      {"batch", {{"table", table, 0}, {"rows", rows, 0}, {"length", getLength(), 0}}},
      {"num_kv_heads", {{"pool", pool, 3 - getKeyDim()}, {"rows", rows, 1}}},
      {"head_dim", {{"pool", pool, 3}, {"rows", rows, 3}}},
      {"max_pages", {{"table", table, 1}}},
      {"num_pages", {{"pool", pool, 0}}},
      {"page_size", {{"pool", pool, getKeyDim()}}}};
  if (Value counts = getCounts())
    constraints[0].members.push_back({"counts", counts, 0});
  return constraints;
}

void AppendPagesOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "pages",
        w.nameOf(getPool()) + " with rows of the pages " + w.nameOf(getTable()) + " from key " +
            w.nameOf(getLength()) + "[batch] on replaced by " + w.nameOf(getRows()) +
            formatOptional(w, ", up to ", getCounts(), "[batch]"));
}

BlockArgument attn::getArgumentInPlace(Operation *op) {
  if (!isa_and_nonnull<AppendCacheOp, AppendPagesOp>(op))
    return {};
  auto whole = dyn_cast<BlockArgument>(op->getOperand(0));
  bool isResult = llvm::is_contained(op->getUsers(), op->getBlock()->getTerminator());
  return whole && whole.hasOneUse() && isResult ? whole : BlockArgument();
}

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  // dropout_c1
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError("expected a rate of at least 0 and below 1, found ") << getRateAttr();
  return success();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return !getSeed() || getRate().isZero() ? getInput() : Value();
}

void DropoutOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "dropout",
        w.nameOf(getInput()) + ", of which " + formatNumber(getRate().convertToDouble()) +
            " is dropped" + formatOptional(w, " by ", getSeed()));
}
