//===- ShortFloats.h - f16 and bf16 in kernels as bits -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_SHORTFLOATS_H
#define ATTNC_LIB_TARGET_HALIDE_SHORTFLOATS_H

#include "Halide.h"

namespace mlir::halide {

/// Turns every f16 and bf16 of a kernel into the 16-bit integer of its bits, also those that the
/// host computes for it: these are read, written and converted to f32 by integer arithmetic, which
/// all devices have, or by CUDA's instructions for f16. OpenCL has f16 as an extension and no bf16,
/// and Halide's PTX has no bf16. Computing in f16 or bf16 is reported in `error`.
class ShortFloats : public ::Halide::Internal::IRMutator {
public:
  std::string error;

  using IRMutator::mutate;
  /// An expression of a 16-bit type becomes one of its bits.
  ::Halide::Expr mutate(const ::Halide::Expr &expr) override;

private:
  using IRMutator::visit;
  ::Halide::Expr visit(const ::Halide::Internal::FloatImm *number) override;
  ::Halide::Expr visit(const ::Halide::Internal::Cast *cast) override;
  ::Halide::Expr visit(const ::Halide::Internal::Reinterpret *bits) override;
  ::Halide::Expr visit(const ::Halide::Internal::Variable *var) override;
  ::Halide::Expr visit(const ::Halide::Internal::Load *load) override;
  ::Halide::Expr visit(const ::Halide::Internal::Call *call) override;
  ::Halide::Expr visit(const ::Halide::Internal::Let *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::LetStmt *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;

  /// Lets in a row are not nested calls: there may be thousands.
  template <typename Let, typename Body>
  Body mutateLets(const Let *let, Body body);
  ::Halide::Expr mutateToBits(const ::Halide::Expr &expr);

  bool inKernel = false, onCuda = false;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_SHORTFLOATS_H
