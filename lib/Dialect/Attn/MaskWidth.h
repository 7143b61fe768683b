//===- MaskWidth.h - how many keys a row can see ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_MASKWIDTH_H
#define ATTNC_DIALECT_ATTN_MASKWIDTH_H

#include "mlir/IR/Region.h"

#include <optional>

namespace mlir::attn {

/// The keys from the first to the last one that a row sees by `mask`, at most: 256 of
/// q - 255 <= k <= q. Nothing where the mask's comparisons bound no such constant.
std::optional<int64_t> findMaskWidth(Region &mask);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_MASKWIDTH_H
