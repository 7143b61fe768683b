//===- TimedInputs.cpp - inputs of timed calls ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedInputs.h"

#include <unistd.h>

using namespace mlir;
using namespace attnc;

/// Bytes whose reading evicts what the caches held before.
static int64_t getEvictingBytes() {
  constexpr int64_t kUnknown = 64 << 20, kMost = 512 << 20;
  int64_t cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::min(cache > 0 ? 2 * cache : kUnknown, kMost);
}

TimedInputs::TimedInputs(std::vector<Tensor> inputs, bool areCold) {
  copies.push_back(std::move(inputs));
  if (!areCold)
    return;
  constexpr int64_t kMostCopies = 64;
  int64_t bytes = 1;
  for (const Tensor &input : copies.front())
    bytes += input.numBytes();
  for (int64_t more = std::min(kMostCopies, getEvictingBytes() / bytes); more > 0; --more) {
    std::vector<Tensor> &copy = copies.emplace_back();
    for (const Tensor &input : copies.front())
      copy.push_back(input.copy());
  }
}
