//===- Pages.h - keys and values in pages ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_PAGES_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_PAGES_H

#include "FunctionConverter.h"

namespace mlir::attn {

/// Where a key is in the pages of a pool.
class PageTable {
public:
  /// Of pools with these sizes.
  PageTable(PipelineBuilder &p, const PagedTensors &paged, Scalar numHeads, Scalar pageSize,
            Scalar numPages);

  Scalar getPageSize() const { return pageSize; }
  Scalar getNumPages() const { return numPages; }
  Scalar getMaxPages() const { return p.extent(table, 0); }
  /// max_pages · page_size.
  Scalar getNumKeys() const;
  /// The number of keys that the pages of sequence b have room for.
  Scalar getRoom(Scalar b) const;
  /// The place of entry `i` of sequence b, less than max_pages: one in the table whatever offsets
  /// hold.
  SmallVector<Scalar> placeOf(Scalar i, Scalar kvHead, Scalar b) const;
  /// The page of key `number`, one of the pool's whatever the table holds. `kvHead` matters only in
  /// a table of head groups.
  Scalar pageOf(Scalar number, Scalar kvHead, Scalar b) const;
  /// Whether the table is one of head groups.
  bool haveHeadsOwnPages() const { return rank == 3; }
  /// The key's row in its page.
  Scalar rowOf(Scalar number) const;

private:
  /// The first entry of sequence b in CSR, and the number of its entries.
  Scalar startOf(Scalar b) const;
  Scalar countEntries(Scalar b) const { return startOf(b + 1) - startOf(b); }
  /// Whether entry `i` has keys before the sequence's end; null if all do.
  Scalar isFollowed(Scalar i, Scalar b) const;

  PipelineBuilder &p;
  int64_t rank;
  Func table, offsets, lengths;
  Scalar numHeads, pageSize, numPages;
};

/// Emits checks that every entry of the table that is followed is a page of each of the pools, and
/// that lengths are within the table, or offsets divide it. `keyDim` is the dimension of a page's
/// keys.
LogicalResult requirePages(Operation *op, const PagedTensors &paged, int64_t keyDim,
                           FunctionConverter &converter);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_PAGES_H
