//===- I8Quads.h - products of four bytes -----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide's own way to vpdpbusd, a vectorized reduction of four elements, can't read a quad that all
// lanes share. So kernels compute with quads, and this pass replaces them in lowered code.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_I8QUADS_H
#define ATTNC_LIB_TARGET_HALIDE_I8QUADS_H

#include "Halide.h"

namespace mlir::halide {

/// Marker calls that I8QuadsPass replaces: four bytes as an i32; acc + the sum of the products of
/// the bytes of `a`, unsigned, and of `b`, signed.
::Halide::Expr makeI8Quad(const std::vector<::Halide::Expr> &bytes);
::Halide::Expr dotI8Quad(const ::Halide::Expr &acc, const ::Halide::Expr &a,
                         const ::Halide::Expr &b);

/// Replaces marker calls, in lowered code, by what Halide compiles to instructions of the target;
/// by products of 16 bits where there are none.
class I8QuadsPass : public ::Halide::Internal::IRMutator {
public:
  explicit I8QuadsPass(const ::Halide::Target &target);

  using IRMutator::visit;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;

private:
  bool hasInstruction;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_I8QUADS_H
