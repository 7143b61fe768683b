//===- Cost.h - operations and bytes of a group -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_COST_H
#define ATTNC_TOOLS_ATTNC_COST_H

#include "attnc/Dialect/Attn/Sizes.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace attnc {

/// A sum of products of sizes: `512·batch·q_len·kv_len`.
class Polynomial {
public:
  /// A number or a symbol.
  struct Factor {
    int64_t number = 1;
    std::string symbol;
  };
  void add(int64_t coefficient, llvm::ArrayRef<Factor> factors);
  void add(const Polynomial &other);
  bool isZero() const { return terms.empty(); }
  /// Its value for these sizes; none where it has a symbol that `getSize` doesn't know.
  std::optional<double>
  evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> getSize) const;
  /// Rounded where it is a number: `2.15 G`.
  std::string str() const;
  /// A number, or the formula where it has symbols.
  llvm::json::Value json() const;

private:
  std::string formula() const;
  std::optional<double> number() const;

  std::map<std::vector<std::string>, double> terms;
};

/// What computing one op takes.
struct Cost {
  /// Multiplications and additions of its matrix products.
  Polynomial flops;
  /// Operands read once, results written once.
  Polynomial bytes;
};

class CostModel {
public:
  explicit CostModel(mlir::func::FuncOp function) : tracer(function) {}
  Cost get(mlir::Operation *op);
  /// `f32[batch, 8, len, 64]`
  std::string describe(mlir::Value tensor);
  /// A size as a number or a symbol; `?` where it is computed.
  std::string describeSize(mlir::Value tensor, int64_t dim);

private:
  Polynomial::Factor getSize(mlir::Value tensor, int64_t dim);
  llvm::SmallVector<Polynomial::Factor> getSizes(mlir::Value tensor);

  mlir::attn::SizeTracer tracer;
};

/// Those of all ops of a graph.
Polynomial countFlops(mlir::func::FuncOp function);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_COST_H
