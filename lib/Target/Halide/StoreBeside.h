//===- StoreBeside.h - stores beside a func's own ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores to a second buffer in the loops of a func. Halide's alternatives don't fit: compute_with
// infers bounds that are too wide inside fused loops, and the buffers of a tuple have equal shapes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_STOREBESIDE_H
#define ATTNC_TARGET_HALIDE_STOREBESIDE_H

#include "Halide.h"

namespace mlir::halide {

/// `value` in a marker call that StoreBesidePass replaces by a store of `stored` to `element` where
/// `condition` holds.
::Halide::Expr storeBeside(const ::Halide::Expr &value, const ::Halide::Expr &stored,
                           const ::Halide::Expr &element, const ::Halide::Expr &condition);

/// Replaces marker calls by stores, in lowered code, where elements are loads.
class StoreBesidePass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::LetStmt *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Store *store) override;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;

  /// Why a marker call could not become a store; empty if all did.
  const std::string &getError() const { return error; }

private:
  /// The load behind `element`, through enclosing lets; null if there is none.
  const ::Halide::Internal::Load *findElement(::Halide::Expr element) const;

  /// Enclosing lets.
  std::map<std::string, ::Halide::Expr> lets;
  std::string error;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_STOREBESIDE_H
