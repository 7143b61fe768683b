//===- MaskWidth.h - how many keys a row can see ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_MASKWIDTH_H
#define ATTNC_DIALECT_ATTN_MASKWIDTH_H

#include "attnc/Dialect/Attn/Attn.h"

#include <optional>

namespace mlir::attn {

/// The keys from the first to the last one that some of `rows` rows next to each other see by
/// `mask`, at most: 256 of q - 255 <= k <= q for one row. Nothing where the mask's comparisons
/// bound no such constant.
std::optional<int64_t> findMaskWidth(Region &mask, int64_t rows = 1);

/// The same by mask and kv_len.
std::optional<int64_t> findMostKeys(AttentionOp op, int64_t rows);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_MASKWIDTH_H
