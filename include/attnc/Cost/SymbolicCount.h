//===- SymbolicCount.h - FLOPs and bytes in symbols -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_COST_SYMBOLICCOUNT_H
#define ATTNC_COST_SYMBOLICCOUNT_H

#include "attnc/Dialect/Attn/Sizes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// A number of FLOPs or bytes as a sum of products of sizes, to be printed:
/// `512·batch·q_len·kv_len`. Coefficients are doubles, so that none overflows.
class SymbolicCount {
public:
  /// A number, or a sum of symbols.
  struct Factor {
    int64_t number = 1;
    std::optional<mlir::attn::SizeSum> sum;
  };
  void add(double coefficient, llvm::ArrayRef<Factor> factors);
  void add(const SymbolicCount &other);
  bool isZero() const { return terms.empty(); }
  /// Evaluates it for these sizes of symbols; none if `getSize` returns none for one.
  std::optional<double>
  evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> getSize) const;
  /// Formats it; a plain number is rounded: `2.15 G`.
  std::string str() const;
  /// A number, or the formula if it has symbols.
  llvm::json::Value json() const;

private:
  std::string formula(llvm::StringRef times) const;
  std::optional<double> number() const;

  /// Coefficients of products of sums, which are spelled out.
  std::map<std::vector<std::string>, double> terms;
  /// The sums by spelling.
  std::map<std::string, mlir::attn::SizeSum> sums;
};

} // namespace attnc

#endif // ATTNC_COST_SYMBOLICCOUNT_H
