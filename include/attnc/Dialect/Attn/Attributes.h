//===- Attributes.h - the names of attributes -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ATTRIBUTES_H
#define ATTNC_DIALECT_ATTN_ATTRIBUTES_H

#include "mlir/Support/LLVM.h"

namespace mlir::attn {

// Of arguments and results of functions; the dialect's description says what they mean.
constexpr StringLiteral kNameAttr = "attn.name", kDimsAttr = "attn.dims",
                        kWeightAttr = "attn.weight", kResultAttr = "attn.result",
                        kInPlaceAttr = "attn.in_place";

// Of pipelines: what one computes, and the schedule of a fused one.
constexpr StringLiteral kKindAttr = "attn.kind", kScheduleAttr = "attn.schedule";

/// Marks a `tensor.extract` in a region that came from an elementwise op on whole tensors: along
/// every coordinate of the region that it reads at, its tensor has the score's size. A read that
/// a person wrote may be of a longer one.
constexpr StringLiteral kSameSizeAttr = "attn.same_size";

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ATTRIBUTES_H
