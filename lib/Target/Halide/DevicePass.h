//===- DevicePass.h - GPU fix-ups after Halide's lowering --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_DEVICEPASS_H
#define ATTNC_LIB_TARGET_HALIDE_DEVICEPASS_H

#include "Halide.h"

namespace mlir::halide {

/// The last pass over a lowered pipeline before its kernels are compiled. Calls of the C library in
/// kernels become the device's own functions, loops end after their last useful iteration
/// (TrimLoops), redundant barriers are dropped (ThreadBarriers), a block's register arrays are
/// split among its threads (ThreadRegisters), f16 and bf16 become integers of their bits
/// (ShortFloats), shared memory that CUDA keeps is left alone (ReservedShared), threads of a warp
/// are arranged to share reads (ThreadOrder), and kernels without blocks are not launched. Errors,
/// since a launch would fail or compute something else:
///
/// - more shared memory or threads than every GPU has;
/// - a math function that a GPU does not have;
/// - a func computed on the CPU, where tensors are in other memory;
/// - shared memory written before a loop and read in it, but reused by another func later in the
///   loop: Halide 21 frees shared memory after the last textual use and ignores loop back edges.
class DevicePass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::mutate;
  ::Halide::Internal::Stmt mutate(const ::Halide::Internal::Stmt &stmt) override;

  /// The first error; empty without one.
  const std::string &getError() const { return error; }

private:
  std::string error;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_DEVICEPASS_H
