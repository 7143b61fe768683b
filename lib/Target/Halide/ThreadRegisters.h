//===- ThreadRegisters.h - split register arrays among threads ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_THREADREGISTERS_H
#define ATTNC_LIB_TARGET_HALIDE_THREADREGISTERS_H

#include "Halide.h"

namespace mlir::halide {

/// A func in registers that is computed outside of the loops over threads keeps its elements from
/// one such loop to the next. Halide gives each thread an array of all elements; this pass leaves
/// each thread the elements that it accesses, at constant indices, so that LLVM keeps them in
/// registers. An element accessed by two threads, or at an index that is not constant for a thread,
/// is an error: a thread would not see another one's writes.
class ThreadRegisters : public ::Halide::Internal::IRMutator {
public:
  /// The first error; empty without one.
  std::string error;

private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;

  /// Outside of the loops over threads.
  bool isOutside = true;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_THREADREGISTERS_H
