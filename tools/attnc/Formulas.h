//===- Formulas.h - what a graph computes, for people -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_FORMULAS_H
#define ATTNC_TOOLS_ATTNC_FORMULAS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace attnc {

/// What a function on tensors computes, a line an op, by the names of its arguments and results:
/// `prob = softmax(score)`. What stands under a line is indented.
std::vector<std::string> writeFormulas(mlir::func::FuncOp graph);

/// How the attentions of a fused graph are computed, in a sentence; empty where there are none.
std::string summarizeFusion(mlir::func::FuncOp graph);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_FORMULAS_H
