//===- TrimLoops.h - loops of a kernel up to their last trip ----*- C++ -*-===//
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

/// A loop of a kernel whose every stage asks whether i < n, for an n that all threads of a block
/// agree upon and that the loop leaves as it is, ends at n and asks no more: what comes behind
/// would wait at the barriers for nothing, and no barrier lies in a condition.
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
  /// What may differ from thread to thread: numbers, lets of them, and their own memory.
  ::Halide::Internal::Scope<> ofThreads;
  std::set<std::string> own;
  /// Of shared memory, in the kernel.
  std::vector<Access> accesses;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_TRIMLOOPS_H
