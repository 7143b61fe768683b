//===- ScheduleDatabase.h - schedules that were measured --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A JSON file of schedules that `attnc tune` found on some machines:
//
//   {"version": 1,
//    "schedules": [{"cpu": "znver4", "target": "x86-64-linux-…", "op": "func.func private @op(…)",
//                   "schedules": ["#attn.decode<…>", "#attn.prefill<…>"],
//                   "measured": [{"q_len": 1, "sizes": "kv_len=4096", "ms": 2.07,
//                   "before_ms": 3.4}]}]}
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_SCHEDULEDATABASE_H
#define ATTNC_DIALECT_ATTN_SCHEDULEDATABASE_H

#include "attnc/Dialect/Attn/Attn.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// What a kernel took at some sizes.
struct Measurement {
  int64_t qLen = 0;
  std::string sizes;
  /// Milliseconds of a call, with these schedules and with the ones before.
  double milliseconds = 0, before = 0;
};

/// The schedules of one op on one kind of machine.
struct MeasuredSchedules {
  /// The processor, as LLVM names it.
  std::string cpu;
  /// A Halide target in full.
  std::string target;
  /// By describeClass.
  std::string op;
  /// In text, in the order of the op's attribute.
  std::vector<std::string> schedules;
  std::vector<Measurement> measured;
};

class ScheduleDatabase {
public:
  /// An empty one if there is no file. Fails if the file is no such database, with a diagnostic of
  /// this severity at its place.
  static FailureOr<ScheduleDatabase> read(StringRef path, MLIRContext *context,
                                          DiagnosticSeverity severity);

  /// The entry for the op on this processor for this target, else one of another processor; null if
  /// there is none.
  const MeasuredSchedules *find(StringRef cpu, StringRef target, StringRef op) const;
  /// Where the file has the entry's schedules.
  Location locate(const MeasuredSchedules &entry, MLIRContext *context) const;

  /// Adds the entry, or replaces that of its op, target and processor.
  void set(MeasuredSchedules entry);
  /// Replaces the file.
  std::error_code write() const;

private:
  std::string path, text;
  std::vector<MeasuredSchedules> entries;
};

/// This machine's processor, as LLVM names it: `znver4`.
StringRef getProcessor();

/// An attention or a linear layer without its schedules, its place and its names, as a function of
/// its operands and of what its regions read: equal for ops that the same kernels compute, those of
/// a linear layer but for its epilogue.
std::string describeClass(Operation *op);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_SCHEDULEDATABASE_H
