//===- PackedRows.h - sequences of different lengths, packed ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_REFERENCE_PACKEDROWS_H
#define ATTNC_LIB_REFERENCE_PACKEDROWS_H

#include "Environment.h"

namespace mlir::attn::reference {

/// Fails, with an error at `op`, unless offsets begin with 0, don't decrease and end with `total`.
LogicalResult checkOffsets(Operation *op, const Array &offsets, int64_t total);
/// The packed rows as attn.unpack_rows unpacks them, `[batch, heads, total, head_dim]`. Rows are
/// `[total, heads, head_dim]`, or `[1, heads, total, head_dim]` if `isHeadsFirst`. Fails, with an
/// error at `op`, if an offset is wrong.
FailureOr<Array> unpackRows(Operation *op, const Array &rows, Value offsets, bool isHeadsFirst,
                            Environment &env);
/// The rows of `unpacked` as attn.pack_rows packs them, by offsets that have been checked.
Array packRows(const Array &unpacked, const Array &offsets, bool isHeadsFirst);

} // namespace mlir::attn::reference

#endif // ATTNC_LIB_REFERENCE_PACKEDROWS_H
