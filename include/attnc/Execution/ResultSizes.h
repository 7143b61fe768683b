//===- ResultSizes.h - computed sizes of results ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_RESULTSIZES_H
#define ATTNC_EXECUTION_RESULTSIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace attnc {

/// The shapes of a graph's results for these shapes of its arguments. Sizes may be sums and
/// products, such as a cache's length plus the appended rows. None if a shape depends on more than
/// sizes.
std::optional<llvm::SmallVector<llvm::SmallVector<int64_t>>>
getResultShapes(mlir::func::FuncOp graph, llvm::ArrayRef<llvm::ArrayRef<int64_t>> arguments);

} // namespace attnc

#endif // ATTNC_EXECUTION_RESULTSIZES_H
