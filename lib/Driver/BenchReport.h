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
#include "attnc/Spec/Spec.h"

#include "llvm/Support/JSON.h"

namespace attnc {

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

  double getGflops() const { return *flops / min / 1e9; }
  /// Relative distance of the median from the minimum.
  double getSpread() const { return median / min - 1; }
};

/// `batch=1 len=256`
std::string describe(const Dims &dims);

/// Prints the table's head or a line; `width` is that of the column of sizes.
void printHeader(unsigned width);
void print(const Row &row, unsigned width);

void printJson(Spec &spec, llvm::StringRef target, llvm::ArrayRef<Row> rows);

/// Notes that other work on the machine disturbed the times.
void remarkLoad(llvm::ArrayRef<Row> rows, unsigned numThreads);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_BENCHREPORT_H
