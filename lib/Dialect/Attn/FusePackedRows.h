//===- FusePackedRows.h - attention and appends on packed rows --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_FUSEPACKEDROWS_H
#define ATTNC_LIB_DIALECT_ATTN_FUSEPACKEDROWS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Lets `op` compute packed rows alone, and read packed keys and values in place, where
/// attn.unpack_rows unpacks them and attn.pack_rows packs the results. Returns whether ops between
/// were moved to packed rows.
bool takePackedRows(RewriterBase &rewriter, AttentionOp op);

/// Lets `op` append packed rows where attn.unpack_rows unpacks them; of counts that are not those of
/// the sequences, lets at least what changes the rows in between change packed ones. Returns whether
/// ops between were moved to packed rows.
bool takePackedRows(RewriterBase &rewriter, AppendPagesOp op);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_FUSEPACKEDROWS_H
