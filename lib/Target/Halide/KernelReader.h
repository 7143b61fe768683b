//===- KernelReader.h - shared memory of a GPU kernel -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_KERNELREADER_H
#define ATTNC_LIB_TARGET_HALIDE_KERNELREADER_H

#include "Halide.h"

#include <set>

namespace mlir::halide {

/// A read or write of shared memory: elements of an allocation, the func being computed, and the
/// enclosing serial loops, outermost first.
struct Access {
  bool isStore;
  std::string memory, func;
  ::Halide::Internal::Interval elements;
  std::vector<const ::Halide::Internal::For *> loops;
};

/// Collects the shared memory and accesses of one kernel.
class KernelReader : public ::Halide::Internal::IRVisitor {
public:
  std::vector<Access> accesses;
  int64_t sharedBytes = 0, threads = 1;

private:
  using IRVisitor::visit;
  void visit(const ::Halide::Internal::For *loop) override;
  void visit(const ::Halide::Internal::Allocate *allocate) override;
  void visit(const ::Halide::Internal::IfThenElse *op) override;
  void visit(const ::Halide::Internal::ProducerConsumer *op) override;
  void visit(const ::Halide::Internal::LetStmt *let) override;
  void visit(const ::Halide::Internal::Let *let) override;
  void visit(const ::Halide::Internal::Load *load) override;
  void visit(const ::Halide::Internal::Store *store) override;
  void record(bool isStore, const std::string &memory, const ::Halide::Expr &index);
  template <typename LetOrLetStmt>
  void visitLet(const LetOrLetStmt *let);

  void narrow(const ::Halide::Expr &condition, std::vector<std::string> &narrowed);
  void narrowLets(std::vector<std::string> &narrowed);

  ::Halide::Internal::Scope<::Halide::Internal::Interval> bounds;
  /// Enclosing lets, outermost first.
  std::vector<std::pair<std::string, ::Halide::Expr>> lets;
  std::set<std::string> shared;
  std::vector<std::string> funcs;
  std::vector<const ::Halide::Internal::For *> loops;
};

/// The allocations that `stmt` writes.
std::set<std::string> findStored(const ::Halide::Internal::Stmt &stmt);

/// The loads in `value`.
std::vector<const ::Halide::Internal::Load *> findLoads(const ::Halide::Expr &value);

/// Whether two accesses may touch the same element; unknown ones may.
bool overlap(const Access &a, const Access &b);

/// Whether an access is part of `loop`.
bool isIn(const Access &access, const ::Halide::Internal::For *loop);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_KERNELREADER_H
