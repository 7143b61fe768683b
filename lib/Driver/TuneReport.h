//===- TuneReport.h - what a search of schedules found -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_TUNEREPORT_H
#define ATTNC_LIB_DRIVER_TUNEREPORT_H

#include "attnc/Dialect/Attn/ScheduleDatabase.h"
#include "attnc/Driver/Driver.h"

#include <string>

namespace attnc {

/// What a search found.
struct Finding {
  std::string place;
  /// What the schedule is chosen by: q_len or rows.
  llvm::StringRef limitName;
  std::string before, after;
  mlir::attn::Measurement measured;
  size_t tried;
  bool isBetter() const { return before != after; }
};

/// Prints what was found, as text or JSON. `isChecked`: whether results were compared with the
/// reference.
void print(const TuneInvocation &invocation, llvm::StringRef target,
           llvm::ArrayRef<Finding> findings, bool isChecked);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_TUNEREPORT_H
