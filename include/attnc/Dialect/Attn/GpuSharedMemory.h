//===- GpuSharedMemory.h - layout of shared memory --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used by the choice of blocks that fit into shared memory and by the kernels that allocate them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_GPUSHAREDMEMORY_H
#define ATTNC_DIALECT_ATTN_GPUSHAREDMEMORY_H

#include <cstdint>

namespace mlir::attn {

/// Row pitch in elements for rows of `length`: an odd number of vectors of four avoids bank
/// conflicts.
constexpr int64_t getRowDistance(int64_t length) { return ((length + 3) / 4 | 1) * 4; }

/// Row pitch of a KV block's numerators.
constexpr int64_t getNumeratorDistance(int64_t kvBlock) { return kvBlock + 8; }

/// Elements reserved for the number of KV blocks, padded to keep the next allocation aligned to
/// vectors of four.
constexpr int64_t kKvBlockCountElements = 4;

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_GPUSHAREDMEMORY_H
