//===- Timing.cpp - times of calls ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

using namespace mlir;
using namespace attnc;

double attnc::getWallTime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// CPU time of all threads of the process.
static double getCpuTime() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

double attnc::getMedian(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

FailureOr<Times> attnc::sample(llvm::function_ref<LogicalResult()> call, double duration) {
  constexpr double shortest = 1e-4;
  if (failed(call())) // starts the threads, touches the memory
    return failure();
  double begin = getWallTime();
  if (failed(call()))
    return failure();
  int calls = std::clamp(std::ceil(shortest / (getWallTime() - begin)), 1.0, 1000.0);
  Times times;
  for (double end = getWallTime() + duration; getWallTime() < end || times.wall.size() < 3;) {
    double cpu = getCpuTime(), wall = getWallTime();
    for (int count = 0; count < calls; ++count)
      if (failed(call()))
        return failure();
    times.wall.push_back((getWallTime() - wall) / calls);
    times.cpu.push_back((getCpuTime() - cpu) / calls);
  }
  return times;
}
