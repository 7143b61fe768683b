//===- BF16Tiles.h - products of bf16 matrices ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide's own way to tiles of AMX takes single tiles of 16 x 16: every operand is loaded for one
// product. attnc_multiply_tiles shares them among four.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_BF16TILES_H
#define ATTNC_LIB_TARGET_HALIDE_BF16TILES_H

#include "Halide.h"

#include <string>

namespace mlir::halide {

/// A marker call: the value of an update whose loops BF16TilesPass replaces. See
/// halide.dot_bf16_tiles.
::Halide::Expr dotBF16Tiles(const ::Halide::Expr &acc, const ::Halide::Expr &a,
                            const ::Halide::Expr &b, const ::Halide::Expr &rows,
                            const ::Halide::Expr &depth);

/// Replaces loops over rows, columns and pairs around a marker call, in lowered code, by a call of
/// attnc_multiply_tiles.
class BF16TilesPass : public ::Halide::Internal::IRMutator {
public:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;

  /// Why a marker call is not in such loops; empty if all were.
  const std::string &getError() const { return error; }

private:
  std::string error;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_BF16TILES_H
