//===- ScheduleSearch.h - search schedule parameters -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_SCHEDULESEARCH_H
#define ATTNC_LIB_DRIVER_SCHEDULESEARCH_H

#include "attnc/Dialect/Attn/ScheduleText.h"

#include "llvm/ADT/StringMap.h"

#include <random>
#include <vector>

namespace attnc {

/// Searches the parameters of one schedule: steps along one parameter at a time while that helps,
/// then from random neighbours of the best one. The order of candidates depends on their times
/// alone.
class ScheduleSearch {
public:
  /// Seconds of a call; none for a schedule that gives no kernel. Fails to end the search.
  using Measure = llvm::function_ref<mlir::FailureOr<std::optional<double>>(mlir::Attribute)>;

  /// Values for parameters that change together.
  using Step = llvm::SmallVector<std::pair<llvm::StringRef, std::string>>;

  struct Candidate {
    mlir::Attribute schedule;
    double seconds;
  };

  /// `op` says which schedules are valid; its own is given back at the end.
  ScheduleSearch(mlir::Operation *op, mlir::Attribute start, Measure measure,
                 llvm::function_ref<bool()> hasTime);
  ~ScheduleSearch();

  mlir::LogicalResult run();

  /// Without those that gave no kernel, best first.
  std::vector<Candidate> getBest() const;

private:
  std::vector<std::vector<Step>> listSteps();
  mlir::Attribute fit(mlir::Attribute from, const Step &step);
  mlir::Attribute fitLinear(mlir::attn::ScheduleText text);
  mlir::Attribute parse(const mlir::attn::ScheduleText &text);
  bool isValid(mlir::Attribute schedule);
  mlir::FailureOr<bool> visit(mlir::Attribute schedule);
  mlir::LogicalResult descend();
  mlir::FailureOr<bool> follow(llvm::ArrayRef<Step> steps, int direction);

  mlir::Operation *op;
  mlir::ArrayAttr given;
  Measure measure;
  llvm::function_ref<bool()> hasTime;
  std::vector<Candidate> measured;
  llvm::StringMap<bool> seen;
  Candidate best;
  std::mt19937_64 random;
};

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_SCHEDULESEARCH_H
