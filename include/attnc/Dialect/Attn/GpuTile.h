//===- GpuTile.h - shared memory layout of a GPU tile -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the choice of tiles that fit into shared memory and the conversion that lays them out.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_GPUTILE_H
#define ATTNC_DIALECT_ATTN_GPUTILE_H

#include <cstdint>

namespace mlir::attn {

/// Row pitch in elements for rows of `length`: an odd number of vectors of four avoids bank
/// conflicts.
constexpr int64_t getRowDistance(int64_t length) { return ((length + 3) / 4 | 1) * 4; }

/// Row pitch of a chunk's numerators.
constexpr int64_t getNumeratorDistance(int64_t chunk) { return chunk + 8; }

/// Elements reserved for the number of chunks, padded to keep the next allocation aligned to
/// vectors of four.
constexpr int64_t kChunkCountElements = 4;

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_GPUTILE_H
