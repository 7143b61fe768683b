//===- FormulaWriter.h - what an op computes, for people --------*- C++ -*-===//
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

/// Takes the formulas of a graph's ops, in ASCII: they stand in C headers.
class FormulaWriter {
public:
  virtual ~FormulaWriter() = default;

  virtual std::string nameOf(Value value) = 0;
  /// What `body` yields, where its arguments are called `arguments`.
  virtual std::string write(Region &body, ArrayRef<std::string> arguments) = 0;
  /// The parts of the conjunction that `mask` yields.
  virtual std::vector<std::string> writeConjuncts(Region &mask,
                                                  ArrayRef<std::string> arguments) = 0;

  /// Adds the line `result = formula`. A result without a name of its own is called `role`.
  virtual void add(Value result, StringRef role, const std::string &formula) = 0;
  /// Adds a line below, for a part of the op that stores nothing.
  virtual void addPart(const std::string &formula) = 0;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_FORMULAWRITER_H
