//===- MarkedStores.h - stores beside a func, or under conditions *- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores to a second buffer in the loops of a func. Halide's alternatives don't fit: compute_with
// infers bounds that are too wide inside fused loops, and the buffers of a tuple have equal shapes.
//
// Stores of an update that depend on a loop variable. A `where` on that variable would not do:
// Halide then drops all that the condition says about outer loops.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_MARKEDSTORES_H
#define ATTNC_TARGET_HALIDE_MARKEDSTORES_H

#include "Halide.h"

namespace mlir::halide {

/// `value` in a marker call that MarkedStoresPass replaces by a store of `stored` to `element`
/// where `condition` holds.
::Halide::Expr storeBeside(const ::Halide::Expr &value, const ::Halide::Expr &stored,
                           const ::Halide::Expr &element, const ::Halide::Expr &condition);
/// `value` in a marker call around which MarkedStoresPass puts a branch: it is computed and stored
/// where `condition`, the same for all lanes of a vector, holds.
::Halide::Expr storeWhere(const ::Halide::Expr &value, const ::Halide::Expr &condition);

/// Replaces marker calls in lowered code, where elements are loads.
class MarkedStoresPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::LetStmt *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Store *store) override;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;

  /// Why a marker call could not become a store; empty if all did.
  const std::string &getError() const { return error; }

private:
  /// What `value` stands for, through enclosing lets.
  ::Halide::Expr resolve(::Halide::Expr value) const;
  /// The store that a store_beside asks for.
  ::Halide::Internal::Stmt makeBeside(const ::Halide::Internal::Call *mark);
  ::Halide::Internal::Stmt storeJoined(const std::vector<const ::Halide::Internal::Call *> &marks,
                                       const ::Halide::Internal::Store *own);
  ::Halide::Internal::Stmt branch(const ::Halide::Expr &condition,
                                  const ::Halide::Internal::Stmt &store);

  /// Enclosing lets.
  std::map<std::string, ::Halide::Expr> lets;
  /// The last branch made; lets that only it needs move into it.
  ::Halide::Internal::Stmt lastBranch;
  std::string error;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_MARKEDSTORES_H
