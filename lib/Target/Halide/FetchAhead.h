//===- FetchAhead.h - elements of inputs that are needed later --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide's own prefetches are of what a loop reads some trips later, all of it at once. These are
// part of an expression, wherever in the pipeline that stands, and of any element.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_FETCHAHEAD_H
#define ATTNC_TARGET_HALIDE_FETCHAHEAD_H

#include "Halide.h"

namespace mlir::halide {

/// `value`, with a mark that `element` is fetched.
::Halide::Expr fetchAhead(const ::Halide::Expr &value, const ::Halide::Expr &element);

/// Makes prefetches of the marks, when elements have become loads from memory.
class FetchAheadPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_FETCHAHEAD_H
