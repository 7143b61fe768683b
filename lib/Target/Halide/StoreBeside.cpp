//===- StoreBeside.cpp - stores beside a func's own -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreBeside.h"

#include "KernelReader.h"

using namespace ::Halide;
using namespace ::Halide::Internal;

static constexpr char kMark[] = "store_beside";

Expr mlir::halide::storeBeside(const Expr &value, const Expr &stored, const Expr &element,
                               const Expr &condition) {
  return Call::make(value.type(), kMark, {value, stored, element, condition}, Call::PureExtern);
}

/// A vector's condition is a mask of lanes; a scalar's is a branch.
static Stmt makeStore(const Load *place, const Expr &stored, const Expr &condition) {
  bool isBranch = condition.type().is_scalar();
  Expr lanes = isBranch ? const_true(stored.type().lanes()) : condition;
  Stmt store =
      Store::make(place->name, stored, place->index, place->param, lanes, ModulusRemainder());
  return isBranch && !is_const_one(condition) ? IfThenElse::make(condition, store) : store;
}

const Load *mlir::halide::StoreBesidePass::findElement(Expr element) const {
  for (const Variable *name = element.as<Variable>(); name; name = element.as<Variable>()) {
    auto let = lets.find(name->name);
    if (let == lets.end())
      return nullptr;
    element = let->second;
  }
  std::vector<const Load *> loads = findLoads(element);
  return loads.empty() ? nullptr : loads.front();
}

Stmt mlir::halide::StoreBesidePass::visit(const LetStmt *let) {
  lets[let->name] = let->value;
  Stmt result = IRMutator::visit(let);
  lets.erase(let->name);
  return result;
}

/// The marker call that `value` is, inside of lets; null otherwise.
static const Call *findMark(Expr value) {
  while (const Let *let = value.as<Let>())
    value = let->body;
  const Call *call = value.as<Call>();
  return call && call->name == kMark ? call : nullptr;
}

Stmt mlir::halide::StoreBesidePass::visit(const Store *store) {
  const Call *mark = findMark(store->value);
  if (!mark)
    return IRMutator::visit(store);
  if (const Let *let = store->value.as<Let>()) {
    Stmt inner = Store::make(store->name, let->body, store->index, store->param, store->predicate,
                             store->alignment);
    return mutate(LetStmt::make(let->name, let->value, inner));
  }
  const Load *element = findElement(mark->args[2]);
  if (!element) {
    error = "expected store_beside to an element of a buffer, found another expression";
    return store;
  }
  Stmt own = Store::make(store->name, mark->args[0], store->index, store->param, store->predicate,
                         store->alignment);
  return Block::make(makeStore(element, mark->args[1], mark->args[3]), own);
}

Expr mlir::halide::StoreBesidePass::visit(const Call *call) {
  if (call->name == kMark)
    error = "expected a func with store_beside to be stored, found it inlined";
  return IRMutator::visit(call);
}
