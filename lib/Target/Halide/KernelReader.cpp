//===- KernelReader.cpp - shared memory of a GPU kernel -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelReader.h"

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

void KernelReader::visit(const For *loop) {
  loop->min.accept(this);
  loop->extent.accept(this);
  bool isThread = loop->for_type == ForType::GPUThread;
  if (auto extent = as_const_int(simplify(loop->extent)); extent && isThread)
    threads *= *extent;
  Interval min = bounds_of_expr_in_scope(loop->min, bounds);
  Interval max = bounds_of_expr_in_scope(loop->min + loop->extent - 1, bounds);
  ScopedBinding<Interval> bind(bounds, loop->name, Interval(min.min, max.max));
  bool isSerial = loop->for_type == ForType::Serial;
  if (isSerial)
    loops.push_back(loop);
  loop->body.accept(this);
  if (isSerial)
    loops.pop_back();
}

void KernelReader::visit(const Allocate *allocate) {
  if (allocate->memory_type == MemoryType::GPUShared) {
    shared.insert(allocate->name);
    sharedBytes += int64_t(allocate->constant_allocation_size()) * allocate->type.bytes();
  }
  IRVisitor::visit(allocate);
}

void KernelReader::visit(const ProducerConsumer *op) {
  if (!op->is_producer)
    return IRVisitor::visit(op);
  funcs.push_back(op->name);
  IRVisitor::visit(op);
  funcs.pop_back();
}

/// Narrows the bounds of variables that `condition` compares, such as the thread number in code for
/// fewer threads. Appends their names to `narrowed`; the caller pops them.
void KernelReader::narrow(const Expr &condition, std::vector<std::string> &narrowed) {
  if (const And *both = condition.as<And>()) {
    narrow(both->a, narrowed);
    return narrow(both->b, narrowed);
  }
  if (const Variable *var = condition.as<Variable>())
    for (size_t i = lets.size(); i-- > 0;)
      if (lets[i].first == var->name)
        return narrow(lets[i].second, narrowed);
  const LT *less = condition.as<LT>();
  const Variable *var = less ? less->a.as<Variable>() : nullptr;
  if (!var || !bounds.contains(var->name))
    return;
  Interval known = bounds.get(var->name);
  bounds.push(var->name, Interval(known.min, Interval::make_min(known.max, less->b - 1)));
  narrowed.push_back(var->name);
}

/// Narrows the bounds of lets computed from those names as well.
void KernelReader::narrowLets(std::vector<std::string> &narrowed) {
  Scope<> changed;
  for (const std::string &name : narrowed)
    changed.push(name);
  for (const auto &[name, value] : lets) {
    if (changed.contains(name) || !expr_uses_vars(value, changed))
      continue;
    bounds.push(name, bounds_of_expr_in_scope(value, bounds));
    changed.push(name);
    narrowed.push_back(name);
  }
}

void KernelReader::visit(const IfThenElse *op) {
  op->condition.accept(this);
  std::vector<std::string> narrowed;
  narrow(op->condition, narrowed);
  narrowLets(narrowed);
  op->then_case.accept(this);
  for (const std::string &name : narrowed)
    bounds.pop(name);
  if (op->else_case.defined())
    op->else_case.accept(this);
}

template <typename LetOrLetStmt>
void KernelReader::visitLet(const LetOrLetStmt *let) {
  let->value.accept(this);
  ScopedBinding<Interval> bind(bounds, let->name, bounds_of_expr_in_scope(let->value, bounds));
  lets.emplace_back(let->name, let->value);
  let->body.accept(this);
  lets.pop_back();
}

void KernelReader::visit(const LetStmt *let) { visitLet(let); }
void KernelReader::visit(const Let *let) { visitLet(let); }

void KernelReader::record(bool isStore, const std::string &memory, const Expr &index) {
  if (!shared.count(memory))
    return;
  Interval elements = bounds_of_expr_in_scope(index, bounds);
  if (elements.has_lower_bound())
    elements.min = simplify(elements.min);
  if (elements.has_upper_bound())
    elements.max = simplify(elements.max);
  accesses.push_back({isStore, memory, funcs.empty() ? "" : funcs.back(), elements, loops});
}

void KernelReader::visit(const Load *load) {
  IRVisitor::visit(load);
  record(/*isStore=*/false, load->name, load->index);
}

void KernelReader::visit(const Store *store) {
  IRVisitor::visit(store);
  record(/*isStore=*/true, store->name, store->index);
}

bool mlir::halide::overlap(const Access &a, const Access &b) {
  if (a.memory != b.memory)
    return false;
  auto isBefore = [](const Interval &x, const Interval &y) {
    return x.has_upper_bound() && y.has_lower_bound() && can_prove(x.max < y.min);
  };
  return !isBefore(a.elements, b.elements) && !isBefore(b.elements, a.elements);
}

bool mlir::halide::isIn(const Access &access, const For *loop) {
  return std::find(access.loops.begin(), access.loops.end(), loop) != access.loops.end();
}

std::set<std::string> mlir::halide::findStored(const Stmt &stmt) {
  struct Finder : IRVisitor {
    std::set<std::string> names;
    using IRVisitor::visit;
    void visit(const Store *store) override {
      names.insert(store->name);
      IRVisitor::visit(store);
    }
  };
  Finder finder;
  stmt.accept(&finder);
  return finder.names;
}

std::vector<const Load *> mlir::halide::findLoads(const Expr &value) {
  struct Finder : IRVisitor {
    std::vector<const Load *> loads;
    using IRVisitor::visit;
    void visit(const Load *load) override {
      loads.push_back(load);
      IRVisitor::visit(load);
    }
  };
  Finder finder;
  value.accept(&finder);
  return finder.loads;
}
