//===- LaunchBounds.h - registers of CUDA kernels ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_LAUNCHBOUNDS_H
#define ATTNC_LIB_TARGET_HALIDE_LAUNCHBOUNDS_H

#include "Halide.h"

namespace mlir::halide {

/// Halide 21 has CUDA's driver compile kernels with 64 registers a thread at most, and spills the
/// rest. The limit is not for kernels that state their number of threads: returns a module whose
/// PTX does, with what launches say.
::Halide::Module addLaunchBounds(const ::Halide::Module &module);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_LAUNCHBOUNDS_H
