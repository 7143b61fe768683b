//===- FormulaWriter.h - formulas of ops for C headers ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_FORMULAWRITER_H
#define ATTNC_DIALECT_ATTN_FORMULAWRITER_H

#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// Collects the formulas of a graph's ops, in ASCII for C headers.
class FormulaWriter {
public:
  virtual ~FormulaWriter() = default;

  virtual std::string nameOf(Value value) = 0;
  /// The expression that `body` yields, with its arguments called `arguments`.
  virtual std::string write(Region &body, ArrayRef<std::string> arguments) = 0;
  /// The terms of the conjunction that `mask` yields.
  virtual std::vector<std::string> writeConjuncts(Region &mask,
                                                  ArrayRef<std::string> arguments) = 0;

  /// Adds the line `result = formula`. A result without a name of its own is called `role`.
  virtual void add(Value result, StringRef role, const std::string &formula) = 0;
  /// Adds an indented line for a stage of a fused op, which stores no tensor.
  virtual void addStage(const std::string &formula) = 0;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_FORMULAWRITER_H
