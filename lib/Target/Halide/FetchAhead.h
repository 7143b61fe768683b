//===- FetchAhead.h - prefetches of input elements --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prefetches of single elements, as part of any expression. Halide's own `prefetch` directive
// covers the whole region that a loop reads some iterations later.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_FETCHAHEAD_H
#define ATTNC_TARGET_HALIDE_FETCHAHEAD_H

#include "Halide.h"

namespace mlir::halide {

/// `value` in a marker call that FetchAheadPass replaces by a prefetch of `element`; `locality` as
/// in `halide.fetch_ahead`.
::Halide::Expr fetchAhead(const ::Halide::Expr &value, const ::Halide::Expr &element, int locality);

/// Replaces marker calls by prefetches, in lowered code, where elements are loads.
class FetchAheadPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;
  ::Halide::Expr visit(const ::Halide::Internal::Let *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::LetStmt *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;

private:
  ::Halide::Expr widen(const ::Halide::Expr &index) const;
  ::Halide::Expr getAddress(const ::Halide::Internal::Load &load) const;
  bool isFirstOfLine(const ::Halide::Internal::Load &load);

  /// Enclosing lets, outermost first.
  std::vector<std::pair<std::string, ::Halide::Expr>> lets;
  /// What the innermost loop's body prefetches: tensor, and index without lets.
  std::vector<std::pair<std::string, ::Halide::Expr>> fetched;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_FETCHAHEAD_H
