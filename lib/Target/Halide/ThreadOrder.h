//===- ThreadOrder.h - which threads are a warp's ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_THREADORDER_H
#define ATTNC_LIB_TARGET_HALIDE_THREADORDER_H

#include "Halide.h"

namespace mlir::halide {

/// Numbers the threads of a block anew, so that four lanes next to each other are two by two
/// threads. A warp that reads 16 bytes a thread from shared memory takes half the time where the
/// lanes n and n ^ 1, or n and n ^ 2, read the same for all n; of a tile's rows and columns each
/// thread reads some of both, which are the same along the other of the two dimensions.
class ThreadOrder : public ::Halide::Internal::IRMutator {
private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_THREADORDER_H
