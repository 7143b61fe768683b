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

void reference::addPages(Evaluators &evaluators) { evaluators.add<GatherPagesOp>(::evaluate); }
