//===- RegisterLets.cpp - registers as values -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterLets.h"

#include <algorithm>
#include <functional>
#include <optional>

using namespace ::Halide;
using namespace ::Halide::Internal;

namespace {
/// Neighbouring elements of an allocation.
struct Elements {
  int64_t first, count;
  int64_t end() const { return first + count; }
};

/// The accesses to one allocation.
class Accesses : public IRVisitor {
public:
  explicit Accesses(const std::string &name) : name(name) {}

  /// Whether all are at constant places, each element is stored once at most, all stores are in
  /// straight-line code, and loads read what was stored before.
  bool areStraight = true;
  std::vector<Elements> stored;

private:
  using IRVisitor::visit;
  void visit(const Store *store) override;
  void visit(const Load *load) override;
  void visit(const Variable *variable) override { areStraight &= variable->name != name; }
  void visit(const For *loop) override { visitBranch(loop); }
  void visit(const IfThenElse *op) override { visitBranch(op); }
  void visit(const Atomic *op) override { visitBranch(op); }
  void visit(const Fork *op) override { visitBranch(op); }
  void visit(const Acquire *op) override { visitBranch(op); }
  void visit(const LetStmt *let) override { visitBranch(let); }
  void visit(const Allocate *allocate) override { visitBranch(allocate); }
  template <typename Branch>
  void visitBranch(const Branch *branch) {
    ++branches;
    IRVisitor::visit(branch);
    --branches;
  }

  const std::string &name;
  int64_t branches = 0;
};

/// Turns the rest of an allocation's body into lets and what they enclose.
class ToLets : public IRMutator {
public:
  explicit ToLets(const std::string &name) : name(name) {}
  /// `stmt`, then `rest`, which reads what `stmt` stores.
  Stmt convert(const Stmt &stmt, const std::function<Stmt()> &rest);

private:
  using IRMutator::visit;
  Expr visit(const Load *load) override;
  Stmt visit(const Free *free) override;

  const std::string &name;
  std::vector<std::pair<Elements, Expr>> lets;
};
} // namespace

static std::optional<Elements> getElements(const Expr &index, const Expr &predicate) {
  if (!is_const_one(predicate))
    return std::nullopt;
  const Ramp *ramp = index.as<Ramp>();
  if (ramp && !is_const_one(ramp->stride))
    return std::nullopt;
  auto first = as_const_int(ramp ? ramp->base : index);
  if (!first || (!ramp && index.type().is_vector()))
    return std::nullopt;
  return Elements{*first, index.type().lanes()};
}

void Accesses::visit(const Store *store) {
  IRVisitor::visit(store);
  if (store->name != name)
    return;
  auto at = getElements(store->index, store->predicate);
  auto overlaps = [&](const Elements &other) {
    return other.first < at->end() && at->first < other.end();
  };
  if (!at || branches > 0 || std::any_of(stored.begin(), stored.end(), overlaps))
    areStraight = false;
  else
    stored.push_back(*at);
}

void Accesses::visit(const Load *load) {
  IRVisitor::visit(load);
  if (load->name != name)
    return;
  auto at = getElements(load->index, load->predicate);
  int64_t known = 0;
  for (const Elements &each : at ? stored : std::vector<Elements>())
    known +=
        std::max<int64_t>(0, std::min(each.end(), at->end()) - std::max(each.first, at->first));
  areStraight &= at && known == at->count;
}

/// Elements `at` of values that hold all of them.
static Expr select(std::vector<std::pair<Elements, Expr>> values, Elements at) {
  std::sort(values.begin(), values.end(),
            [](const auto &a, const auto &b) { return a.first.first < b.first.first; });
  std::vector<Expr> parts;
  for (const auto &[of, value] : values) {
    int64_t first = std::max(of.first, at.first), end = std::min(of.end(), at.end());
    if (first >= end)
      continue;
    bool isWhole = end - first == of.count;
    parts.push_back(
        isWhole ? value : Shuffle::make_slice(value, int(first - of.first), 1, int(end - first)));
  }
  return parts.size() == 1 ? parts.front() : Shuffle::make_concat(parts);
}

Expr ToLets::visit(const Load *load) {
  if (load->name != name)
    return IRMutator::visit(load);
  return select(lets, *getElements(load->index, load->predicate));
}

Stmt ToLets::visit(const Free *free) {
  return free->name == name ? Evaluate::make(0) : IRMutator::visit(free);
}

Stmt ToLets::convert(const Stmt &stmt, const std::function<Stmt()> &rest) {
  if (const Block *block = stmt.as<Block>())
    return convert(block->first, [&] { return convert(block->rest, rest); });
  if (const ProducerConsumer *op = stmt.as<ProducerConsumer>())
    return convert(op->body, rest);
  if (const Store *store = stmt.as<Store>(); store && store->name == name) {
    Expr value = mutate(store->value);
    std::string let = unique_name(name + ".value");
    lets.emplace_back(*getElements(store->index, store->predicate),
                      Variable::make(value.type(), let));
    Stmt body = rest();
    return body.defined() ? LetStmt::make(let, value, body) : Evaluate::make(0);
  }
  Stmt mutated = mutate(stmt), after = rest();
  return after.defined() ? Block::make(mutated, after) : mutated;
}

Stmt mlir::halide::RegisterLetsPass::visit(const Allocate *allocate) {
  if (allocate->memory_type != MemoryType::Register || allocate->new_expr.defined())
    return IRMutator::visit(allocate);
  Accesses accesses(allocate->name);
  allocate->body.accept(&accesses);
  if (!accesses.areStraight || accesses.stored.empty())
    return IRMutator::visit(allocate);
  return mutate(ToLets(allocate->name).convert(allocate->body, [] { return Stmt(); }));
}
