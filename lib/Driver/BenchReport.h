//===- BenchReport.h - tables of times ---------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_BENCHREPORT_H
#define ATTNC_LIB_DRIVER_BENCHREPORT_H

#include "attnc/Execution/CalledKernels.h"
#include "attnc/Execution/Sizes.h"
#include "attnc/Machine/Limits.h"
#include "attnc/Spec/Spec.h"

#include "llvm/Support/JSON.h"

namespace attnc {
using mlir::attn::MachineLimits;

/// What one call spends in a kernel.
struct ProfileLine {
  llvm::StringRef kernel;
  double seconds;
  /// More than one where layers share the kernel.
  int64_t calls;
};

/// The times of a kernel for one choice of sizes.
struct Row {
  Dims dims;
  /// Seconds of one call: wall time, and CPU time of all threads (median).
  double min, median, cpu;
  size_t samples;
  /// Bytes of inputs and results; of temporaries.
  int64_t bytes, workspace;
  std::optional<double> flops;
  llvm::SmallVector<CalledKernel> called;
  /// Of kernels that ran, in order; empty unless profiled.
  llvm::SmallVector<ProfileLine> profile;

  double getGflops() const { return *flops / min / 1e9; }
  /// The shares of the FLOP/s and of the read bandwidth that the call's threads have at most.
  double getFlopsShare(const MachineLimits &limits) const { return *flops / min / limits.flops; }
  double getReadShare(const MachineLimits &limits) const { return bytes / min / limits.readBytes; }
  /// Relative distance of the median from the minimum.
  double getSpread() const { return median / min - 1; }
};

/// `batch=1 len=256`
std::string describe(const Dims &dims);

/// Prints the table's head or a line; `width` is that of the column of sizes. Without `limits`, on
/// a GPU, no shares are printed.
void printHeader(unsigned width);
void print(const Row &row, const std::optional<MachineLimits> &limits, unsigned width);

void printJson(Spec &spec, llvm::StringRef target, bool isCold,
               const std::optional<MachineLimits> &limits, llvm::ArrayRef<Row> rows);

/// Notes that other work on the machine disturbed the times.
void remarkLoad(llvm::ArrayRef<Row> rows, unsigned numThreads);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_BENCHREPORT_H
