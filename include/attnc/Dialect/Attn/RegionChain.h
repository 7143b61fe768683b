//===- RegionChain.h - limit on dependence chains in regions --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses and lowerings, Halide's included, recurse from values to operands: a long chain of
// dependent ops would overflow the stack.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_REGIONCHAIN_H
#define ATTNC_DIALECT_ATTN_REGIONCHAIN_H

#include "mlir/IR/Region.h"

namespace mlir::attn {

/// Longest chain of dependent ops. Recursion over it takes half of an 8 MB stack.
constexpr int64_t kLongestChain = 4096;

/// The length of the longest chain in a region, including the ops that compute captured scalars.
int64_t getLongestChain(Region &region);

/// Refuses a region with a chain of more than kLongestChain ops.
LogicalResult verifyChains(Region &region);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_REGIONCHAIN_H
