//===- DevicePass.cpp - what Halide leaves to be seen to on a GPU
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePass.h"

#include "attnc/Target/GpuInfo.h"

#include <map>

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

//===----------------------------------------------------------------------===//
// Functions of the C library
//===----------------------------------------------------------------------===//

namespace {

/// Halide's names of what GPUs have.
class DeviceMath : public IRMutator {
public:
  std::string error;

private:
  using IRMutator::visit;
  Stmt visit(const For *loop) override;
  Expr visit(const Call *call) override;

  bool inKernel = false;
};

} // namespace

Stmt DeviceMath::visit(const For *loop) {
  bool wasInKernel = std::exchange(inKernel, inKernel || loop->for_type == ForType::GPUBlock);
  Stmt result = IRMutator::visit(loop);
  inKernel = wasInKernel;
  return result;
}

/// log2 and its like, from what there is.
static Expr composeMath(const std::string &name, const Expr &x) {
  auto scaled = [&](double factor) { return Halide::log(x) * make_const(x.type(), factor); };
  if (name == "log2")
    return scaled(1.4426950408889634);
  if (name == "log10")
    return scaled(0.4342944819032518);
  if (name == "exp2")
    return Halide::exp(x * make_const(x.type(), 0.6931471805599453));
  return {};
}

Expr DeviceMath::visit(const Call *call) {
  static const std::set<std::string> known = {"exp",   "log",   "sin",   "cos",  "tan",  "asin",
                                              "acos",  "atan",  "atan2", "sinh", "cosh", "tanh",
                                              "asinh", "acosh", "atanh", "pow"};
  static const std::set<std::string> unknown = {"erf", "erfc", "expm1", "log1p", "cbrt", "fmod"};
  Expr result = IRMutator::visit(call);
  call = result.as<Call>();
  if (!inKernel || !call || call->call_type != Call::PureExtern || !call->type.is_float())
    return result;
  bool isF32 = call->type.bits() == 32;
  std::string name = call->name;
  if (isF32 && !name.empty() && name.back() == 'f' && !known.count(name) && !unknown.count(name))
    name.pop_back();
  if (known.count(name))
    return Call::make(call->type, name + (isF32 ? "_f32" : "_f64"), call->args, Call::PureExtern);
  if (unknown.count(name) && error.empty())
    error = "expected a function that GPUs have, found " + name;
  Expr composed = call->args.size() == 1 ? composeMath(name, call->args[0]) : Expr();
  return composed.defined() ? composed : result;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

namespace {

/// A read or write of shared memory: elements of an allocation, the func that computes, and
/// the serial loops around, outermost first.
struct Access {
  bool isStore;
  std::string memory, func;
  Interval elements;
  std::vector<const For *> loops;
};

/// Walks over one kernel.
class KernelReader : public IRVisitor {
public:
  std::vector<Access> accesses;
  int64_t sharedBytes = 0, threads = 1;

private:
  using IRVisitor::visit;
  void visit(const For *loop) override;
  void visit(const Allocate *allocate) override;
  void visit(const IfThenElse *op) override;
  void visit(const ProducerConsumer *op) override;
  void visit(const LetStmt *let) override;
  void visit(const Let *let) override;
  void visit(const Load *load) override;
  void visit(const Store *store) override;
  void record(bool isStore, const std::string &memory, const Expr &index);
  template <typename LetOrLetStmt>
  void visitLet(const LetOrLetStmt *let);

  void narrow(const Expr &condition, std::vector<std::string> &narrowed);
  void narrowLets(std::vector<std::string> &narrowed);

  Scope<Interval> bounds;
  /// Those around, outermost first.
  std::vector<std::pair<std::string, Expr>> lets;
  std::set<std::string> shared;
  std::vector<std::string> funcs;
  std::vector<const For *> loops;
};

} // namespace

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

/// Where fewer threads than there are do something, a thread's number is compared with it.
/// Gives the names whose bounds are narrower until they are popped.
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

/// What was computed from those names before the comparison is narrower, too.
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

/// Whether two accesses may touch one element; what is not known may.
static bool overlap(const Access &a, const Access &b) {
  if (a.memory != b.memory)
    return false;
  auto isBefore = [](const Interval &x, const Interval &y) {
    return x.has_upper_bound() && y.has_lower_bound() && can_prove(x.max < y.min);
  };
  return !isBefore(a.elements, b.elements) && !isBefore(b.elements, a.elements);
}

static bool isIn(const Access &access, const For *loop) {
  return std::find(access.loops.begin(), access.loops.end(), loop) != access.loops.end();
}

/// The last write that the read at `position` may see, in the order of the text.
static const Access *findWrite(const std::vector<Access> &accesses, size_t position) {
  for (size_t i = position; i-- > 0;)
    if (accesses[i].isStore && overlap(accesses[i], accesses[position]))
      return &accesses[i];
  return nullptr;
}

/// A loop comes back to each read in it. Where that sees what was written before the loop, no
/// other func may write there in the loop.
static std::string checkLoops(const std::vector<Access> &accesses) {
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access &read = accesses[i];
    const Access *write = read.isStore ? nullptr : findWrite(accesses, i);
    if (!write)
      continue;
    for (const For *loop : read.loops) {
      if (isIn(*write, loop))
        continue;
      for (const Access &other : accesses)
        if (other.isStore && isIn(other, loop) && other.func != write->func && overlap(other, read))
          return "expected shared memory of " + write->func + " to stay as it is in loop " +
                 loop->name + " over it, found " + other.func + " in its place";
    }
  }
  return "";
}

static std::string checkKernel(const For *block) {
  KernelReader kernel;
  block->accept(&kernel);
  auto limit = [](int64_t most, const char *what, int64_t found) {
    return "expected at most " + std::to_string(most) + what + ", found " + std::to_string(found);
  };
  if (kernel.sharedBytes > attn::GpuInfo::kSharedBytes)
    return limit(attn::GpuInfo::kSharedBytes, " bytes of shared memory", kernel.sharedBytes);
  if (kernel.threads > attn::GpuInfo::kMaxThreads)
    return limit(attn::GpuInfo::kMaxThreads, " threads in a block", kernel.threads);
  return checkLoops(kernel.accesses);
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

namespace {
/// Checks the outermost loop of each kernel, and that there is nothing outside.
class Checker : public IRVisitor {
public:
  std::string error;

private:
  using IRVisitor::visit;
  void visit(const Store *store) override {
    if (error.empty())
      error = "expected all of a pipeline on the GPU, found " + store->name +
              " on the CPU; run halide-map-to-gpu first";
  }
  void visit(const For *loop) override {
    if (loop->for_type != ForType::GPUBlock)
      return IRVisitor::visit(loop);
    if (error.empty())
      error = checkKernel(loop);
  }
};
} // namespace

Stmt DevicePass::mutate(const Stmt &stmt) {
  DeviceMath math;
  Stmt result = math.mutate(stmt);
  Checker checker;
  result.accept(&checker);
  error = math.error.empty() ? checker.error : math.error;
  return result;
}
