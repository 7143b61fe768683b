//===- Pages.cpp - keys and values in pages ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pages.h"

#include "ElementChecks.h"
#include "PackedRows.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

PageTable::PageTable(PipelineBuilder &p, const PagedTensors &paged, Scalar numHeads,
                     Scalar pageSize, Scalar numPages)
    : p(p), rank(paged.getPageDim() + 1), table(p.input("pages", paged.table, /*knownDims=*/0)),
      numHeads(numHeads), pageSize(pageSize), numPages(numPages) {
  if (paged.offsets)
    offsets = p.input("page_offsets", paged.offsets, /*knownDims=*/0);
  if (paged.lengths)
    lengths = p.input("lengths", paged.lengths, /*knownDims=*/0);
}

Scalar PageTable::getNumKeys() const { return getMaxPages() * pageSize; }

/// Whether a key of entry `i` is before the sequence's end.
static Scalar isBefore(Func lengths, Scalar i, Scalar b, Scalar pageSize) {
  Scalar length = lengths(b);
  return convert(i * pageSize, length.getType()) < length;
}

Scalar PageTable::rowOf(Scalar number) const {
  return unsafePromiseClamped(number % pageSize, p.i32(0), pageSize - 1);
}

Scalar PageTable::startOf(Scalar b) const {
  Scalar start = offsets(b);
  start = clamp(start, start.constant(0), convert(getMaxPages(), start.getType()));
  return convert(start, p.b().getI32Type());
}

SmallVector<Scalar> PageTable::placeOf(Scalar i, Scalar kvHead, Scalar b) const {
  Scalar last = getMaxPages() - 1;
  if (rank == 1)
    return {unsafePromiseClamped(startOf(b) + min(i, last - startOf(b)), p.i32(0), last)};
  if (rank == 2)
    return {i, b};
  // Halide finds no bounds for kvHead / (1 / groups).
  if (getConstantIntValue(Value(numHeads)) == 1)
    return {i, p.i32(0), b};
  Scalar groups = p.extent(table, 1), group = kvHead / (numHeads / groups);
  return {i, unsafePromiseClamped(group, p.i32(0), groups - 1), b};
}

Scalar PageTable::getRoom(Scalar b) const {
  return rank == 1 ? countEntries(b) * pageSize : getNumKeys();
}

Scalar PageTable::isFollowed(Scalar i, Scalar b) const {
  if (rank == 1)
    return i < countEntries(b);
  return Value(lengths) ? isBefore(lengths, i, b, pageSize) : Scalar();
}

/// Entries have been checked; the clamp keeps a caller's later writes from harm.
Scalar PageTable::pageOf(Scalar number, Scalar kvHead, Scalar b) const {
  Scalar i = unsafePromiseClamped(number / pageSize, p.i32(0), getMaxPages() - 1);
  Scalar page = table(placeOf(i, kvHead, b));
  page = clamp(page, page.constant(0), convert(numPages - 1, page.getType()));
  page = convert(page, p.b().getI32Type());
  if (Scalar followed = isFollowed(i, b); Value(followed))
    page = select(followed, page, p.i32(0));
  // Halide finds no bounds for the conversion and the selection.
  return unsafePromiseClamped(page, p.i32(0), numPages - 1);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult lowerWrongPages(PipelineBuilder &p, const PagedTensors &paged,
                                     int64_t keyDim) {
  Func entries = p.input("pages", paged.table),
       lengths = paged.lengths ? p.input("lengths", paged.lengths) : Func();
  SmallVector<Func> all;
  for (auto [index, pool] : llvm::enumerate(paged.pools))
    all.push_back(p.input("pool" + std::to_string(index), pool));
  Scalar numPages = p.extent(all.front(), 3), pageSize = p.extent(all.front(), 3 - keyDim);
  for (Func pool : ArrayRef(all).drop_front())
    numPages = min(numPages, p.extent(pool, 3));
  return lowerFirstWrong(p, entries, [&](ArrayRef<Scalar> at, Scalar page) {
    if (Value(lengths))
      page = select(isBefore(lengths, at.front(), at.back(), pageSize), page, page.constant(0));
    return page < 0 || page >= convert(numPages, page.getType());
  });
}

static LogicalResult lowerWrongLengths(PipelineBuilder &p, const PagedTensors &paged,
                                       int64_t keyDim) {
  Func entries = p.input("pages", paged.table), lengths = p.input("lengths", paged.lengths),
       pages = p.input("pool", paged.pools.front());
  Scalar longest = p.extent(entries, 0) * p.extent(pages, 3 - keyDim);
  return lowerFirstWrong(p, lengths, [&](ArrayRef<Scalar>, Scalar length) {
    return length < 0 || length > convert(longest, length.getType());
  });
}

/// A pool of the same sizes that is not written before its table is checked, if it is one that rows
/// are appended to.
static Value getPoolBefore(Value pool) {
  while (auto append = pool.getDefiningOp<AppendPagesOp>())
    pool = append.getPool();
  return pool;
}

static void requireNumKeys(Operation *op, Value pool, int64_t keyDim, Value table,
                           FunctionConverter &converter) {
  converter.getHost().requireIndexable(
      op->getLoc(), pool, keyDim, table, tensorType(table).getRank() - 1,
      "expected a page_size of at least 1, and max_pages * page_size of at most " +
          Twine(halide::kMaxSize) + " of " + op->getName().getStringRef());
}

LogicalResult attn::requirePages(Operation *op, const PagedTensors &given, int64_t keyDim,
                                 FunctionConverter &converter) {
  PagedTensors paged = given;
  llvm::transform(paged.pools, paged.pools.begin(), getPoolBefore);
  requireNumKeys(op, paged.pools.front(), keyDim, paged.table, converter);
  auto lowerLengths = [&](PipelineBuilder &p) { return lowerWrongLengths(p, paged, keyDim); };
  if (paged.lengths &&
      failed(requireElements({op, paged.lengths, "the lengths"}, "wrong_lengths",
                             "to be 0 to max_pages * page_size", lowerLengths, converter)))
    return failure();
  auto lowerPages = [&](PipelineBuilder &p) { return lowerWrongPages(p, paged, keyDim); };
  return requireElements({op, paged.table, "the page table"}, "wrong_pages",
                         "to be a page of the pool", lowerPages, converter);
}

//===----------------------------------------------------------------------===//
// attn.gather_pages
//===----------------------------------------------------------------------===//

static LogicalResult lowerGatherPages(PipelineBuilder &p, GatherPagesOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  bool isHeadsFirst = op.isHeadsFirst();
  Func pool = p.input("pool", op.getPool());
  PageTable pages(p, getPagedTensors(op), p.extent(pool, op.getKeyDim()),
                  p.extent(pool, 3 - op.getKeyDim()), p.extent(pool, 3));
  auto body = [&](ArrayRef<Scalar> v) {
    Scalar page = pages.pageOf(v[1], v[2], v[3]), row = pages.rowOf(v[1]);
    return isHeadsFirst ? pool(v[0], row, v[2], page) : pool(v[0], v[2], row, page);
  };
  buildOutput(p, "rows", type, lanesFor(cpu, type.getElementType()), body);
  return success();
}

static LogicalResult convertGatherPages(GatherPagesOp op, FunctionConverter &converter) {
  if (failed(requireOffsets(op, converter)) ||
      failed(requirePages(op, getPagedTensors(op), op.getKeyDim(), converter)))
    return failure();
  return converter.call(op.getLoc(), "gather_pages", op.getResult(), [&](PipelineBuilder &p) {
    return lowerGatherPages(p, op, converter.getCpu());
  });
}

//===----------------------------------------------------------------------===//
// attn.page_lengths
//===----------------------------------------------------------------------===//

/// The number of pages of sequence b.
static Scalar countPages(Func offsets, Scalar b) { return offsets(b + 1) - offsets(b); }

static LogicalResult lowerWrongLast(PipelineBuilder &p, PageLengthsOp op) {
  Func last = p.input("last", op.getLast()), offsets = p.input("offsets", op.getOffsets()),
       pool = p.input("pool", op.getPool());
  Scalar pageSize = p.extent(pool, 3 - op.getKeyDim());
  return lowerFirstWrong(p, last, [&](ArrayRef<Scalar> at, Scalar length) {
    Scalar isWrong = length < 1 || length > convert(pageSize, length.getType());
    return isWrong && countPages(offsets, at[0]) > 0;
  });
}

static LogicalResult lowerPageLengths(PipelineBuilder &p, PageLengthsOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  Func last = p.input("last", op.getLast()), offsets = p.input("offsets", op.getOffsets()),
       pool = p.input("pool", op.getPool());
  Scalar pageSize = p.extent(pool, 3 - op.getKeyDim());
  buildOutput(p, "key_counts", type, lanesFor(cpu, type.getElementType()), [&](ArrayRef<Scalar> v) {
    Scalar length = last(v[0]), count = convert(countPages(offsets, v[0]), length.getType());
    Scalar full = (count - 1) * convert(pageSize, length.getType());
    return select(count > 0, full + length, length.constant(0));
  });
  return success();
}

static LogicalResult convertPageLengths(PageLengthsOp op, FunctionConverter &converter) {
  requireNumKeys(op, getPoolBefore(op.getPool()), op.getKeyDim(), op.getTable(), converter);
  if (failed(requireOffsets(op, converter)) ||
      failed(requireElements(
          {op, op.getLast(), "the last pages' lengths"}, "wrong_last", "to be 1 to page_size",
          [&](PipelineBuilder &p) { return lowerWrongLast(p, op); }, converter)))
    return failure();
  return converter.call(op.getLoc(), "page_lengths", op.getResult(), [&](PipelineBuilder &p) {
    return lowerPageLengths(p, op, converter.getCpu());
  });
}

void attn::addPageLowerings(Lowerings &lowerings) {
  lowerings.addComputed(convertGatherPages);
  lowerings.addComputed(convertPageLengths);
}
