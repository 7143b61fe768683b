//===- MarkedStores.cpp - stores beside a func, or under conditions ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MarkedStores.h"

#include "KernelReader.h"

using namespace ::Halide;
using namespace ::Halide::Internal;
using mlir::halide::MarkedStoresPass;

static constexpr char kBesideMark[] = "store_beside", kWhereMark[] = "store_where";

Expr mlir::halide::storeBeside(const Expr &value, const Expr &stored, const Expr &element,
                               const Expr &condition) {
  return Call::make(value.type(), kBesideMark, {value, stored, element, condition},
                    Call::PureExtern);
}

Expr mlir::halide::storeWhere(const Expr &value, const Expr &condition) {
  return Call::make(value.type(), kWhereMark, {value, condition}, Call::PureExtern);
}

static bool isMark(const Call *call) {
  return call->name == kBesideMark || call->name == kWhereMark;
}

/// The marker call that a store of `value` stores: `value` itself, inside of lets, or a store_where
/// that is the same in all lanes. Null otherwise.
static const Call *findMark(Expr value) {
  while (const Let *let = value.as<Let>())
    value = let->body;
  const Broadcast *same = value.as<Broadcast>();
  const Call *call = (same ? same->value : value).as<Call>();
  bool isFound = call && (same ? call->name == kWhereMark : isMark(call));
  return isFound ? call : nullptr;
}

/// The store_beside calls whose lanes a store's `value` joins: Halide may have split one by lanes.
static std::vector<const Call *> findJoined(const Expr &value) {
  std::vector<const Call *> marks;
  const Shuffle *joined = value.as<Shuffle>();
  for (const Expr &part : joined ? joined->vectors : std::vector<Expr>()) {
    const Call *mark = part.as<Call>();
    if (!mark || mark->name != kBesideMark)
      return {};
    marks.push_back(mark);
  }
  return marks;
}

static Stmt withValue(const Store *store, const Expr &value) {
  return Store::make(store->name, value, store->index, store->param, store->predicate,
                     store->alignment);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// The index of all lanes of a load within `element`, which Halide may have split by lanes;
/// undefined if there is none.
static Expr getIndex(const Expr &element) {
  if (const Let *let = element.as<Let>()) {
    Expr index = getIndex(let->body);
    return index.defined() ? Let::make(let->name, let->value, index) : Expr();
  }
  std::vector<const Load *> loads = mlir::halide::findLoads(element);
  const Shuffle *joined = element.as<Shuffle>();
  if (!joined)
    return loads.empty() ? Expr() : loads.front()->index;
  std::vector<Expr> indices;
  for (const Expr &part : joined->vectors) {
    indices.push_back(getIndex(part));
    if (!indices.back().defined() || indices.back().type().lanes() != part.type().lanes())
      return Expr();
  }
  return Shuffle::make(indices, joined->indices);
}

/// A vector's condition is a mask of lanes; a scalar's is a branch.
static Stmt makeStore(const Load *load, const Expr &index, const Expr &stored,
                      const Expr &condition) {
  bool isBranch = condition.type().is_scalar();
  Expr lanes = isBranch ? const_true(stored.type().lanes()) : condition;
  Stmt store = Store::make(load->name, stored, index, load->param, lanes, ModulusRemainder());
  return isBranch && !is_const_one(condition) ? IfThenElse::make(condition, store) : store;
}

Expr MarkedStoresPass::resolve(Expr value) const {
  for (const Variable *name = value.as<Variable>(); name; name = value.as<Variable>()) {
    auto let = lets.find(name->name);
    if (let == lets.end())
      break;
    value = let->second;
  }
  return value;
}

Stmt MarkedStoresPass::makeBeside(const Call *mark) {
  Expr element = resolve(mark->args[2]);
  Expr index = getIndex(element);
  if (index.defined() && index.type().lanes() == mark->args[1].type().lanes())
    return makeStore(findLoads(element).front(), index, mark->args[1], mark->args[3]);
  error = "expected store_beside to an element of a buffer, found another expression";
  return Evaluate::make(0);
}

Stmt MarkedStoresPass::storeJoined(const std::vector<const Call *> &marks, const Store *own) {
  std::vector<Expr> values;
  std::vector<Stmt> stores;
  for (const Call *mark : marks) {
    stores.push_back(makeBeside(mark));
    values.push_back(mark->args[0]);
  }
  stores.push_back(withValue(own, Shuffle::make(values, own->value.as<Shuffle>()->indices)));
  return Block::make(stores);
}

Stmt MarkedStoresPass::branch(const Expr &condition, const Stmt &store) {
  Expr ofLanes = resolve(condition);
  if (const Broadcast *same = ofLanes.as<Broadcast>())
    ofLanes = resolve(same->value);
  if (is_const_one(ofLanes))
    return store;
  if (is_const_zero(ofLanes))
    return Evaluate::make(0);
  if (ofLanes.type().is_vector()) {
    error = "expected store_where on a condition that is the same for all lanes of a vector";
    return store;
  }
  return lastBranch = IfThenElse::make(ofLanes, store);
}

Stmt MarkedStoresPass::visit(const Store *store) {
  if (std::vector<const Call *> joined = findJoined(store->value); !joined.empty())
    return storeJoined(joined, store);
  const Call *mark = findMark(store->value);
  if (!mark)
    return IRMutator::visit(store);
  if (const Let *let = store->value.as<Let>())
    return mutate(LetStmt::make(let->name, let->value, withValue(store, let->body)));
  if (mark->name == kBesideMark)
    return Block::make(makeBeside(mark), withValue(store, mark->args[0]));
  const Broadcast *same = store->value.as<Broadcast>();
  Expr value = same ? Broadcast::make(mark->args[0], same->lanes) : mark->args[0];
  return branch(mark->args[1], withValue(store, value));
}

//===----------------------------------------------------------------------===//
// What encloses them
//===----------------------------------------------------------------------===//

/// A let may bind a marker call that several stores share: each takes the call itself.
Stmt MarkedStoresPass::visit(const LetStmt *let) {
  if (findMark(let->value))
    return mutate(substitute(let->name, let->value, let->body));
  lets[let->name] = let->value;
  Stmt result = IRMutator::visit(let);
  lets.erase(let->name);
  const LetStmt *outer = result.as<LetStmt>();
  if (!outer || !lastBranch.defined() || !outer->body.same_as(lastBranch))
    return result;
  const IfThenElse *inner = lastBranch.as<IfThenElse>();
  if (expr_uses_var(inner->condition, outer->name))
    return result;
  Stmt body = LetStmt::make(outer->name, outer->value, inner->then_case);
  return lastBranch = IfThenElse::make(inner->condition, body);
}

Expr MarkedStoresPass::visit(const Call *call) {
  if (isMark(call))
    error = "expected a func with " + call->name + " to be stored, found it inlined";
  return IRMutator::visit(call);
}
