//===- BF16Pairs.h - products of pairs of bf16 ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs are 32-bit integers up to the last pass, so that loops are vectorized as those of f32 are:
// Halide's own way to vdpbf16ps, a vectorized reduction of two elements, reads its operands by
// shuffles.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_BF16PAIRS_H
#define ATTNC_LIB_TARGET_HALIDE_BF16PAIRS_H

#include "Halide.h"

namespace mlir::halide {

/// Marker calls that BF16PairsPass replaces: two halves of 16 bits as a pair; acc + a1*b1 + a0*b0;
/// two f32 rounded to a pair, and one rounded to bf16.
::Halide::Expr makeBF16Pair(const ::Halide::Expr &low, const ::Halide::Expr &high);
::Halide::Expr dotBF16Pair(const ::Halide::Expr &acc, const ::Halide::Expr &a,
                           const ::Halide::Expr &b);
::Halide::Expr roundBF16Pair(const ::Halide::Expr &low, const ::Halide::Expr &high);
::Halide::Expr roundBF16(const ::Halide::Expr &x);

/// One load of all elements, if each of `parts` loads every n-th one of n parts, and those of a part
/// follow those of the one before; else an undefined expression.
::Halide::Expr loadInterleaved(const std::vector<::Halide::Expr> &parts);

/// Whether a target's CPU multiplies pairs of bf16 and rounds to bf16.
bool hasBF16Instructions(const ::Halide::Target &target);

/// Replaces marker calls, in lowered code, by what Halide compiles to instructions of the target;
/// by arithmetic on single elements where there are none.
class BF16PairsPass : public ::Halide::Internal::IRMutator {
public:
  explicit BF16PairsPass(const ::Halide::Target &target)
      : hasInstructions(hasBF16Instructions(target)) {}

  using IRMutator::visit;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;

private:
  bool hasInstructions;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_BF16PAIRS_H
