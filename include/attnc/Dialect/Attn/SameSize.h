//===- SameSize.h - reads that stand for whole tensors ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_SAMESIZE_H
#define ATTNC_DIALECT_ATTN_SAMESIZE_H

#include "mlir/Support/LLVM.h"

namespace mlir::attn {

/// Marks a `tensor.extract` in a region that came from an elementwise op on whole tensors: along
/// every coordinate of the region that it reads at, its tensor has the score's size. A read that
/// a person wrote may be of a longer one.
constexpr StringLiteral kSameSizeName = "attn.same_size";

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_SAMESIZE_H
