//===- ThreadRegisters.h - registers of a block's threads --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_THREADREGISTERS_H
#define ATTNC_LIB_TARGET_HALIDE_THREADREGISTERS_H

#include "Halide.h"

namespace mlir::halide {

/// A func that lies in registers and is computed outside of the loops over threads keeps what it
/// holds from one such loop to the next. Halide gives each thread an array for all of it; this
/// pass leaves each thread the elements that it touches, at constant places, so that they are
/// registers indeed. An element that two threads touch, or one at a place that is not constant
/// for a thread, is an error: a thread would not see what the other one wrote.
class ThreadRegisters : public ::Halide::Internal::IRMutator {
public:
  /// Empty where all is well, else the first error.
  std::string error;

private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;

  /// Of the loops over threads.
  bool isOutside = true;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_THREADREGISTERS_H
