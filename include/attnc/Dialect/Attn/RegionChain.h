//===- RegionChain.h - how far a region's values depend on each other -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses and lowerings, Halide's among them, follow values to their operands by recursion: a
// chain of ops without end would overflow the stack.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_REGIONCHAIN_H
#define ATTNC_DIALECT_ATTN_REGIONCHAIN_H

#include "mlir/IR/Region.h"

namespace mlir::attn {

/// The most ops in a row, each an operand's of the next. Half of a stack of 8 MB holds what
/// follows as many.
constexpr int64_t kLongestChain = 4096;

/// The length of the longest chain in a region, with what computes the scalars that it takes from
/// outside.
int64_t getLongestChain(Region &region);

/// Refuses a region with a chain of more than kLongestChain ops.
LogicalResult verifyChains(Region &region);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_REGIONCHAIN_H
