//===- BoundStack.h - bound the stack of a kernel's temporaries -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide puts every temporary of up to 16 KB on the stack, without a bound on their sum, and takes
// stack of eight times the size if the allocator has no memory for a larger one. Here a kernel's
// temporaries share one bound; the rest come from the allocator, once per task, and running out of
// memory is an error.
//
// Halide has a temporary reuse the stack of one freed before. LLVM then keeps the accumulators of a
// loop in registers until the end of all loops around it, for whoever reads that memory later, and
// spills those of the next: small registers, as the few sums of a softmax, get stack of their own.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_BOUNDSTACK_H
#define ATTNC_LIB_TARGET_HALIDE_BOUNDSTACK_H

#include "Halide.h"

namespace mlir::halide {

/// Moves temporaries from the stack to the heap until the rest take at most kMaxStackBytes of
/// Export.h, and hoists them and small registers out of the serial loops that they don't depend on.
class BoundStackPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::mutate;
  ::Halide::Internal::Stmt mutate(const ::Halide::Internal::Stmt &kernel) override;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_BOUNDSTACK_H
