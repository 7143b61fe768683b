//===- Shuffles.h - funcs that LLVM makes shuffles of -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A func in registers whose vectors are loops over several of its variables reads vectors of
// another one as ramps of ramps: Halide makes shuffles of them. Divisions and remainders of one
// variable instead would be gathers, so that what puts several variables into one is an update.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_SHUFFLES_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_SHUFFLES_H

#include "PipelineBuilder.h"

namespace mlir::attn {

/// The elements of f32 in 128 bits, within which shuffles take one cycle on every CPU.
inline constexpr int64_t kShuffled = 4;

template <typename T>
SmallVector<T> concat(ArrayRef<T> first, ArrayRef<T> second) {
  SmallVector<T> all(first);
  llvm::append_range(all, second);
  return all;
}

/// Vectorizes the loops `inVector`, innermost first, and unrolls those across vectors.
inline void scheduleVectors(PipelineBuilder &p, ArrayRef<Loop> inVector, ArrayRef<Loop> across) {
  p.reorder(concat<Loop>(inVector, across));
  for (Loop loop : inVector)
    p.vectorize(loop);
  for (Loop loop : across)
    p.unroll(loop);
}

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_SHUFFLES_H
