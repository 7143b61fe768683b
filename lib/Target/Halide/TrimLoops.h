//===- TrimLoops.h - end kernel loops early ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_TRIMLOOPS_H
#define ATTNC_LIB_TARGET_HALIDE_TRIMLOOPS_H

#include "KernelReader.h"

#include <vector>

namespace mlir::halide {

/// If every stage in a kernel's loop is guarded by i < n, and n is the same for all threads of a
/// block and constant in the loop, the loop ends at n and the guards go: later iterations would
/// only wait at barriers, and no barrier may be in a condition.
class TrimLoops : public ::Halide::Internal::IRMutator {
private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::LetStmt *let) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;

  bool isConstantIn(const ::Halide::Expr &bound, const ::Halide::Internal::For *loop,
                    const ::Halide::Internal::Scope<> &defined,
                    const std::set<std::string> &written) const;

  bool inKernel = false;
  /// Values that may differ between threads: thread numbers, lets that use them, and private
  /// memory.
  ::Halide::Internal::Scope<> threadVarying;
  std::set<std::string> privateMemory;
  /// Accesses of shared memory in the kernel.
  std::vector<Access> accesses;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_TRIMLOOPS_H
