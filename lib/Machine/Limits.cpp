//===- Limits.cpp - what this machine can do at most ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that do nothing else, in the widest vectors of the processor: the shortest of several
// times.
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/Limits.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

using namespace mlir::attn;

/// As many independent sums as latency and throughput of the instruction ask for, and as fit in
/// the registers.
static constexpr int kSums = 12;

namespace {
template <int lanes>
struct Loops {
  typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));

  [[gnu::always_inline]] static float total(const Vector (&sums)[kSums]) {
    Vector all = sums[0];
    for (int i = 1; i < kSums; ++i)
      all += sums[i];
    return all[0];
  }

  /// `steps` multiply-adds of each sum.
  [[gnu::always_inline]] static float multiplyAdd(int64_t steps, float factor) {
    Vector sums[kSums], factors = Vector{} + factor;
    for (int i = 0; i < kSums; ++i)
      sums[i] = Vector{} + float(i);
    for (int64_t step = 0; step < steps; ++step)
      for (int i = 0; i < kSums; ++i)
        sums[i] = sums[i] * factors + factors;
    return total(sums);
  }

  [[gnu::always_inline]] static float read(const char *data, int64_t bytes) {
    Vector sums[kSums] = {};
    constexpr int64_t stride = kSums * sizeof(Vector);
    for (; bytes >= stride; bytes -= stride, data += stride)
      for (int i = 0; i < kSums; ++i) {
        Vector loaded;
        std::memcpy(&loaded, data + i * sizeof(Vector), sizeof(Vector));
        sums[i] += loaded;
      }
    return total(sums);
  }
};

/// The loops for one kind of vectors.
struct Kind {
  int lanes;
  float (*multiplyAdd)(int64_t steps, float factor);
  float (*read)(const char *data, int64_t bytes);
};
} // namespace

#define ATTNC_KIND(NAME, LANES, ATTRIBUTES)                                                        \
  ATTRIBUTES static float multiplyAdd##NAME(int64_t steps, float factor) {                         \
    return Loops<LANES>::multiplyAdd(steps, factor);                                               \
  }                                                                                                \
  ATTRIBUTES static float read##NAME(const char *data, int64_t bytes) {                            \
    return Loops<LANES>::read(data, bytes);                                                        \
  }                                                                                                \
  static constexpr Kind k##NAME = {LANES, multiplyAdd##NAME, read##NAME};

ATTNC_KIND(Base, 4, )
#if defined(__x86_64__)
ATTNC_KIND(Avx2, 8, __attribute__((target("avx2,fma"))))
ATTNC_KIND(Avx512, 16, __attribute__((target("avx512f"))))
#endif

static Kind findKind() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return kAvx2;
#endif
  return kBase;
}

/// Keeps the loops from being removed.
static volatile float sink;

/// The shortest time of work that is divided among threads.
static double time(unsigned threads, llvm::function_ref<void(unsigned thread)> work) {
  constexpr int kTimes = 5;
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTimes; ++i) {
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (unsigned thread = 1; thread < threads; ++thread)
      others.emplace_back([&, thread] { work(thread); });
    work(0);
    for (std::thread &other : others)
      other.join();
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    shortest = std::min(shortest, passed.count());
  }
  return shortest;
}

MachineLimits mlir::attn::measureLimits(unsigned threads) {
  constexpr int64_t kSteps = 1 << 20, kBytes = 256 << 20;
  Kind kind = findKind();
  double computing =
      time(threads, [&](unsigned) { sink = kind.multiplyAdd(kSteps, /*factor=*/0.5f); });
  std::vector<char> data(kBytes);
  int64_t share = kBytes / threads;
  double reading = time(
      threads, [&](unsigned thread) { sink = kind.read(data.data() + thread * share, share); });
  return {2.0 * kSteps * kSums * kind.lanes * threads / computing,
          double(share * threads) / reading};
}
