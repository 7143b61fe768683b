//===- ThreadRegisters.cpp - split register arrays among threads ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadRegisters.h"

#include <map>
#include <optional>
#include <set>

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

using Threads = std::vector<std::pair<std::string, int64_t>>;

namespace {

/// Collects the elements of one allocation that threads access, then renumbers them.
class ThreadElements : public IRMutator {
public:
  ThreadElements(const std::string &memory, const Threads &threads)
      : memory(memory), threads(threads) {}

  /// The elements that thread 0 accesses.
  std::set<int64_t> thread0Elements;
  /// The stride of each loop over threads.
  std::vector<int64_t> steps;
  /// Whether all accesses are linear with these strides.
  bool isLinear = true;
  bool isRenumbering = false;

private:
  using IRMutator::visit;
  Stmt visit(const LetStmt *let) override { return visitLet<Stmt>(let); }
  Expr visit(const Let *let) override { return visitLet<Expr>(let); }
  Expr visit(const Load *load) override;
  Stmt visit(const Store *store) override;
  Stmt visit(const IfThenElse *branch) override;
  template <typename Result, typename LetOrLetStmt>
  Result visitLet(const LetOrLetStmt *let);
  double countVariables(const Expr &expr) const;
  Expr withLets(Expr expr) const;
  std::set<std::string> findThread0Only(const Expr &condition) const;
  std::optional<int64_t> find(Expr index);
  Expr renumber(const Expr &index);

  const std::string &memory;
  const Threads &threads;
  std::vector<std::pair<std::string, Expr>> lets;
  /// The variables of each let's value, counted without lets.
  std::map<std::string, double> sizes;
  /// Loops over threads whose thread 0 alone runs this code: Halide may have substituted 0 for
  /// their number.
  std::set<std::string> thread0Only;
};

} // namespace

template <typename Result, typename LetOrLetStmt>
Result ThreadElements::visitLet(const LetOrLetStmt *let) {
  Expr value = mutate(let->value);
  sizes[let->name] = std::max(1.0, countVariables(let->value));
  lets.emplace_back(let->name, let->value);
  Result body = mutate(let->body);
  lets.pop_back();
  return LetOrLetStmt::make(let->name, value, body);
}

Expr ThreadElements::visit(const Load *load) {
  if (load->name != memory)
    return IRMutator::visit(load);
  return Load::make(load->type, load->name, renumber(load->index), load->image, load->param,
                    mutate(load->predicate), load->alignment);
}

Stmt ThreadElements::visit(const Store *store) {
  if (store->name != memory)
    return IRMutator::visit(store);
  return Store::make(store->name, mutate(store->value), renumber(store->index), store->param,
                     mutate(store->predicate), store->alignment);
}

/// How many variables `expr` would have without lets.
double ThreadElements::countVariables(const Expr &expr) const {
  class Count : public IRVisitor {
  public:
    explicit Count(const std::map<std::string, double> &sizes) : sizes(sizes) {}
    double count = 0;

  private:
    using IRVisitor::visit;
    void visit(const Variable *var) override {
      auto let = sizes.find(var->name);
      count += let == sizes.end() ? 1 : let->second;
    }
    const std::map<std::string, double> &sizes;
  } variables(sizes);
  expr.accept(&variables);
  return variables.count;
}

/// `expr` without lets; as it is if they would make it large, which nothing about threads does.
Expr ThreadElements::withLets(Expr expr) const {
  constexpr double kMostVariables = 10000;
  if (countVariables(expr) > kMostVariables)
    return expr;
  for (size_t i = lets.size(); i-- > 0;)
    expr = substitute(lets[i].first, lets[i].second, expr);
  return expr;
}

/// The loops over threads for which `condition` holds for thread 0 alone.
std::set<std::string> ThreadElements::findThread0Only(const Expr &condition) const {
  std::set<std::string> found;
  Expr whole = withLets(condition);
  for (const auto &[thread, extent] : threads) {
    Scope<Interval> others;
    others.push(thread, Interval(1, int(extent) - 1));
    if (extent > 1 && is_const_zero(simplify(whole, true, others)))
      found.insert(thread);
  }
  return found;
}

Stmt ThreadElements::visit(const IfThenElse *branch) {
  Expr condition = mutate(branch->condition);
  std::set<std::string> before = thread0Only;
  thread0Only.merge(findThread0Only(branch->condition));
  Stmt thenCase = mutate(branch->then_case), elseCase;
  thread0Only = std::move(before);
  if (branch->else_case.defined())
    elseCase = mutate(branch->else_case);
  return IfThenElse::make(condition, thenCase, elseCase);
}

namespace {
/// Simplifies (64·x + y + 16) % 64 to (y + 16) % 64, which Halide's simplifier doesn't.
class WithoutMultiples : public IRMutator {
  using IRMutator::visit;
  static Expr drop(const Expr &sum, const Expr &modulus) {
    if (const Add *add = sum.as<Add>())
      return drop(add->a, modulus) + drop(add->b, modulus);
    const Mul *mul = sum.as<Mul>();
    return mul && is_const_zero(simplify(mul->b % modulus)) ? make_zero(sum.type()) : sum;
  }
  Expr visit(const Mod *mod) override {
    return is_const(mod->b) ? drop(mutate(mod->a), mod->b) % mod->b : IRMutator::visit(mod);
  }
};
} // namespace

/// The element that thread 0 accesses at `index`, if `index` is linear in the thread numbers with
/// the same strides as all others.
std::optional<int64_t> ThreadElements::find(Expr index) {
  index = WithoutMultiples().mutate(withLets(index));
  std::map<std::string, Expr> zeros;
  Scope<Interval> numbers;
  for (const auto &[thread, extent] : threads) {
    zeros[thread] = 0;
    numbers.push(thread, Interval(0, int(extent) - 1));
    if (thread0Only.count(thread))
      index = substitute(thread, make_zero(Int(32)), index);
  }
  auto first = as_const_int(simplify(substitute(zeros, index)));
  if (!first)
    return {};
  Expr linear = make_const(Int(32), *first);
  std::vector<int64_t> found;
  for (const auto &[thread, extent] : threads) {
    if (thread0Only.count(thread)) {
      found.push_back(steps.empty() ? 0 : steps[found.size()]);
      continue;
    }
    std::map<std::string, Expr> one = zeros;
    one[thread] = 1;
    auto second = as_const_int(simplify(substitute(one, index)));
    found.push_back(second && extent > 1 ? *second - *first : 0);
    linear += Variable::make(Int(32), thread) * int(found.back());
  }
  bool isSame = steps.empty() || steps == found;
  steps = found;
  return isSame && is_const_zero(simplify(index - linear, true, numbers)) ? first : std::nullopt;
}

Expr ThreadElements::renumber(const Expr &index) {
  std::optional<int64_t> element = find(index);
  isLinear &= element.has_value();
  if (!element)
    return index;
  if (!isRenumbering)
    thread0Elements.insert(*element);
  return int(std::distance(thread0Elements.begin(), thread0Elements.find(*element)));
}

/// Whether threads access disjoint elements.
static bool areDisjoint(const std::set<int64_t> &thread0Elements, const std::vector<int64_t> &steps,
                        const Threads &threads) {
  std::vector<int64_t> starts = {0};
  for (size_t i = 0; i < threads.size(); ++i) {
    std::vector<int64_t> more;
    for (int64_t start : starts)
      for (int64_t n = 0; n < threads[i].second; ++n)
        more.push_back(start + n * steps[i]);
    starts = std::move(more);
  }
  std::set<int64_t> taken;
  for (int64_t start : starts)
    for (int64_t element : thread0Elements)
      if (!taken.insert(start + element).second)
        return false;
  return true;
}

/// The loops over threads within `body`; Halide has fused them to one per dimension.
static Threads findThreads(const Stmt &body) {
  struct Finder : IRVisitor {
    Threads threads;
    using IRVisitor::visit;
    void visit(const For *loop) override {
      if (loop->for_type == ForType::GPUThread)
        threads.emplace_back(loop->name, as_const_int(simplify(loop->extent)).value_or(0));
      IRVisitor::visit(loop);
    }
  };
  Finder finder;
  body.accept(&finder);
  return finder.threads;
}

Stmt ThreadRegisters::visit(const For *loop) {
  bool wasOutside = isOutside;
  isOutside &= loop->for_type != ForType::GPUThread;
  Stmt result = IRMutator::visit(loop);
  isOutside = wasOutside;
  return result;
}

Stmt ThreadRegisters::visit(const Allocate *allocate) {
  Stmt result = IRMutator::visit(allocate);
  allocate = result.as<Allocate>();
  if (!isOutside || allocate->memory_type != MemoryType::Register)
    return result;
  Threads threads = findThreads(allocate->body);
  ThreadElements elements(allocate->name, threads);
  elements.mutate(allocate->body);
  if (!elements.isLinear || !areDisjoint(elements.thread0Elements, elements.steps, threads)) {
    if (error.empty())
      error = "expected each thread to access only its own elements of " + allocate->name +
              " in registers, found others";
    return result;
  }
  elements.isRenumbering = true;
  return Allocate::make(allocate->name, allocate->type, allocate->memory_type,
                        {Expr(int(elements.thread0Elements.size()))}, allocate->condition,
                        elements.mutate(allocate->body));
}
