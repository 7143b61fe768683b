//===- TestSizes.h - sizes to verify kernels at -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VERIFICATION_TESTSIZES_H
#define ATTNC_VERIFICATION_TESTSIZES_H

#include "attnc/Cost/Cost.h"
#include "attnc/Execution/Sizes.h"

namespace attnc {

/// Chooses ones, odd sizes, and sizes that exceed a query block or KV block, each smaller if not
/// `affordable`. Symbols get different sizes if the spec is `named`; otherwise equal ones, since
/// only those are sure to match. Appended rows fit into their caches in `graph`.
std::vector<Dims> chooseDims(
    mlir::func::FuncOp graph, llvm::ArrayRef<Symbol> symbols, bool named, const Dims &given,
    llvm::function_ref<bool(const Dims &)> affordable = [](const Dims &) { return true; });

/// Estimates the cost of a case, mostly of its inputs and the reference.
class WorkEstimate {
public:
  explicit WorkEstimate(mlir::func::FuncOp graph);
  /// In multiplications.
  double get(const Dims &dims) const;

private:
  Cost cost;
};

} // namespace attnc

#endif // ATTNC_VERIFICATION_TESTSIZES_H
