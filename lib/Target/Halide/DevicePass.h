//===- DevicePass.h - what Halide leaves to be seen to on a GPU --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_DEVICEPASS_H
#define ATTNC_LIB_TARGET_HALIDE_DEVICEPASS_H

#include "Halide.h"

namespace mlir::halide {

/// The last pass over a lowered pipeline before its kernels are compiled. Calls of the C
/// library in kernels become the device's own functions, loops end with the last trip that does
/// something (TrimLoops), barriers that order nothing are dropped (ThreadBarriers), what a block
/// keeps in registers is shared out among its threads (ThreadRegisters), f16 and bf16 become
/// integers of their bits (ShortFloats), and warps are of threads that read the same (ThreadOrder).
/// What no launch could take, or what would compute something else, is an error:
///
/// - more shared memory or threads than every GPU has;
/// - a function that a GPU does not have;
/// - a func that is computed on the CPU, which looks for tensors elsewhere;
/// - shared memory that is written before a loop and read in it, while another func takes
///   it over later in the loop: Halide 21 hands memory on after the last read in the text,
///   which a loop may go back to.
class DevicePass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::mutate;
  ::Halide::Internal::Stmt mutate(const ::Halide::Internal::Stmt &stmt) override;

  /// Empty where all is well, else the first error.
  const std::string &getError() const { return error; }

private:
  std::string error;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_DEVICEPASS_H
