//===- RegisterLets.h - registers as values ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM keeps what was stored as one vector and is read in parts in memory too, and takes parts of
// it by shifts of words. An allocation in registers that is written by straight-line code becomes
// lets, and reads of parts become shuffles.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_REGISTERLETS_H
#define ATTNC_TARGET_HALIDE_REGISTERLETS_H

#include "Halide.h"

namespace mlir::halide {

/// Replaces allocations in registers whose elements are each stored once, outside of loops, at
/// constant places, by lets, in lowered code.
class RegisterLetsPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_REGISTERLETS_H
