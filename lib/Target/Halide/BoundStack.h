//===- BoundStack.h - temporaries that a thread's stack need not hold ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide puts each temporary of up to 16 KB on the stack, however many there are, and takes
// stack of eight times the size where it wants a larger one that the allocator has no memory
// for. Here a kernel's temporaries share one bound; what is beyond it is the allocator's, once
// for each task, and an error where there is no memory.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_BOUNDSTACK_H
#define ATTNC_LIB_TARGET_HALIDE_BOUNDSTACK_H

#include "Halide.h"

namespace mlir::halide {

/// Moves temporaries from the stack to the heap until those left take kMostStackBytes of
/// Export.h, and the moved ones out of the serial loops that they don't depend on.
class BoundStackPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::mutate;
  ::Halide::Internal::Stmt mutate(const ::Halide::Internal::Stmt &kernel) override;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_BOUNDSTACK_H
