//===- Pages.cpp - keys and values in pages ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pages.h"

#include "PackedRows.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {
/// The page of each key of a sequence; page 0 behind its last one.
class PageTable {
public:
  PageTable(const PagedTensors &paged, int64_t pageSize, Environment &env)
      : table(env.get(paged.table)), offsets(paged.offsets ? &env.get(paged.offsets) : nullptr),
        lengths(paged.lengths ? &env.get(paged.lengths) : nullptr), pageSize(pageSize) {}

  int64_t getBatch() const { return offsets ? offsets->size() - 1 : table.shape[0]; }
  int64_t getNumKeys() const { return table.shape.back() * pageSize; }
  /// The number of keys that the pages of sequence b have room for.
  int64_t getRoom(int64_t b) const {
    return offsets ? (offsets->values[b + 1].integer - offsets->values[b].integer) * pageSize
                   : getNumKeys();
  }
  /// Entry `i` of sequence b, which has one, in a table without head groups.
  int64_t getEntry(int64_t i, int64_t b) const {
    int64_t first = offsets ? offsets->values[b].integer : b * table.shape.back();
    return table.values[first + i].integer;
  }
  int64_t pageOf(int64_t key, int64_t head, int64_t numHeads, int64_t b) const;
  /// Fails, with an error at `op`, if the table, its offsets or the lengths are wrong.
  LogicalResult check(Operation *op, int64_t numPages) const;
  LogicalResult checkOffsets(Operation *op) const {
    return offsets ? reference::checkOffsets(op, *offsets, table.size()) : success();
  }

private:
  LogicalResult checkLengths(Operation *op) const;
  /// The sequence of an entry, of all in order; the first for a table in CSR.
  int64_t sequenceOf(int64_t entry) const {
    return offsets ? 0 : entry * getBatch() / table.size();
  }
  bool isFollowed(int64_t i, int64_t b) const {
    return !lengths || i * pageSize < lengths->values[b].integer;
  }

  const Array &table;
  const Array *offsets, *lengths;
  int64_t pageSize;
};
} // namespace

int64_t PageTable::pageOf(int64_t key, int64_t head, int64_t numHeads, int64_t b) const {
  int64_t i = key / pageSize;
  if (offsets)
    return key < getRoom(b) ? getEntry(i, b) : 0;
  SmallVector<int64_t> at = {b, i};
  if (table.getRank() == 3)
    at = {b, head / (numHeads / table.shape[1]), i};
  return isFollowed(i, b) ? table.values[getLinear(table.shape, at)].integer : 0;
}

LogicalResult PageTable::checkLengths(Operation *op) const {
  for (auto [b, length] : llvm::enumerate(lengths->values))
    if (length.integer < 0 || length.integer > getNumKeys())
      return op->emitError("expected the length of sequence ")
             << b << " to be 0 to " << getNumKeys() << ", found " << length.integer;
  return success();
}

LogicalResult PageTable::check(Operation *op, int64_t numPages) const {
  if (failed(checkOffsets(op)))
    return failure();
  if (lengths && failed(checkLengths(op)))
    return failure();
  for (auto [linear, entry] : llvm::enumerate(table.values)) {
    int64_t i = linear % table.shape.back(), b = sequenceOf(linear);
    int64_t page = isFollowed(i, b) ? entry.integer : 0;
    if (page < 0 || page >= numPages)
      return op->emitError("expected entry ")
             << i << " of sequence " << b << " of the page table to be one of " << numPages
             << " pages, found " << page;
  }
  return success();
}

FailureOr<Array> reference::gatherPages(Operation *op, Value pool, const PagedTensors &paged,
                                        bool isHeadsFirst, Environment &env) {
  const Array &all = env.get(pool);
  int64_t pageSize = all.shape[isHeadsFirst ? 2 : 1], heads = all.shape[isHeadsFirst ? 1 : 2];
  PageTable table(paged, pageSize, env);
  if (failed(table.check(op, all.shape[0])))
    return failure();
  Array rows(all.elementType, {table.getBatch(), heads, table.getNumKeys(), all.shape[3]});
  forEachIndex(rows.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t key = at[2] % pageSize, head = at[1];
    int64_t page = table.pageOf(at[2], head, heads, at[0]);
    if (isHeadsFirst)
      std::swap(key, head);
    rows.values[linear] = all.values[getLinear(all.shape, {page, key, head, at[3]})];
  });
  return rows;
}

static LogicalResult evaluate(GatherPagesOp op, Environment &env) {
  FailureOr<Array> rows =
      gatherPages(op, op.getPool(), getPagedTensors(op), op.isHeadsFirst(), env);
  return failed(rows) ? failure() : env.set(op.getResult(), std::move(*rows));
}

static LogicalResult evaluate(PageLengthsOp op, Environment &env) {
  const Array &offsets = env.get(op.getOffsets()), &last = env.get(op.getLast());
  int64_t pageSize = env.get(op.getPool()).shape[op.getKeyDim()];
  if (failed(checkOffsets(op, offsets, env.get(op.getTable()).size())))
    return failure();
  Array lengths(last.elementType, last.shape);
  for (auto [b, length] : llvm::enumerate(last.values)) {
    int64_t count = offsets.values[b + 1].integer - offsets.values[b].integer;
    if (count > 0 && (length.integer < 1 || length.integer > pageSize))
      return op.emitError("expected the last page of sequence ")
             << b << " to hold 1 to " << pageSize << " keys, found " << length.integer;
    lengths.values[b].integer = count > 0 ? (count - 1) * pageSize + length.integer : 0;
  }
  return env.set(op.getResult(), std::move(lengths));
}

//===----------------------------------------------------------------------===//
// attn.append_pages
//===----------------------------------------------------------------------===//

namespace {
/// The entries of a table whose pages are written to.
class WrittenPages {
public:
  WrittenPages(AppendPagesOp op, const PageTable &table, int64_t pageSize, int64_t numPages)
      : op(op), table(table), pageSize(pageSize), owners(numPages) {}

  /// The page of a sequence's key. Fails if it is none of the pool's, or another entry's.
  FailureOr<int64_t> get(int64_t b, int64_t key);

private:
  struct Entry {
    int64_t b = -1, i = -1;
  };

  AppendPagesOp op;
  const PageTable &table;
  int64_t pageSize;
  std::vector<Entry> owners;
};
} // namespace

FailureOr<int64_t> WrittenPages::get(int64_t b, int64_t key) {
  int64_t numPages = owners.size(), i = key / pageSize, page = table.getEntry(i, b);
  if (page < 0 || page >= numPages)
    return op.emitError("expected entry ")
           << i << " of sequence " << b << " of the page table to be one of " << numPages
           << " pages, found " << page;
  Entry &owner = owners[page];
  if (owner.b >= 0 && (owner.b != b || owner.i != i))
    return op.emitError("expected entry ")
           << i << " of sequence " << b << " of the page table to be a page that no other entry "
           << "appends to, found page " << page << " of entry " << owner.i << " of sequence "
           << owner.b;
  owner = {b, i};
  return page;
}

/// The number of rows that each sequence appends.
static FailureOr<std::vector<int64_t>> countRows(AppendPagesOp op, Environment &env) {
  int64_t most = env.get(op.getRows()).shape[2];
  std::vector<int64_t> counts(env.get(op.getLength()).shape[0], most);
  if (op.getRowOffsets()) {
    const Array &offsets = env.get(op.getRowOffsets());
    for (auto [b, count] : llvm::enumerate(counts))
      count = offsets.values[b + 1].integer - offsets.values[b].integer;
  }
  if (op.getCounts())
    for (auto [b, count] : llvm::enumerate(env.get(op.getCounts()).values)) {
      if (count.integer < 0 || count.integer > most)
        return op.emitError("expected the count of sequence ")
               << b << " to be 0 to " << most << ", found " << count.integer;
      counts[b] = count.integer;
    }
  return counts;
}

/// The rows of each sequence, `[batch, num_kv_heads, new_len, head_dim]`.
static FailureOr<Array> getRows(AppendPagesOp op, Environment &env) {
  const Array &rows = env.get(op.getRows());
  return op.getRowOffsets() ? unpackRows(op, rows, op.getRowOffsets(), /*isHeadsFirst=*/true, env)
                            : rows;
}

static LogicalResult evaluate(AppendPagesOp op, Environment &env) {
  const Array &length = env.get(op.getLength());
  FailureOr<Array> rows = getRows(op, env);
  if (failed(rows))
    return failure();
  Array result = env.get(op.getPool());
  int64_t pageSize = result.shape[op.getKeyDim()];
  PageTable table(getPagedTensors(op), pageSize, env);
  FailureOr<std::vector<int64_t>> counts = countRows(op, env);
  if (failed(table.checkOffsets(op)) || failed(counts))
    return failure();
  WrittenPages pages(op, table, pageSize, result.shape[0]);
  for (int64_t b = 0; b < rows->shape[0]; ++b) {
    int64_t first = length.values[b].integer, room = table.getRoom(b);
    if (first < 0 || first > room - (*counts)[b])
      return op.emitError("expected the length of sequence ")
             << b << " to leave room for " << (*counts)[b] << " of " << room << " keys, found "
             << first;
    for (int64_t t = 0; t < (*counts)[b]; ++t) {
      FailureOr<int64_t> page = pages.get(b, first + t);
      if (failed(page))
        return failure();
      for (int64_t h = 0; h < rows->shape[1]; ++h)
        for (int64_t d = 0; d < rows->shape[3]; ++d) {
          int64_t key = (first + t) % pageSize, head = h;
          if (op.isHeadsFirst())
            std::swap(key, head);
          result.values[getLinear(result.shape, {*page, key, head, d})] =
              rows->values[getLinear(rows->shape, {b, h, t, d})];
        }
    }
  }
  return env.set(op.getResult(), std::move(result));
}

void reference::addPages(Evaluators &evaluators) {
  evaluators.add<GatherPagesOp>(::evaluate);
  evaluators.add<PageLengthsOp>(::evaluate);
  evaluators.add<AppendPagesOp>(::evaluate);
}
