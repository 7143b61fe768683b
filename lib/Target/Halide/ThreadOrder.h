//===- ThreadOrder.h - assign threads to warp lanes -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_THREADORDER_H
#define ATTNC_LIB_TARGET_HALIDE_THREADORDER_H

#include "Halide.h"

namespace mlir::halide {

/// Renumbers the threads of a block, so that four neighbouring lanes form a 2×2 square of threads.
/// A warp that reads 16 bytes per thread from shared memory takes half the time if lanes n and n ^
/// 1, or n and n ^ 2, read the same address for all n. Each thread of a tile reads part of its rows
/// and of its columns, which are the same for all threads along the other dimension.
class ThreadOrder : public ::Halide::Internal::IRMutator {
private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_THREADORDER_H
