//===- ThreadBarriers.h - barriers that order nothing ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_THREADBARRIERS_H
#define ATTNC_LIB_TARGET_HALIDE_THREADBARRIERS_H

#include "Halide.h"

#include <optional>
#include <set>

namespace mlir::halide {

/// Halide puts a barrier behind each stage of a kernel. Where a thread touches nothing between two
/// of them but its own registers, and what nobody writes, the second one orders nothing that the
/// first has not, and is dropped unless it makes more visible. Each of the others is a fence for
/// shared memory as well: Halide leaves that out where a stage only reads what the next one writes
/// to, but OpenCL orders reads by fences, too.
class ThreadBarriers : public ::Halide::Internal::IRMutator {
private:
  using IRMutator::visit;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::For *loop) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::IfThenElse *branch) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Allocate *allocate) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Evaluate *evaluate) override;
  ::Halide::Internal::Stmt visit(const ::Halide::Internal::Store *store) override;
  ::Halide::Expr visit(const ::Halide::Internal::Load *load) override;

  bool inKernel = false;
  /// What threads of the kernel have for themselves, and what is written in it.
  std::set<std::string> own, written;
  /// The memory that the last barrier made visible; nothing where a thread has touched what is
  /// not its own since.
  std::optional<int64_t> lastBarrier;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_THREADBARRIERS_H
