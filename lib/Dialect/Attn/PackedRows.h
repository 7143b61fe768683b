//===- PackedRows.h - sequences of different lengths, packed ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_PACKEDROWS_H
#define ATTNC_LIB_DIALECT_ATTN_PACKEDROWS_H

#include "attnc/Dialect/Attn/Attn.h"

namespace mlir::attn {

/// Packed rows `[total, heads, …]` as attn.attention takes and gives them, `[1, heads, total, …]`,
/// and back.
Value toHeadsFirst(OpBuilder &builder, Location loc, Value rows);
Value toRowsFirst(OpBuilder &builder, Location loc, Value heads);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_PACKEDROWS_H
