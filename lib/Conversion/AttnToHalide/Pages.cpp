//===- Pages.cpp - keys and values in pages ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pages.h"

#include "ElementChecks.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

PageTable::PageTable(PipelineBuilder &p, Value table, Value lengths, Scalar pageSize,
                     Scalar numPages)
    : p(p), table(p.input("pages", table, /*knownDims=*/0)), pageSize(pageSize),
      numPages(numPages) {
  if (lengths)
    this->lengths = p.input("lengths", lengths, /*knownDims=*/0);
}

Scalar PageTable::getNumKeys() const { return p.extent(table, 0) * pageSize; }

/// Whether a key of entry `i` is before the sequence's end.
static Scalar isFollowed(Func lengths, Scalar i, Scalar b, Scalar pageSize) {
  Scalar length = lengths(b);
  return convert(i * pageSize, length.getType()) < length;
}

Scalar PageTable::rowOf(Scalar number) const {
  return unsafePromiseClamped(number % pageSize, p.i32(0), pageSize - 1);
}

/// Entries have been checked; the clamp keeps a caller's later writes from harm.
Scalar PageTable::pageOf(Scalar number, Scalar b) const {
  Scalar i = unsafePromiseClamped(number / pageSize, p.i32(0), p.extent(table, 0) - 1);
  Scalar page = table(i, b);
  page = clamp(page, page.constant(0), convert(numPages - 1, page.getType()));
  page = convert(page, p.b().getI32Type());
  if (Value(lengths))
    page = select(isFollowed(lengths, i, b, pageSize), page, p.i32(0));
  // Halide finds no bounds for the conversion and the selection.
  return unsafePromiseClamped(page, p.i32(0), numPages - 1);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult lowerWrongPages(PipelineBuilder &p, Value table, Value lengths,
                                     ArrayRef<Value> pools, int64_t keyDim) {
  Func entries = p.input("pages", table), counts = lengths ? p.input("lengths", lengths) : Func();
  SmallVector<Func> all;
  for (auto [index, pool] : llvm::enumerate(pools))
    all.push_back(p.input("pool" + std::to_string(index), pool));
  Scalar numPages = p.extent(all.front(), 3), pageSize = p.extent(all.front(), 3 - keyDim);
  for (Func pool : ArrayRef(all).drop_front())
    numPages = min(numPages, p.extent(pool, 3));
  return lowerFirstWrong(p, entries, [&](ArrayRef<Scalar> at, Scalar page) {
    if (lengths)
      page = select(isFollowed(counts, at[0], at[1], pageSize), page, page.constant(0));
    return page < 0 || page >= convert(numPages, page.getType());
  });
}

static LogicalResult lowerWrongLengths(PipelineBuilder &p, Value table, Value lengths, Value pool,
                                       int64_t keyDim) {
  Func entries = p.input("pages", table), counts = p.input("lengths", lengths),
       pages = p.input("pool", pool);
  Scalar longest = p.extent(entries, 0) * p.extent(pages, 3 - keyDim);
  return lowerFirstWrong(p, counts, [&](ArrayRef<Scalar>, Scalar length) {
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

LogicalResult attn::requirePages(Operation *op, Value table, Value lengths, ArrayRef<Value> given,
                                 int64_t keyDim, FunctionConverter &converter) {
  SmallVector<Value> pools = llvm::map_to_vector(given, getPoolBefore);
  converter.getHost().requireIndexable(
      op->getLoc(), pools.front(), keyDim, table, 1,
      "expected a page_size of at least 1, and max_pages * page_size of at most " +
          Twine(halide::kMaxSize) + " of " + op->getName().getStringRef());
  auto lowerLengths = [&](PipelineBuilder &p) {
    return lowerWrongLengths(p, table, lengths, pools.front(), keyDim);
  };
  if (lengths &&
      failed(requireElements({op, lengths, "the lengths"}, "wrong_lengths",
                             "to be 0 to max_pages * page_size", lowerLengths, converter)))
    return failure();
  auto lowerPages = [&](PipelineBuilder &p) {
    return lowerWrongPages(p, table, lengths, pools, keyDim);
  };
  return requireElements({op, table, "the page table"}, "wrong_pages", "to be a page of the pool",
                         lowerPages, converter);
}

//===----------------------------------------------------------------------===//
// attn.gather_pages
//===----------------------------------------------------------------------===//

static LogicalResult lowerGatherPages(PipelineBuilder &p, GatherPagesOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  bool isHeadsFirst = op.isHeadsFirst();
  Func pool = p.input("pool", op.getPool());
  PageTable pages(p, op.getTable(), op.getLengths(), p.extent(pool, 3 - op.getKeyDim()),
                  p.extent(pool, 3));
  auto body = [&](ArrayRef<Scalar> v) {
    Scalar page = pages.pageOf(v[1], v[3]), row = pages.rowOf(v[1]);
    return isHeadsFirst ? pool(v[0], row, v[2], page) : pool(v[0], v[2], row, page);
  };
  buildOutput(p, "rows", type, lanesFor(cpu, type.getElementType()), body);
  return success();
}

static LogicalResult convertGatherPages(GatherPagesOp op, FunctionConverter &converter) {
  if (failed(requirePages(op, op.getTable(), op.getLengths(), {op.getPool()}, op.getKeyDim(),
                          converter)))
    return failure();
  return converter.call(op.getLoc(), "gather_pages", op.getResult(), [&](PipelineBuilder &p) {
    return lowerGatherPages(p, op, converter.getCpu());
  });
}

void attn::addPageLowerings(Lowerings &lowerings) { lowerings.addComputed(convertGatherPages); }
