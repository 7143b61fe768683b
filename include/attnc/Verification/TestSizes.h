//===- TestSizes.h - sizes to verify kernels at ------------------*- C++ -*-===//
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

/// Ones; odd sizes; sizes that cross the tiles of kernels; smaller ones of each where these are
/// not `affordable`. Each symbol gets other sizes, unless the spec is not `named`: then only equal
/// ones are sure to fit together. Rows that are appended fit into their caches in `graph`.
std::vector<Dims> chooseDims(
    mlir::func::FuncOp graph, llvm::ArrayRef<Symbol> symbols, bool named, const Dims &given,
    llvm::function_ref<bool(const Dims &)> affordable = [](const Dims &) { return true; });

/// Estimates what a case costs: mostly its inputs and the reference.
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
