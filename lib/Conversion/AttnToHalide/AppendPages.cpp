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
/// The keys that the rows of each sequence become. Lengths, counts and offsets have been checked;
/// clamps keep a caller's later writes from harm.
class NewKeys {
public:
  NewKeys(PipelineBuilder &p, AppendPagesOp op)
      : p(p), table(p.input("pages", op.getTable())), rows(p.input("rows", op.getRows())),
        pool(p.input("pool", op.getPool())), length(p.input("length", op.getLength())),
        pages(p, getPagedTensors(op), p.extent(rows, 2), p.extent(pool, 3 - op.getKeyDim()),
              p.extent(pool, 3)) {
    if (op.getCounts())
      counts = p.input("counts", op.getCounts());
    if (op.getRowOffsets())
      packed.emplace(p, "row_", op.getRowOffsets(), getMaxRows());
  }

  Scalar getBatch() const { return p.extent(length, 0); }
  Scalar getMaxRows() const { return p.extent(rows, 1); }
  /// The number of sequence b's rows, and of its keys before them.
  Scalar countOf(Scalar b) const {
    if (packed)
      return packed->lengthOf(b);
    return Value(counts) ? read(counts, b, getMaxRows()) : getMaxRows();
  }
  Scalar firstOf(Scalar b) const { return read(length, b, pages.getNumKeys()); }

  PipelineBuilder &p;
  Func table, rows, pool, length, counts;
  PageTable pages;
  /// None if each sequence has a batch of rows.
  std::optional<PackedSequences> packed;

private:
  Scalar read(Func lengths, Scalar b, Scalar most) const {
    Scalar value = lengths(b);
    value = clamp(value, value.constant(0), convert(most, value.getType()));
    return convert(value, p.b().getI32Type());
  }
};

/// The entries of the table whose pages rows may be written to, numbered sequence by sequence:
/// those of packed rows without gaps, of others as many for each sequence. Funcs are read from 0
/// on: without entries they still have an element, as the memory of devices is never empty.
class Entries {
public:
  Entries(NewKeys &keys, int64_t lanes);

  /// A call has at most this many.
  Scalar getMaxCount() const { return maxCount; }
  /// An entry's place in the table.
  SmallVector<Scalar> placeOf(Scalar entry) const;
  /// Whether rows are written to the page of the entry.
  Scalar isWritten(Scalar entry) const;

private:
  /// A sequence's entry that rows are written to first.
  Scalar firstOf(Scalar b) const { return keys.firstOf(b) / pageSize; }
  Scalar countOf(Scalar b) const;
  Scalar sequenceOf(Scalar entry) const;
  /// The number of the entry in its sequence's row of the table.
  Scalar indexOf(Scalar entry) const;

  PipelineBuilder &p;
  NewKeys &keys;
  Scalar pageSize, perSequence, maxCount;
  /// Of packed rows: how many entries there are before those of sequence x, and the sequence of
  /// entry x.
  Func before, sequences;
};
} // namespace

Entries::Entries(NewKeys &keys, int64_t lanes)
    : p(keys.p), keys(keys), pageSize(keys.pages.getPageSize()) {
  Scalar rows = keys.getMaxRows(), batch = keys.getBatch(), maxPages = keys.pages.getMaxPages();
  if (!keys.packed) {
    perSequence = min((rows + pageSize - 2) / pageSize + 1, maxPages); // from a page's last row on
    maxCount = perSequence * batch;
    return;
  }
  Scalar most = rows / pageSize + min(rows, batch) * 2; // a sequence may begin and end in a page
  maxCount = select(maxPages > 0, most, p.i32(0));
  before = p.func("entries_before", {"x"}, p.b().getI32Type(),
                  [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(before, {}, {{"r", batch}}, [&](ArrayRef<Scalar>, ArrayRef<Scalar> r) -> Update {
    return {before(r[0]) + countOf(r[0]), {r[0] + 1}};
  });
  p.computeRoot(before);
  sequences =
      findSequences(p, "entry_sequence", batch, [&](Scalar b) { return before(b + 1); }, lanes);
}

Scalar Entries::countOf(Scalar b) const {
  Scalar first = keys.firstOf(b), count = keys.countOf(b);
  return select(count > 0, (first + count - 1) / pageSize - first / pageSize + 1, p.i32(0));
}

Scalar Entries::sequenceOf(Scalar entry) const {
  if (keys.packed)
    return readSequence(sequences, max(entry, 0), keys.getBatch());
  Scalar last = keys.getBatch() - 1;
  return unsafePromiseClamped(min(entry / max(perSequence, 1), last), p.i32(0), last);
}

Scalar Entries::indexOf(Scalar entry) const {
  Scalar b = sequenceOf(entry);
  return firstOf(b) + entry - (keys.packed ? before(max(b, 0)) : b * perSequence);
}

SmallVector<Scalar> Entries::placeOf(Scalar entry) const {
  Scalar last = keys.pages.getMaxPages() - 1, index = min(max(indexOf(entry), 0), last);
  return keys.pages.placeOf(unsafePromiseClamped(index, p.i32(0), last), p.i32(0),
                            sequenceOf(entry));
}

Scalar Entries::isWritten(Scalar entry) const {
  Scalar b = sequenceOf(entry);
  return indexOf(entry) - firstOf(b) < countOf(b);
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

static LogicalResult lowerWrongPages(PipelineBuilder &p, AppendPagesOp op, int64_t lanes) {
  NewKeys keys(p, op);
  Entries entries(keys, lanes);
  Reduction all = {"e", entries.getMaxCount()};
  return lowerFirstWrong(p, keys.table, all, [&](ArrayRef<Scalar> entry) {
    SmallVector<Scalar> place = entries.placeOf(entry[0]);
    Scalar page = keys.table(place);
    page = select(entries.isWritten(entry[0]), page, page.constant(0));
    Scalar numPages = convert(keys.pages.getNumPages(), page.getType());
    return CheckedElement{place, page < 0 || page >= numPages};
  });
}

/// Pages that rows are written to, by the number of their entry; others are negative and differ. An
/// empty table is not read: there are no entries then.
static Func findWrittenPages(NewKeys &keys, const Entries &entries) {
  PipelineBuilder &p = keys.p;
  Type i32 = p.b().getI32Type();
  Func pages = p.func("written", {"x"}, i32, [&](ArrayRef<Scalar> v) { return -v[0] - 1; });
  Reduction all = {"e", entries.getMaxCount()};
  p.update(pages, {}, all, [&](ArrayRef<Scalar>, ArrayRef<Scalar> entry) -> Update {
    Scalar number = entry[0], page = convert(keys.table(entries.placeOf(number)), i32);
    return {select(entries.isWritten(number), page, -number - 1), {number}};
  });
  p.computeRoot(pages);
  return pages;
}

/// Each entry is compared with all: their number is that of the pages written.
static LogicalResult lowerSharedPages(PipelineBuilder &p, AppendPagesOp op, int64_t lanes) {
  NewKeys keys(p, op);
  Entries entries(keys, lanes);
  Func pages = findWrittenPages(keys, entries);
  Type i32 = p.b().getI32Type();
  Func shared = p.func("shared", {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  Reduction all = {"r", max(entries.getMaxCount(), 1)};
  p.update(shared, {"x"}, all, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    return max(shared(v), convert(pages(r[0]) == pages(v[0]) && r[0] < v[0], i32));
  });
  p.computeRoot(shared);
  StageLoops loops = p.stage(shared, 0);
  auto [outer, inner] = p.split(loops["x"], lanes, halide::TailStrategy::guard_with_if);
  p.reorder({inner, loops["r"], outer});
  p.vectorize(inner);
  Reduction checked = {"e", entries.getMaxCount()};
  return lowerFirstWrong(p, keys.table, checked, [&](ArrayRef<Scalar> entry) {
    return CheckedElement{entries.placeOf(entry[0]), shared(max(entry[0], 0)) > 0};
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
  int64_t lanes = lanesFor(converter.getCpu(), IntegerType::get(op.getContext(), 32));
  auto lowerWrong = [&](PipelineBuilder &p) { return lowerWrongPages(p, op, lanes); };
  auto lowerShared = [&](PipelineBuilder &p) { return lowerSharedPages(p, op, lanes); };
  if (failed(
          requireElements(table, "wrong_pages", "to be a page of the pool", lowerWrong, converter)))
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
  Func sequences; // of packed rows
  if (keys.packed)
    sequences = findSequences(
        p, "row_sequence", keys.getBatch(), [&](Scalar b) { return keys.packed->startOf(b + 1); },
        lanesFor(cpu, p.b().getI32Type()));
  buildScattered(p, keys.rows, type, lanesFor(cpu, type.getElementType()), [&](ArrayRef<Scalar> v) {
    Scalar d = v[0], t = v[1], h = v[2], b = v[3];
    if (keys.packed) {
      b = readSequence(sequences, max(v[1], 0), keys.getBatch());
      t = v[1] - keys.packed->startOf(b);
    }
    Scalar first = keys.firstOf(b);
    Scalar number = clamp(first + t, p.i32(0), pages.getNumKeys() - 1);
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
