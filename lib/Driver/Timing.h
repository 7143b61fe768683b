//===- Timing.h - times of calls ---------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_TIMING_H
#define ATTNC_LIB_DRIVER_TIMING_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace attnc {

/// Seconds of one call, one entry per sample.
struct Times {
  /// Wall time, and CPU time of all threads of the process.
  std::vector<double> wall, cpu;
};

/// Seconds of a clock that only goes forward.
double getWallTime();

/// Calls `call` once for warm-up, then for `duration` seconds and at least three samples. A sample
/// has enough calls to make the clocks' cost negligible.
mlir::FailureOr<Times> sample(llvm::function_ref<llvm::LogicalResult()> call, double duration);

double getMedian(std::vector<double> values);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_TIMING_H
