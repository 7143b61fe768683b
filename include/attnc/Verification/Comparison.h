//===- Comparison.h - compare results with the reference -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VERIFICATION_COMPARISON_H
#define ATTNC_VERIFICATION_COMPARISON_H

#include "attnc/Verification/Expected.h"

namespace attnc {

struct Comparison {
  /// The largest error of an element, and the largest one allowed.
  double error = 0, allowed = 0;
  /// Number of NaN or infinities that are unexpected or missing.
  int64_t misplaced = 0;

  bool isGood() const { return misplaced == 0 && error <= allowed; }
};

/// `ours` has the shape of `expected`.
Comparison compare(const Tensor &ours, const Expected &expected);

} // namespace attnc

#endif // ATTNC_VERIFICATION_COMPARISON_H
