//===- ProbRegion.h - analysis of prob regions ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_PROBREGION_H
#define ATTNC_DIALECT_ATTN_PROBREGION_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::attn {

/// A region over (prob, batch, head, q, k), as of `attn.modify_prob`.
class ProbRegion {
public:
  explicit ProbRegion(Region &body);

  /// Whether it multiplies the prob by a factor independent of it: only then may it run before
  /// normalisation. Replacing NaN by zero counts as linear: if one prob of a row is NaN, all are.
  bool isLinear() const { return isLinear(yielded); }
  /// Whether a NaN prob becomes zero.
  bool zeroesNaN() const { return guarded.contains(yielded); }

private:
  bool isLinear(Value value) const;
  bool isGuarded(Value value) const;
  bool isFree(Value value) const { return !dependent.contains(value); }
  bool readsProb(Operation &op) const;
  bool keeps(Operation &op, function_ref<bool(Value)> hasProperty) const;
  /// The value that `op` replaces by zero if it is NaN; null if `op` is no such guard.
  Value getGuarded(Operation &op) const;

  Value yielded;
  llvm::DenseSet<Value> dependent, linear, guarded;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_PROBREGION_H
