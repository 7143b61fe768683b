//===- Sums.h - pairwise and interleaved sums -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_REFERENCE_SUMS_H
#define ATTNC_LIB_REFERENCE_SUMS_H

#include "Environment.h"

namespace mlir::attn::reference {

/// Calls `sum` with a zero of the accumulator's type.
template <typename F>
auto withAccumulator(Environment &env, F sum) {
  if (env.getArithmetic() == Arithmetic::Exact)
    return static_cast<double>(sum(double(0)));
  return static_cast<double>(sum(float(0)));
}

/// The most partial sums of `addUp`.
constexpr int64_t kMaxSums = 8;

/// Sums term(i) over begin <= i < end like numpy and BLAS: `numSums` interleaved partial sums, a
/// power of two, added in pairs, with pairwise summation of long ranges, so that the error hardly
/// grows with the length.
template <typename Float, typename F>
Float addUp(int64_t begin, int64_t end, F term, int64_t numSums = 2) {
  constexpr int64_t kShort = 128;
  if (end - begin > kShort) {
    int64_t middle = begin + (end - begin) / 2;
    return addUp<Float>(begin, middle, term, numSums) + addUp<Float>(middle, end, term, numSums);
  }
  Float sums[kMaxSums] = {};
  for (int64_t i = begin; i < end; ++i)
    sums[(i - begin) % numSums] += term(i);
  for (int64_t half = numSums / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      sums[i] += sums[i + half];
  return sums[0];
}

/// Σ x[i · xStride] · y[i · yStride] over `count` elements.
double dot(Environment &env, const Scalar *x, int64_t xStride, const Scalar *y, int64_t yStride,
           int64_t count, int64_t numSums = 2);

} // namespace mlir::attn::reference

#endif // ATTNC_LIB_REFERENCE_SUMS_H
