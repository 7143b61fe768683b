//===- Sums.cpp - pairwise and interleaved sums ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sums.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

double reference::dot(Environment &env, const Scalar *x, int64_t xStride, const Scalar *y,
                      int64_t yStride, int64_t count, int64_t numSums) {
  if (env.getArithmetic() == Arithmetic::PlainReversed) {
    x += (count - 1) * xStride, xStride = -xStride;
    y += (count - 1) * yStride, yStride = -yStride;
  }
  if (env.getArithmetic() == Arithmetic::PlainInOrder)
    numSums = 1;
  if (env.getArithmetic() == Arithmetic::PlainLanes)
    numSums = kMaxSums;
  // The two interleaved sums take the first and the second half.
  bool inHalves = env.getArithmetic() == Arithmetic::PlainHalves && count % 2 == 0;
  auto place = [&](int64_t i) { return inHalves ? i / 2 + i % 2 * (count / 2) : i; };
  return withAccumulator(env, [&](auto zero) {
    using Float = decltype(zero);
    auto product = [&](int64_t i) {
      return Float(x[place(i) * xStride].real) * Float(y[place(i) * yStride].real);
    };
    return addUp<Float>(0, count, product, numSums);
  });
}
