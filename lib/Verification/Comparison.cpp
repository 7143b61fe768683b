//===- Comparison.cpp - compare results with the reference ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Verification/Comparison.h"

#include <cmath>

using namespace mlir;
using namespace attnc;

/// The largest finite number of a type: results that exceed it by an allowed error may be infinite.
static double getLargest(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType ? APFloat::getLargest(floatType.getFloatSemantics()).convertToDouble()
                   : INFINITY;
}

Comparison attnc::compare(const Tensor &ours, const Expected &expected) {
  Comparison comparison;
  comparison.allowed = expected.getAllowed();
  const double limit = getLargest(ours.getElementType()) - comparison.allowed;
  for (int64_t at = 0; at < ours.size(); ++at) {
    double wanted = expected.getWanted(at), plain = expected.getWorstPlain(at),
           found = ours.get(at);
    if (std::isfinite(wanted) && std::isfinite(plain)) {
      if (std::isfinite(found))
        comparison.error = std::max(comparison.error, std::abs(found - wanted));
      else
        comparison.misplaced +=
            std::abs(wanted) <= limit || found != std::copysign(INFINITY, wanted);
    } else if (isSameSpecial(wanted, plain)) {
      comparison.misplaced += !isSameSpecial(wanted, found);
    } // else the rounding decides whether it overflows
  }
  return comparison;
}
