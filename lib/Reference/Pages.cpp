//===- Pages.cpp - keys and values in pages ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pages.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

/// The pages that the table's entries lead to; page 0 for entries behind a sequence's last key.
static FailureOr<Array> findPages(Operation *op, Array table, const Array *lengths,
                                  int64_t pageSize, int64_t numPages) {
  int64_t maxPages = table.shape[1];
  for (auto [linear, entry] : llvm::enumerate(table.values)) {
    int64_t b = linear / maxPages, i = linear % maxPages;
    if (lengths && i * pageSize >= lengths->values[b].integer)
      entry.integer = 0;
    if (entry.integer < 0 || entry.integer >= numPages)
      return op->emitError("expected entry ")
             << i << " of sequence " << b << " of the page table to be one of " << numPages
             << " pages, found " << entry.integer;
  }
  return table;
}

static LogicalResult checkLengths(Operation *op, const Array &lengths, int64_t longest) {
  for (auto [b, length] : llvm::enumerate(lengths.values))
    if (length.integer < 0 || length.integer > longest)
      return op->emitError("expected the length of sequence ")
             << b << " to be 0 to " << longest << ", found " << length.integer;
  return success();
}

FailureOr<Array> reference::gatherPages(Operation *op, Value pool, Value table, Value lengths,
                                        bool isHeadsFirst, Environment &env) {
  const Array &all = env.get(pool), *known = lengths ? &env.get(lengths) : nullptr;
  int64_t pageSize = all.shape[isHeadsFirst ? 2 : 1], heads = all.shape[isHeadsFirst ? 1 : 2];
  int64_t kvLen = env.get(table).shape[1] * pageSize;
  if (known && failed(checkLengths(op, *known, kvLen)))
    return failure();
  FailureOr<Array> pages = findPages(op, env.get(table), known, pageSize, all.shape[0]);
  if (failed(pages))
    return failure();
  Array rows(all.elementType, {pages->shape[0], heads, kvLen, all.shape[3]});
  forEachIndex(rows.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t key = at[2] % pageSize, head = at[1];
    int64_t page = pages->values[getLinear(pages->shape, {at[0], at[2] / pageSize})].integer;
    if (isHeadsFirst)
      std::swap(key, head);
    rows.values[linear] = all.values[getLinear(all.shape, {page, key, head, at[3]})];
  });
  return rows;
}

static LogicalResult evaluate(GatherPagesOp op, Environment &env) {
  FailureOr<Array> rows =
      gatherPages(op, op.getPool(), op.getTable(), op.getLengths(), op.isHeadsFirst(), env);
  return failed(rows) ? failure() : env.set(op.getResult(), std::move(*rows));
}

//===----------------------------------------------------------------------===//
// attn.append_pages
//===----------------------------------------------------------------------===//

namespace {
/// The entries of a table whose pages are written to.
class WrittenPages {
public:
  WrittenPages(AppendPagesOp op, const Array &table, int64_t pageSize, int64_t numPages)
      : op(op), table(table), pageSize(pageSize), owners(numPages, -1) {}

  /// The page of a sequence's key. Fails if it is none of the pool's, or another entry's.
  FailureOr<int64_t> get(int64_t b, int64_t key);

private:
  AppendPagesOp op;
  const Array &table;
  int64_t pageSize;
  std::vector<int64_t> owners;
};
} // namespace

FailureOr<int64_t> WrittenPages::get(int64_t b, int64_t key) {
  int64_t numPages = owners.size(), maxPages = table.shape[1], i = key / pageSize;
  int64_t entry = b * maxPages + i, page = table.values[entry].integer;
  if (page < 0 || page >= numPages)
    return op.emitError("expected entry ")
           << i << " of sequence " << b << " of the page table to be one of " << numPages
           << " pages, found " << page;
  int64_t &owner = owners[page];
  if (owner >= 0 && owner != entry)
    return op.emitError("expected entry ")
           << i << " of sequence " << b << " of the page table to be a page that no other entry "
           << "appends to, found page " << page << " of entry " << owner % maxPages
           << " of sequence " << owner / maxPages;
  owner = entry;
  return page;
}

/// The number of rows that each sequence appends.
static FailureOr<std::vector<int64_t>> countRows(AppendPagesOp op, Environment &env) {
  int64_t most = env.get(op.getRows()).shape[2];
  std::vector<int64_t> counts(env.get(op.getRows()).shape[0], most);
  if (op.getCounts())
    for (auto [b, count] : llvm::enumerate(env.get(op.getCounts()).values)) {
      if (count.integer < 0 || count.integer > most)
        return op.emitError("expected the count of sequence ")
               << b << " to be 0 to " << most << ", found " << count.integer;
      counts[b] = count.integer;
    }
  return counts;
}

static LogicalResult evaluate(AppendPagesOp op, Environment &env) {
  const Array &rows = env.get(op.getRows()), &table = env.get(op.getTable()),
              &length = env.get(op.getLength());
  Array result = env.get(op.getPool());
  int64_t pageSize = result.shape[op.getKeyDim()], numKeys = table.shape[1] * pageSize;
  FailureOr<std::vector<int64_t>> counts = countRows(op, env);
  if (failed(counts))
    return failure();
  WrittenPages pages(op, table, pageSize, result.shape[0]);
  for (int64_t b = 0; b < rows.shape[0]; ++b) {
    int64_t first = length.values[b].integer;
    if (first < 0 || first > numKeys - (*counts)[b])
      return op.emitError("expected the length of sequence ")
             << b << " to leave room for " << (*counts)[b] << " of " << numKeys << " keys, found "
             << first;
    for (int64_t t = 0; t < (*counts)[b]; ++t) {
      FailureOr<int64_t> page = pages.get(b, first + t);
      if (failed(page))
        return failure();
      for (int64_t h = 0; h < rows.shape[1]; ++h)
        for (int64_t d = 0; d < rows.shape[3]; ++d) {
          int64_t key = (first + t) % pageSize, head = h;
          if (op.isHeadsFirst())
            std::swap(key, head);
          result.values[getLinear(result.shape, {*page, key, head, d})] =
              rows.values[getLinear(rows.shape, {b, h, t, d})];
        }
    }
  }
  return env.set(op.getResult(), std::move(result));
}

void reference::addPages(Evaluators &evaluators) {
  evaluators.add<GatherPagesOp>(::evaluate);
  evaluators.add<AppendPagesOp>(::evaluate);
}
