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

// On arguments and results of functions; see the dialect's description.
constexpr StringLiteral kNameAttr = "attn.name", kDimsAttr = "attn.dims",
                        kWeightAttr = "attn.weight", kResultAttr = "attn.result",
                        kInPlaceAttr = "attn.in_place";

// On kernels: the op computed, the schedule of a fused kernel, and a mark on those that check
// elements of an argument.
constexpr StringLiteral kKindAttr = "attn.kind", kScheduleAttr = "attn.schedule",
                        kCheckAttr = "attn.check";

/// On functions: see `attn-select-schedule`.
constexpr StringLiteral kQLenAttr = "attn.q_len";
/// On functions: see `attn-shard`.
constexpr StringLiteral kShardAttr = "attn.shard";
/// Elements of `attn.places`.
enum PlacesElement : int64_t {
  kRowsPlace,
  kLongestPlace,
  kWholePlace,
  kEarlyPlace,
  kFirstPlace,
  kStepPlace,
  kLatePlace,
  kLengthsPlace
};
/// On ops that exchange: what the cost model estimates of each strategy, a line for each.
constexpr StringLiteral kEstimatesAttr = "attn.estimates";

/// Marks a `tensor.extract` in a region that was raised from an elementwise op on whole tensors:
/// along each coordinate of the region, the tensor has the score's size. A hand-written read may be
/// of a longer tensor.
constexpr StringLiteral kSameSizeAttr = "attn.same_size";

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ATTRIBUTES_H
