//===- FetchAhead.h - prefetches of input elements --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide's own prefetches cover all that a loop reads some iterations later. These are part of an
// expression anywhere in the pipeline, and of any one element.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_FETCHAHEAD_H
#define ATTNC_TARGET_HALIDE_FETCHAHEAD_H

#include "Halide.h"

namespace mlir::halide {

/// `value`, marked to prefetch `element`.
::Halide::Expr fetchAhead(const ::Halide::Expr &value, const ::Halide::Expr &element);

/// Turns the marks into prefetches, once elements have become loads from memory.
class FetchAheadPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;
};

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_FETCHAHEAD_H
