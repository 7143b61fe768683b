//===- Scalars.h - a region's arithmetic as a formula -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_EXPLAIN_SCALARS_H
#define ATTNC_LIB_EXPLAIN_SCALARS_H

#include "mlir/IR/Region.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <string>
#include <vector>

namespace attnc {

/// Writes the scalar ops of a region as an expression, `score + slope[head] * (k - q)`, without
/// type conversions.
class ScalarWriter {
public:
  /// `nameOf` names tensors, `sizeOf` the sizes of their dims.
  ScalarWriter(std::function<std::string(mlir::Value)> nameOf,
               std::function<std::string(mlir::Value, int64_t)> sizeOf)
      : nameOf(std::move(nameOf)), sizeOf(std::move(sizeOf)) {}

  /// The expression that `body` yields, with its arguments called `arguments`. A long one becomes
  /// `some function of` its inputs.
  std::string write(mlir::Region &body, llvm::ArrayRef<std::string> arguments);
  /// The terms of a mask's conjunction, common ones with their name: `k <= q (causal, top-left
  /// aligned)`.
  std::vector<std::string> writeConjuncts(mlir::Region &mask,
                                          llvm::ArrayRef<std::string> arguments);

private:
  /// A text and the precedence of its outermost operator.
  struct Text {
    std::string text;
    int binding;
  };
  void start(mlir::Region &body, llvm::ArrayRef<std::string> arguments);
  std::string writeWhole(mlir::Value value);
  std::string listLeaves(mlir::Value value);
  std::string write(mlir::Value value, int outer);
  Text write(mlir::Value value);
  Text write(mlir::Operation *op);
  std::string call(llvm::StringRef function, mlir::ValueRange operands);
  Text infix(mlir::Operation *op, llvm::StringRef symbol, int binding);
  std::string extract(mlir::Value tensor, mlir::ValueRange indices);

  std::function<std::string(mlir::Value)> nameOf;
  std::function<std::string(mlir::Value, int64_t)> sizeOf;
  llvm::DenseMap<mlir::Value, std::string> names;
  /// How many ops may still be written.
  int budget = 0;
};

} // namespace attnc

#endif // ATTNC_LIB_EXPLAIN_SCALARS_H
