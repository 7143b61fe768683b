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
    return {gather.getTable(), gather.getOffsets(), gather.getLengths(), {gather.getPool()}};
  if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getPages())
    return {attention.getPages(), attention.getPageOffsets(), attention.getLengths(),
            attention.getStored()};
  if (auto append = dyn_cast<AppendPagesOp>(op))
    return {append.getTable(), append.getOffsets(), Value(), {append.getPool()}};
  return {};
}

/// A page has at least one key.
template <typename OpTy>
static LogicalResult verifyPageSize(OpTy op) {
  if (sizeOf(op.getPool(), op.getKeyDim()) == 0)
    return op.emitOpError("expected a page_size of at least 1, found 0");
  return success();
}

LogicalResult GatherPagesOp::verify() {
  // gather_pages_c1
  if (failed(verifyElement(*this, "result", getResult(), "pool", getPool())))
    return failure();
  // gather_pages_c5
  if ((rankOf(getTable()) == 1) != bool(getOffsets()) || (getOffsets() && getLengths()))
    return emitOpError("expected offsets without lengths for a table of rank 1, and no offsets for "
                       "one of a higher rank");
  // gather_pages_c2, gather_pages_c6
  if (failed(verifySizes(*this)))
    return failure();
  // gather_pages_c4
  if (failed(verifyPageSize(*this)))
    return failure();
  // gather_pages_c3
  return verifyResult(*this, getResult(), "result",
                      {"batch", "num_kv_heads", "kv_len", "head_dim"});
}

static bool isHeadsFirst(PageLayoutAttr layout) {
  return layout && layout.getValue() == PageLayout::heads_first;
}

FailureOr<ResultSizes> GatherPagesOp::inferSizes(SizedTensor pool, SizedTensor table,
                                                 SizedTensor offsets, PageLayoutAttr layout) {
  bool isInCsr = table.hasRank(1) && offsets.hasRank(1);
  if (!pool.hasRank(4) || !(isInCsr || table.hasRank(2) || table.hasRank(3)))
    return failure();
  TensorDim keys{pool, 1}, heads{pool, 2};
  if (::isHeadsFirst(layout))
    std::swap(keys, heads);
  ResultSize batch = isInCsr ? ResultSize::difference({offsets, 0}, 1) : TensorDim{table, 0};
  return ResultSizes{batch, heads, ResultSize::product({table, table.type.getRank() - 1}, keys),
                     TensorDim{pool, 3}};
}

SizeConstraints GatherPagesOp::getSizeConstraints() {
  Value pool = getPool(), table = getTable();
  SizeConstraints constraints = {{"num_pages", {{"pool", pool, 0}}},
                                 {"page_size", {{"pool", pool, getKeyDim()}}},
                                 {"max_pages", {{"table", table, rankOf(table) - 1}}}};
  if (Value offsets = getOffsets()) {
    constraints.push_back({"num_offsets", {{"offsets", offsets, 0}}});
    return constraints;
  }
  constraints.push_back({"batch", {{"table", table, 0}}});
  if (Value lengths = getLengths())
    constraints.back().members.push_back({"lengths", lengths, 0});
  if (getPagedTensors(*this).haveHeadGroups())
    constraints.push_back(
        multipleOf({"num_kv_heads", pool, 3 - getKeyDim()}, {{"head_groups", table, 1}}));
  return constraints;
}

ResultSizes GatherPagesOp::getResultSizes(unsigned) {
  SizedTensor offsets = getOffsets() ? SizedTensor(getOffsets()) : SizedTensor(Type());
  return *inferSizes(getPool(), getTable(), offsets, getLayoutAttr());
}

std::string attn::describePage(FormulaWriter &w, const PagedTensors &paged) {
  std::string table = w.nameOf(paged.table), i = "k / page_size]";
  if (paged.offsets)
    return table + "[" + w.nameOf(paged.offsets) + "[batch] + " + i;
  return table + (paged.haveHeadGroups() ? "[batch, head group, " : "[batch, ") + i;
}

void GatherPagesOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "rows",
        "of " + w.nameOf(getPool()) + ", row k at k % page_size of page " +
            describePage(w, getPagedTensors(*this)) +
            formatOptional(w, ", up to ", getLengths(), "[batch]"));
}

//===----------------------------------------------------------------------===//
// PageLengthsOp
//===----------------------------------------------------------------------===//

LogicalResult PageLengthsOp::verify() {
  // page_lengths_c3
  if (failed(verifyRank(*this, "table", getTable(), 1)))
    return failure();
  // page_lengths_c1
  if (failed(verifySizes(*this)))
    return failure();
  // page_lengths_c2
  return verifyPageSize(*this);
}

SizeConstraints PageLengthsOp::getSizeConstraints() {
  return {{"batch", {{"last", getLast(), 0}, {"offsets", getOffsets(), 0, /*extra=*/1}}},
          {"max_pages", {{"table", getTable(), 0}}},
          {"page_size", {{"pool", getPool(), getKeyDim()}}}};
}

ResultSizes PageLengthsOp::getResultSizes(unsigned) { return {TensorDim{getLast(), 0}}; }

void PageLengthsOp::writeFormula(FormulaWriter &w) {
  std::string offsets = w.nameOf(getOffsets());
  w.add(getResult(), "lengths",
        "(" + offsets + "[batch + 1] - " + offsets + "[batch] - 1) * page_size + " +
            w.nameOf(getLast()) + "[batch], 0 without pages");
}

//===----------------------------------------------------------------------===//
// AppendPagesOp
//===----------------------------------------------------------------------===//

LogicalResult AppendPagesOp::verify() {
  // append_pages_c1
  if (failed(verifyElement(*this, "rows", getRows(), "pool", getPool())))
    return failure();
  // append_pages_c4
  if ((rankOf(getTable()) == 1) != bool(getOffsets()))
    return emitOpError("expected offsets for a table of rank 1, and no offsets for one of rank 2");
  // append_pages_c5
  if (getRowOffsets() && (getCounts() || sizeOf(getRows(), 0) != 1))
    return emitOpError("expected a batch of 1 of rows, and no counts, with row_offsets");
  // append_pages_c2
  if (failed(verifySizes(*this)))
    return failure();
  // append_pages_c3
  return verifyPageSize(*this);
}

SizeConstraints AppendPagesOp::getSizeConstraints() {
  Value pool = getPool(), table = getTable(), rows = getRows();
  SizeConstraints constraints = {
      {"batch", {{"length", getLength(), 0}}},
      {"num_kv_heads", {{"pool", pool, 3 - getKeyDim()}, {"rows", rows, 1}}},
      {"head_dim", {{"pool", pool, 3}, {"rows", rows, 3}}},
      {"max_pages", {{"table", table, rankOf(table) - 1}}},
      {"num_pages", {{"pool", pool, 0}}},
      {"page_size", {{"pool", pool, getKeyDim()}}}};
  auto &batch = constraints[0].members;
  if (Value rowOffsets = getRowOffsets())
    batch.insert(batch.begin(), {"row_offsets", rowOffsets, 0, /*extra=*/1});
  else
    batch.insert(batch.begin(), {"rows", rows, 0});
  if (Value counts = getCounts())
    batch.push_back({"counts", counts, 0});
  if (Value offsets = getOffsets())
    batch.push_back({"offsets", offsets, 0, /*extra=*/1});
  else
    batch.insert(batch.begin(), {"table", table, 0});
  return constraints;
}

void AppendPagesOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "pages",
        w.nameOf(getPool()) + " with row k % page_size of page " +
            describePage(w, getPagedTensors(*this)) + " from k = " + w.nameOf(getLength()) +
            "[batch] on replaced by " + w.nameOf(getRows()) +
            formatOptional(w, ", up to ", getCounts(), "[batch]") +
            formatOptional(w, ", from row ", getRowOffsets(), "[batch] on"));
}

/// Whether an op reads the elements of its operand: some ask for sizes alone.
static bool readsElements(OpOperand &use) {
  auto lengths = dyn_cast<PageLengthsOp>(use.getOwner());
  bool isSized = lengths && &use == &lengths.getPoolMutable();
  return !isSized && !isa<tensor::DimOp>(use.getOwner());
}

BlockArgument attn::getArgumentInPlace(Operation *op) {
  if (!isa_and_nonnull<AppendCacheOp, AppendPagesOp>(op))
    return {};
  auto whole = dyn_cast<BlockArgument>(op->getOperand(0));
  bool isResult = llvm::is_contained(op->getUsers(), op->getBlock()->getTerminator());
  bool isOnlyReader = whole && llvm::count_if(whole.getUses(), readsElements) == 1;
  return isOnlyReader && isResult ? whole : BlockArgument();
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
