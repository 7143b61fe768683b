//===- RegisterLets.cpp - registers as values -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterLets.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace ::Halide;
using namespace ::Halide::Internal;

namespace {
/// Elements of an allocation, by place.
using Places = std::vector<int64_t>;

/// The accesses to one allocation.
class Accesses : public IRVisitor {
public:
  explicit Accesses(const std::string &name) : name(name) {}

  /// Whether all are at constant places, each element is stored once at most, all stores are in
  /// straight-line code, and no load reads what is stored after it.
  bool areStraight = true;
  std::set<int64_t> stored;

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
  void visit(const Allocate *allocate) override { visitBranch(allocate); }
  template <typename Branch>
  void visitBranch(const Branch *branch) {
    ++branches;
    IRVisitor::visit(branch);
    --branches;
  }

  const std::string &name;
  int64_t branches = 0;
  /// What loads read that was not stored: padding of vectors.
  std::set<int64_t> padding;
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
  Expr visit(const Shuffle *shuffle) override;
  Stmt visit(const Free *free) override;
  Expr read(const Places &places) const;
  bool isRead(const Expr &value) const {
    const Load *load = value.as<Load>();
    return load && load->name == name;
  }

  const std::string &name;
  /// What was stored, and where.
  std::vector<std::pair<Places, Expr>> lets;
};
} // namespace

/// The places that an index of constants names, vectors of vectors among them; else none.
static Places getPlaces(const Expr &index) {
  if (auto place = as_const_int(index))
    return {*place};
  Places places;
  if (const Ramp *ramp = index.as<Ramp>()) {
    Places base = getPlaces(ramp->base), stride = getPlaces(ramp->stride);
    for (int i = 0; i < ramp->lanes && !stride.empty(); ++i)
      for (size_t lane = 0; lane < base.size(); ++lane)
        places.push_back(base[lane] + i * stride[lane]);
  } else if (const Broadcast *broadcast = index.as<Broadcast>()) {
    for (int i = 0; i < broadcast->lanes; ++i)
      for (int64_t place : getPlaces(broadcast->value))
        places.push_back(place);
  }
  return places;
}

void Accesses::visit(const Store *store) {
  IRVisitor::visit(store);
  if (store->name != name)
    return;
  Places places = getPlaces(store->index);
  areStraight &= !places.empty() && is_const_one(store->predicate) && branches == 0;
  for (int64_t place : places)
    areStraight &= stored.insert(place).second && padding.count(place) == 0;
}

void Accesses::visit(const Load *load) {
  IRVisitor::visit(load);
  if (load->name != name)
    return;
  Places places = getPlaces(load->index);
  areStraight &= !places.empty() && is_const_one(load->predicate);
  for (int64_t place : places)
    if (stored.count(place) == 0)
      padding.insert(place);
  areStraight &= padding.size() < places.size();
}

Expr ToLets::visit(const Load *load) {
  return load->name == name ? read(getPlaces(load->index)) : IRMutator::visit(load);
}

/// Halide adds whole vectors, and takes every other sum of them.
Expr ToLets::visit(const Shuffle *shuffle) {
  const Expr &of = shuffle->vectors.front();
  bool isOfOne = shuffle->vectors.size() == 1;
  if (const Add *add = of.as<Add>(); isOfOne && add && isRead(add->a) && isRead(add->b))
    return mutate(Shuffle::make({add->a}, shuffle->indices)) +
           mutate(Shuffle::make({add->b}, shuffle->indices));
  if (!isOfOne || !isRead(of))
    return IRMutator::visit(shuffle);
  Places places, all = getPlaces(of.as<Load>()->index);
  for (int lane : shuffle->indices)
    places.push_back(all[lane]);
  return read(places);
}

/// A shuffle of those lets alone that have these elements.
Expr ToLets::read(const Places &places) const {
  std::vector<Expr> read;
  std::vector<int> lanes(places.size());
  int first = 0;
  for (const auto &[stored, value] : lets) {
    bool isRead = false;
    for (size_t lane = 0; lane < places.size(); ++lane) {
      auto at = std::find(stored.begin(), stored.end(), places[lane]);
      if (at == stored.end())
        continue;
      lanes[lane] = first + int(at - stored.begin());
      isRead = true;
    }
    if (!isRead)
      continue;
    read.push_back(value);
    first += int(stored.size());
  }
  bool isWhole = read.size() == 1 && int(lanes.size()) == first;
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    isWhole &= lanes[lane] == int(lane);
  return isWhole ? read.front() : Shuffle::make(read, lanes);
}

Stmt ToLets::visit(const Free *free) {
  return free->name == name ? Evaluate::make(0) : IRMutator::visit(free);
}

Stmt ToLets::convert(const Stmt &stmt, const std::function<Stmt()> &rest) {
  if (const Block *block = stmt.as<Block>())
    return convert(block->first, [&] { return convert(block->rest, rest); });
  if (const ProducerConsumer *op = stmt.as<ProducerConsumer>())
    return convert(op->body, rest);
  if (const LetStmt *let = stmt.as<LetStmt>())
    return LetStmt::make(let->name, mutate(let->value), convert(let->body, rest));
  if (const Store *store = stmt.as<Store>(); store && store->name == name) {
    Expr value = mutate(store->value);
    std::string let = unique_name(name + ".value");
    lets.emplace_back(getPlaces(store->index), Variable::make(value.type(), let));
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
