//===- Formulas.h - a graph as formulas -------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXPLAIN_FORMULAS_H
#define ATTNC_EXPLAIN_FORMULAS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace attnc {

/// The formulas of a function on tensors, one line per op, with the names of its arguments and
/// results: `prob = softmax(score)`. Stages of a fused op are indented below it. ASCII.
std::vector<std::string> writeFormulas(mlir::func::FuncOp graph);

/// Whether the attentions of a fused graph are fused, in a sentence; empty where there are none.
std::string summarizeFusion(mlir::func::FuncOp graph);

} // namespace attnc

#endif // ATTNC_EXPLAIN_FORMULAS_H
