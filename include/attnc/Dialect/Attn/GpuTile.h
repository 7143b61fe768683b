//===- GpuTile.h - how a GPU's tile lies in shared memory -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What chooses tiles that fit into shared memory and what lays them out there agree on this.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_GPUTILE_H
#define ATTNC_DIALECT_ATTN_GPUTILE_H

#include <cstdint>

namespace mlir::attn {

/// Elements from one row of `length` to the next: an odd number of vectors of four spreads rows
/// over the banks.
constexpr int64_t getRowDistance(int64_t length) { return ((length + 3) / 4 | 1) * 4; }

/// The same of a chunk's weights.
constexpr int64_t getWeightDistance(int64_t chunk) { return chunk + 8; }

/// Elements that the number of chunks takes: what lies behind it is aligned to vectors of four.
constexpr int64_t kChunkCountElements = 4;

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_GPUTILE_H
