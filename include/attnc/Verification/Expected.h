//===- Expected.h - reference results and allowed errors ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule for errors: a kernel may be twice as far from float64 as the worst plain computation
// in the same types, and 4 eps of the largest result on top.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VERIFICATION_EXPECTED_H
#define ATTNC_VERIFICATION_EXPECTED_H

#include "attnc/Execution/Graph.h"

namespace attnc {

/// One result by the reference.
struct Expected {
  /// In float64.
  mlir::attn::reference::Array exact;
  /// By plain computations in the spec's types, in several orders.
  std::vector<mlir::attn::reference::Array> plain;

  int64_t size() const { return exact.size(); }
  double getWanted(int64_t at) const;
  /// The plain result furthest from the exact one.
  double getWorstPlain(int64_t at) const;
  /// The largest error allowed in any element.
  double getAllowed() const;
};

/// The graph's results on these inputs.
mlir::FailureOr<std::vector<Expected>> expectResults(Graph &graph, llvm::ArrayRef<Tensor> inputs);

/// Whether both are NaN, or equal.
bool isSameSpecial(double x, double y);

} // namespace attnc

#endif // ATTNC_VERIFICATION_EXPECTED_H
