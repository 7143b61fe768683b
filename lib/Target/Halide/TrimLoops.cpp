//===- TrimLoops.cpp - end kernel loops early -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrimLoops.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

namespace {
/// Collects the upper bounds that a loop variable is compared with, and the variables defined in
/// the loop.
struct LoopReader : IRVisitor {
  explicit LoopReader(std::string trip) : trip(std::move(trip)) {}

  std::string trip;
  std::vector<Expr> bounds;
  Scope<> defined;

  using IRVisitor::visit;
  void visit(const LT *less) override {
    const Variable *var = less->a.as<Variable>();
    if (var && var->name == trip)
      bounds.push_back(less->b);
    IRVisitor::visit(less);
  }
  void visit(const For *loop) override {
    defined.push(loop->name);
    IRVisitor::visit(loop);
  }
  void visit(const LetStmt *let) override {
    defined.push(let->name);
    IRVisitor::visit(let);
  }
  void visit(const Let *let) override {
    defined.push(let->name);
    IRVisitor::visit(let);
  }
};
} // namespace

/// Whether all threads see the same value of `bound`, before the loop and in each iteration.
bool TrimLoops::isConstantIn(const Expr &bound, const For *loop, const Scope<> &defined,
                             const std::set<std::string> &written) const {
  if (expr_uses_vars(bound, threadVarying) || expr_uses_vars(bound, defined) ||
      expr_uses_var(bound, loop->name))
    return false;
  std::vector<const Load *> loads = findLoads(bound);
  return std::all_of(loads.begin(), loads.end(), [&](const Load *load) {
    if (privateMemory.count(load->name))
      return false;
    if (!written.count(load->name))
      return true;
    Access read = {false, load->name, "", Interval::single_point(load->index), {}};
    bool isShared = false, isWritten = false;
    for (const Access &access : accesses) {
      isShared |= access.memory == load->name;
      isWritten |= access.isStore && isIn(access, loop) && overlap(access, read);
    }
    return isShared && !isWritten; // accesses of other memory are not recorded
  });
}

Stmt TrimLoops::visit(const For *loop) {
  if (loop->for_type == ForType::GPUBlock && !inKernel) {
    KernelReader kernel;
    loop->accept(&kernel);
    accesses = kernel.accesses;
    ScopedValue<bool> within(inKernel, true);
    return IRMutator::visit(loop);
  }
  if (loop->for_type == ForType::GPUThread) {
    ScopedBinding<> bind(threadVarying, loop->name);
    return IRMutator::visit(loop);
  }
  if (!inKernel || loop->for_type != ForType::Serial)
    return IRMutator::visit(loop);
  Stmt body = mutate(loop->body);
  Expr trip = Variable::make(Int(32), loop->name);
  LoopReader reader(loop->name);
  loop->body.accept(&reader);
  std::set<std::string> written = findStored(loop->body);
  for (const Expr &bound : reader.bounds) {
    if (!isConstantIn(bound, loop, reader.defined, written))
      continue;
    Expr isNeeded = trip < bound;
    if (!findStored(simplify(substitute(isNeeded, const_false(), body))).empty())
      continue;
    return For::make(loop->name, loop->min, min(loop->extent, simplify(bound - loop->min)),
                     loop->for_type, loop->partition_policy, loop->device_api,
                     simplify(substitute(isNeeded, const_true(), body)));
  }
  return For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy,
                   loop->device_api, body);
}

Stmt TrimLoops::visit(const LetStmt *let) {
  bool isThreadVarying = expr_uses_vars(let->value, threadVarying);
  for (const Load *load : findLoads(let->value))
    isThreadVarying |= privateMemory.count(load->name) != 0;
  ScopedBinding<> bind(isThreadVarying, threadVarying, let->name);
  return IRMutator::visit(let);
}

Stmt TrimLoops::visit(const Allocate *allocate) {
  if (inKernel && allocate->memory_type != MemoryType::GPUShared)
    privateMemory.insert(allocate->name);
  return IRMutator::visit(allocate);
}
