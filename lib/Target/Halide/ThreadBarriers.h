//===- ThreadBarriers.h - drop redundant barriers ----------------*- C++ -*-===//
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

/// Halide puts a barrier after each stage of a kernel. If a thread accesses only its own registers
/// and read-only memory between two barriers, the second one is redundant and dropped, unless it
/// makes more memory visible. Each remaining barrier also fences shared memory: Halide omits that
/// if a stage only reads memory that the next one writes, but OpenCL orders reads by fences, too.
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
  /// Memory private to each thread, and memory written in the kernel.
  std::set<std::string> privateMemory, written;
  /// The memory that the last barrier made visible; none if a thread has accessed memory other than
  /// its own since.
  std::optional<int64_t> lastBarrier;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_THREADBARRIERS_H
