//===- StoreBeside.h - stores beside a func's own ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A func of Halide's writes one buffer. Two are written in the same loops by compute_with, whose
// bounds are too wide inside fused loops, or by a tuple, whose buffers have the same dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_STOREBESIDE_H
#define ATTNC_TARGET_HALIDE_STOREBESIDE_H

#include "Halide.h"

namespace mlir::halide {

/// `value`, with a mark that `stored` takes the place of `element` where `condition` holds.
::Halide::Expr storeBeside(const ::Halide::Expr &value, const ::Halide::Expr &stored,
                           const ::Halide::Expr &element, const ::Halide::Expr &condition);

/// Makes stores of the marks, when elements have become loads from memory.
class StoreBesidePass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::LetStmt *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Store *store) override;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;

  /// Why a mark could not become a store; empty where all did.
  const std::string &getError() const { return error; }

private:
  /// The load that `element` is, or that a let around is for it; null where there is none.
  const ::Halide::Internal::Load *findElement(::Halide::Expr element) const;

  /// Those around.
  std::map<std::string, ::Halide::Expr> lets;
  std::string error;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_STOREBESIDE_H
