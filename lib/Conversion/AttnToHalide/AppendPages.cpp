//===- AppendPages.cpp - pipelines of attn.append_pages ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementChecks.h"
#include "PackedRows.h"
#include "Pages.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Where rows go
//===----------------------------------------------------------------------===//

namespace {
/// The keys that the rows of each sequence become.
class NewKeys {
public:
  NewKeys(PipelineBuilder &p, AppendPagesOp op)
      : p(p), table(p.input("pages", op.getTable())), rows(p.input("rows", op.getRows())),
        pool(p.input("pool", op.getPool())), length(p.input("length", op.getLength())),
        pages(p, getPagedTensors(op), p.extent(rows, 2), p.extent(pool, 3 - op.getKeyDim()),
              p.extent(pool, 3)) {
    if (op.getCounts())
      counts = p.input("counts", op.getCounts());
  }

  Scalar getBatch() const { return p.extent(length, 0); }
  Scalar getMaxRows() const { return p.extent(rows, 1); }
  /// The number of sequence b's rows, and of its keys before them. They have been checked; the
  /// clamp keeps a caller's later writes from harm.
  Scalar countOf(Scalar b) const {
    return Value(counts) ? read(counts, b, getMaxRows()) : getMaxRows();
  }
  Scalar firstOf(Scalar b) const { return read(length, b, pages.getNumKeys()); }

  /// The entries of the table whose pages rows may be written to: the first reduction counts those
  /// of a sequence, the second one sequences.
  SmallVector<Reduction> getEntries() const;
  /// An entry's place in the table.
  SmallVector<Scalar> placeOf(ArrayRef<Scalar> entry) const;
  /// Whether rows are written to the page of the entry.
  Scalar isWritten(ArrayRef<Scalar> entry) const;

  PipelineBuilder &p;
  Func table, rows, pool, length, counts;
  PageTable pages;

private:
  Scalar read(Func lengths, Scalar b, Scalar most) const {
    Scalar value = lengths(b);
    value = clamp(value, value.constant(0), convert(most, value.getType()));
    return convert(value, p.b().getI32Type());
  }
};
} // namespace

SmallVector<Reduction> NewKeys::getEntries() const {
  Scalar size = pages.getPageSize();
  Scalar most = (getMaxRows() + size - 2) / size + 1; // from the last row of a page on
  return {{"e", min(most, pages.getMaxPages())}, {"b", getBatch()}};
}

SmallVector<Scalar> NewKeys::placeOf(ArrayRef<Scalar> entry) const {
  Scalar b = entry[1], i = firstOf(b) / pages.getPageSize() + entry[0];
  Scalar last = pages.getMaxPages() - 1;
  return pages.placeOf(unsafePromiseClamped(min(i, last), p.i32(0), last), p.i32(0), b);
}

Scalar NewKeys::isWritten(ArrayRef<Scalar> entry) const {
  Scalar b = entry[1], first = firstOf(b), count = countOf(b), size = pages.getPageSize();
  Scalar begin = (first / size + entry[0]) * size;
  return count > 0 && begin < first + count;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult lowerWrongCounts(PipelineBuilder &p, AppendPagesOp op) {
  NewKeys keys(p, op);
  return lowerFirstWrong(p, keys.counts, [&](ArrayRef<Scalar>, Scalar count) {
    return count < 0 || count > convert(keys.getMaxRows(), count.getType());
  });
}

static LogicalResult lowerWrongLengths(PipelineBuilder &p, AppendPagesOp op) {
  NewKeys keys(p, op);
  return lowerFirstWrong(p, keys.length, [&](ArrayRef<Scalar> at, Scalar length) {
    Scalar room = keys.pages.getRoom(at[0]) - keys.countOf(at[0]);
    return length < 0 || length > convert(room, length.getType());
  });
}

static LogicalResult lowerWrongPages(PipelineBuilder &p, AppendPagesOp op) {
  NewKeys keys(p, op);
  return lowerFirstWrong(p, keys.table, keys.getEntries(), [&](ArrayRef<Scalar> entry) {
    SmallVector<Scalar> place = keys.placeOf(entry);
    Scalar page = keys.table(place);
    page = select(keys.isWritten(entry), page, page.constant(0));
    Scalar numPages = convert(keys.pages.getNumPages(), page.getType());
    return CheckedElement{place, page < 0 || page >= numPages};
  });
}

/// Pages that rows are written to, by the number of their entry; others are negative and differ. An
/// empty table is not read: there are no entries then.
static Func findWrittenPages(NewKeys &keys, ArrayRef<Reduction> entries,
                             function_ref<Scalar(ArrayRef<Scalar> entry)> numberOf) {
  PipelineBuilder &p = keys.p;
  Type i32 = p.b().getI32Type();
  Func pages = p.func("written", {"x"}, i32, [&](ArrayRef<Scalar> v) { return -v[0] - 1; });
  p.update(pages, {}, entries, [&](ArrayRef<Scalar>, ArrayRef<Scalar> entry) -> Update {
    Scalar number = numberOf(entry), page = convert(keys.table(keys.placeOf(entry)), i32);
    return {select(keys.isWritten(entry), page, -number - 1), {number}};
  });
  p.computeRoot(pages);
  return pages;
}

/// Each entry is compared with all: their number is that of the pages written. Without entries
/// there is still a number, as the memory of devices is never empty.
static LogicalResult lowerSharedPages(PipelineBuilder &p, AppendPagesOp op, const CpuInfo &cpu) {
  NewKeys keys(p, op);
  SmallVector<Reduction> entries = keys.getEntries();
  Scalar perSequence = max(entries[0].extent, 1), all = max(perSequence * entries[1].extent, 1);
  auto numberOf = [&](ArrayRef<Scalar> entry) { return max(entry[1] * perSequence + entry[0], 0); };
  Func pages = findWrittenPages(keys, entries, numberOf);
  Type i32 = p.b().getI32Type();
  Func shared = p.func("shared", {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(shared, {"x"}, {{"r", all}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    return max(shared(v), convert(pages(r[0]) == pages(v[0]) && r[0] < v[0], i32));
  });
  p.computeRoot(shared);
  StageLoops loops = p.stage(shared, 0);
  auto [outer, inner] =
      p.split(loops["x"], lanesFor(cpu, i32), halide::TailStrategy::guard_with_if);
  p.reorder({inner, loops["r"], outer});
  p.vectorize(inner);
  return lowerFirstWrong(p, keys.table, entries, [&](ArrayRef<Scalar> entry) {
    return CheckedElement{keys.placeOf(entry), shared(numberOf(entry)) > 0};
  });
}

static LogicalResult requireRoom(AppendPagesOp op, FunctionConverter &converter) {
  auto lowerCounts = [&](PipelineBuilder &p) { return lowerWrongCounts(p, op); };
  if (op.getCounts() &&
      failed(requireElements({op, op.getCounts(), "the counts"}, "wrong_counts",
                             "to be 0 to the number of rows", lowerCounts, converter)))
    return failure();
  return requireElements(
      {op, op.getLength(), "the lengths"}, "wrong_lengths",
      Twine("to leave room for its rows in ") +
          (op.getOffsets() ? "the pages of its sequence" : "max_pages * page_size"),
      [&](PipelineBuilder &p) { return lowerWrongLengths(p, op); }, converter);
}

static LogicalResult requireOwnPages(AppendPagesOp op, FunctionConverter &converter) {
  CheckedTensor table{op, op.getTable(), "the page table"};
  auto lowerShared = [&](PipelineBuilder &p) {
    return lowerSharedPages(p, op, converter.getCpu());
  };
  if (failed(requireElements(
          table, "wrong_pages", "to be a page of the pool",
          [&](PipelineBuilder &p) { return lowerWrongPages(p, op); }, converter)))
    return failure();
  return requireElements(table, "shared_pages", "to be a page that no other entry appends to",
                         lowerShared, converter);
}

//===----------------------------------------------------------------------===//
// attn.append_pages
//===----------------------------------------------------------------------===//

/// Nothing but the rows is written, so that the result may be the pool's own memory. A row that has
/// no room, since a caller changed what had been checked, goes nowhere.
static LogicalResult lowerAppendPages(PipelineBuilder &p, AppendPagesOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  NewKeys keys(p, op);
  PageTable &pages = keys.pages;
  buildScattered(p, keys.rows, type, lanesFor(cpu, type.getElementType()), [&](ArrayRef<Scalar> v) {
    Scalar d = v[0], t = v[1], h = v[2], b = v[3], first = keys.firstOf(b);
    Scalar number = min(first + t, pages.getNumKeys() - 1);
    Scalar row = pages.rowOf(number), page = pages.pageOf(number, h, b);
    SmallVector<Scalar> at = {d, h, row, page};
    if (op.isHeadsFirst())
      std::swap(at[1], at[2]);
    return ScatteredRow{at, t < keys.countOf(b) && t < pages.getRoom(b) - first};
  });
  return success();
}

static LogicalResult convertAppendPages(AppendPagesOp op, FunctionConverter &converter) {
  converter.getHost().requireIndexable(
      op.getLoc(), op.getPool(), op.getKeyDim(), op.getTable(), getPagedTensors(op).getPageDim(),
      "expected a page_size of at least 1, and max_pages * page_size of at most " +
          Twine(halide::kMaxSize) + " of attn.append_pages");
  if (failed(requireOffsets(op, converter)) || failed(requireRoom(op, converter)) ||
      failed(requireOwnPages(op, converter)))
    return failure();
  if (failed(converter.copyUnlessInPlace(op.getLoc(), op.getPool(), op.getResult())))
    return failure();
  return converter.call(op.getLoc(), "append_pages", op.getResult(), [&](PipelineBuilder &p) {
    return lowerAppendPages(p, op, converter.getCpu());
  });
}

void attn::addAppendPagesLowerings(Lowerings &lowerings) {
  lowerings.addComputed(convertAppendPages);
}
