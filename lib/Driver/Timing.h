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

/// Seconds of one call, an entry a sample.
struct Times {
  /// By the clock, and of all threads of the process together.
  std::vector<double> wall, cpu;
};

/// Calls `call` until `duration`, in seconds, is over, three samples at least, after one call
/// that does not count. A sample is as many calls as make reading the clocks cost next to nothing.
mlir::FailureOr<Times> sample(llvm::function_ref<llvm::LogicalResult()> call, double duration);

double getMedian(std::vector<double> values);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_TIMING_H
