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
  /// `lengths` may be null.
  PageTable(PipelineBuilder &p, Value table, Value lengths, Scalar pageSize, Scalar numPages);

  Scalar getPageSize() const { return pageSize; }
  Scalar getNumPages() const { return numPages; }
  /// max_pages · page_size.
  Scalar getNumKeys() const;
  /// The page of key `number`, one of the pool's whatever the table holds.
  Scalar pageOf(Scalar number, Scalar b) const;
  /// The key's row in its page.
  Scalar rowOf(Scalar number) const;

private:
  PipelineBuilder &p;
  Func table, lengths;
  Scalar pageSize, numPages;
};

/// Emits checks that every entry of the table that is followed is a page of each of the pools, and
/// that the lengths, which may be null, are within the table. `keyDim` is the dimension of a page's
/// keys.
LogicalResult requirePages(Operation *op, Value table, Value lengths, ArrayRef<Value> pools,
                           int64_t keyDim, FunctionConverter &converter);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_PAGES_H
