//===- ReservedShared.h - shared memory that CUDA keeps ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_RESERVEDSHARED_H
#define ATTNC_LIB_TARGET_HALIDE_RESERVEDSHARED_H

#include "Halide.h"

#include <set>

namespace mlir::halide {

/// Halide addresses a CUDA kernel's shared memory from 0 on, where GPUs of capability 9.0 and above
/// keep the first bytes to themselves. Allocations grow by as many, which are not touched.
class ReservedShared : public ::Halide::Internal::IRMutator {
private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Store *store) override;
  ::Halide::Expr visit(const ::Halide::Internal::Load *load) override;

  bool isCuda = false;
  std::set<std::string> shared;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_RESERVEDSHARED_H
