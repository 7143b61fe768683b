//===- BoundStack.cpp - bound the stack of a kernel's temporaries ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundStack.h"

#include "KernelReader.h"

#include "attnc/Target/Halide/Export.h"

#include <algorithm>
#include <tuple>

using mlir::attn::kMaxStackBytes;
using mlir::halide::BoundStackPass;
using mlir::halide::findLoads;
using namespace ::Halide;
using namespace ::Halide::Internal;

//===----------------------------------------------------------------------===//
// Choose temporaries to move
//===----------------------------------------------------------------------===//

/// Bytes of an allocation of constant size, with the padding read beyond it; 0 for other sizes.
static int64_t getConstantBytes(const Allocate *allocate) {
  int64_t elements = allocate->constant_allocation_size();
  return elements > 0 ? (elements + allocate->padding) * allocate->type.bytes() : 0;
}

/// Halide's own bound for one temporary.
static constexpr int64_t kMaxBytesEach = 16 * 1024;

namespace {

/// The temporaries of a kernel that Halide would put on the stack.
struct StackReader : IRVisitor {
  struct Temporary {
    std::string name;
    int64_t bytes; // 0: unknown until called, or too many for the stack
    bool isRegister, isConditional;
    size_t number;
  };
  std::vector<Temporary> temporaries;
  std::map<std::string, unsigned> counts;

  using IRVisitor::visit;
  void visit(const For *loop) override {
    if (loop->for_type != ForType::GPUBlock) // not on the CPU's stack
      IRVisitor::visit(loop);
  }
  void visit(const Allocate *allocate) override;
};

} // namespace

void StackReader::visit(const Allocate *allocate) {
  IRVisitor::visit(allocate);
  ++counts[allocate->name];
  int64_t bytes = getConstantBytes(allocate);
  bool isRegister = allocate->memory_type == MemoryType::Register;
  bool fits = bytes > 0 && bytes <= kMaxBytesEach;
  bool isStack = allocate->memory_type == MemoryType::Stack;
  if (isRegister || isStack || (allocate->memory_type == MemoryType::Auto && fits))
    if (!allocate->new_expr.defined())
      temporaries.push_back({allocate->name, fits || isRegister ? bytes : 0, isRegister,
                             !is_const_one(allocate->condition), temporaries.size()});
}

/// The temporaries to move to the heap: those of unknown size, then the largest; among equals those
/// needed under a condition.
static std::set<std::string> chooseMoved(const StackReader &reader) {
  std::vector<StackReader::Temporary> sorted = reader.temporaries;
  auto rank = [](const StackReader::Temporary &each) {
    return std::tuple(!each.isRegister, each.bytes, each.isConditional, each.number);
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  std::set<std::string> moved;
  int64_t total = 0;
  for (const StackReader::Temporary &temporary : sorted) {
    bool stays = temporary.bytes > 0 && total + temporary.bytes <= kMaxStackBytes;
    if (stays || temporary.isRegister)
      total += temporary.bytes;
    else
      moved.insert(temporary.name);
  }
  return moved;
}

//===----------------------------------------------------------------------===//
// Move and hoist them
//===----------------------------------------------------------------------===//

namespace {

/// Moves temporaries to the heap; hoists those and small registers outside the outermost serial
/// loop of their task that their sizes don't depend on.
class Hoister : public IRMutator {
public:
  Hoister(std::set<std::string> moved, const std::map<std::string, unsigned> &counts)
      : moved(std::move(moved)), counts(counts) {}

  Stmt hoist(const Stmt &kernel) { return place(mutate(kernel), 0); }

private:
  using IRMutator::visit;
  Stmt visit(const Allocate *allocate) override;
  Stmt visit(const Free *op) override;
  Stmt visit(const LetStmt *let) override;
  Stmt visit(const For *loop) override;
  Stmt visit(const IfThenElse *op) override;

  template <typename Holds>
  Stmt place(Stmt body, size_t from, Holds holds);
  Stmt place(Stmt body, size_t from) {
    return place(std::move(body), from, [](const Stmt &) { return true; });
  }

  const std::set<std::string> moved;
  const std::map<std::string, unsigned> &counts;
  /// Hoisted allocations not placed yet, innermost first, with empty bodies.
  std::vector<Stmt> pending;
  std::set<std::string> hoisted;
  bool isInLoop = false;
};

} // namespace

/// Register tiles keep reusing each other's stack: with stack of its own for each, LLVM spills many
/// accumulators of products with paged values.
static bool isSmallRegister(const Allocate *allocate) {
  constexpr int64_t kMaxBytes = 256;
  int64_t bytes = getConstantBytes(allocate);
  return allocate->memory_type == MemoryType::Register && bytes > 0 && bytes <= kMaxBytes;
}

static Stmt makeAllocate(const Allocate *allocate, MemoryType memory, std::vector<Expr> extents,
                         Stmt body) {
  return Allocate::make(allocate->name, allocate->type, memory, extents, allocate->condition,
                        std::move(body), Expr(), "", allocate->padding);
}

/// Whether `value` is computed from variables alone.
static bool usesOnlyVariables(const Expr &value) {
  return is_pure(value) && findLoads(value).empty();
}

static bool usesVariable(const Stmt &allocation, const std::string &name) {
  const Allocate *allocate = allocation.as<Allocate>();
  return std::any_of(allocate->extents.begin(), allocate->extents.end(),
                     [&](const Expr &extent) { return expr_uses_var(extent, name); });
}

/// Wraps `body` into the pending allocations from number `from` on for which `holds` is true.
template <typename Holds>
Stmt Hoister::place(Stmt body, size_t from, Holds holds) {
  std::vector<Stmt> rest(pending.begin(), pending.begin() + from);
  for (size_t i = from; i < pending.size(); ++i) {
    const Allocate *allocate = pending[i].as<Allocate>();
    if (holds(pending[i]))
      body = makeAllocate(allocate, allocate->memory_type, allocate->extents, body);
    else
      rest.push_back(pending[i]);
  }
  pending = std::move(rest);
  return body;
}

Stmt Hoister::visit(const Allocate *allocate) {
  bool isMoved = moved.count(allocate->name);
  if (!isMoved && !isSmallRegister(allocate))
    return IRMutator::visit(allocate);
  MemoryType memory = isMoved ? MemoryType::Heap : MemoryType::Register;
  bool canHoist =
      counts.at(allocate->name) == 1 && is_const_one(allocate->condition) &&
      std::all_of(allocate->extents.begin(), allocate->extents.end(), usesOnlyVariables);
  if (canHoist)
    hoisted.insert(allocate->name);
  Stmt body = mutate(allocate->body);
  if (!canHoist)
    return makeAllocate(allocate, memory, allocate->extents, body);
  pending.push_back(makeAllocate(allocate, memory, allocate->extents, Evaluate::make(0)));
  return body;
}

/// Hoisted allocations stay alive.
Stmt Hoister::visit(const Free *op) {
  return hoisted.count(op->name) ? Evaluate::make(0) : Stmt(op);
}

Stmt Hoister::visit(const LetStmt *let) {
  size_t before = pending.size();
  Expr value = mutate(let->value);
  Stmt body = mutate(let->body);
  auto uses = [&](const Stmt &allocation) { return usesVariable(allocation, let->name); };
  if (!usesOnlyVariables(value))
    return LetStmt::make(let->name, value, place(body, before, uses));
  for (size_t i = before; i < pending.size(); ++i) {
    const Allocate *allocate = pending[i].as<Allocate>();
    std::vector<Expr> extents;
    for (const Expr &extent : allocate->extents)
      extents.push_back(substitute(let->name, value, extent));
    pending[i] = makeAllocate(allocate, allocate->memory_type, extents, allocate->body);
  }
  return LetStmt::make(let->name, value, body);
}

Stmt Hoister::visit(const For *loop) {
  if (loop->for_type == ForType::GPUBlock)
    return loop;
  size_t before = pending.size();
  bool isTask = loop->is_parallel();
  bool wasInLoop = std::exchange(isInLoop, !isTask);
  Stmt body = place(mutate(loop->body), before, [&](const Stmt &allocation) {
    return isTask || usesVariable(allocation, loop->name);
  });
  isInLoop = wasInLoop;
  return For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy,
                   loop->device_api, body);
}

/// A branch that a task doesn't take does not allocate its temporaries.
Stmt Hoister::visit(const IfThenElse *op) {
  if (isInLoop)
    return IRMutator::visit(op);
  auto visitBranch = [&](const Stmt &branch) {
    size_t before = pending.size();
    return branch.defined() ? place(mutate(branch), before) : Stmt();
  };
  Stmt then = visitBranch(op->then_case);
  return IfThenElse::make(op->condition, then, visitBranch(op->else_case));
}

Stmt BoundStackPass::mutate(const Stmt &kernel) {
  StackReader reader;
  kernel.accept(&reader);
  return Hoister(chooseMoved(reader), reader.counts).hoist(kernel);
}
