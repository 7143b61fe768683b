//===- FetchAhead.cpp - prefetches of input elements ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FetchAhead.h"

#include "KernelReader.h"

using namespace ::Halide;
using namespace ::Halide::Internal;

static constexpr char kMark[] = "fetch_ahead";

Expr mlir::halide::fetchAhead(const Expr &value, const Expr &element, int locality) {
  return Call::make(value.type(), kMark, {value, element, locality}, Call::PureExtern);
}

static Expr getFirstLane(const Expr &index) {
  if (const Ramp *ramp = index.as<Ramp>())
    return getFirstLane(ramp->base);
  if (const Broadcast *broadcast = index.as<Broadcast>())
    return getFirstLane(broadcast->value);
  return index.type().is_scalar() ? index : Shuffle::make_extract_element(index, 0);
}

/// In 64 bits, so that what stands still in a loop is computed before it; no index overflows.
Expr mlir::halide::FetchAheadPass::widen(const Expr &index) const {
  if (const Variable *variable = index.as<Variable>())
    for (const auto &[name, value] : lets)
      if (name == variable->name && (value.as<Add>() || value.as<Mul>()))
        return widen(value);
  if (const Add *add = index.as<Add>())
    return widen(add->a) + widen(add->b);
  if (const Mul *mul = index.as<Mul>())
    return widen(mul->a) * widen(mul->b);
  return cast(Int(64), index);
}

Expr mlir::halide::FetchAheadPass::getAddress(const Load &load) const {
  Expr base = reinterpret(UInt(64), Variable::make(Handle(), load.name));
  Expr index = cast(UInt(64), widen(getFirstLane(load.index)));
  return reinterpret(Handle(), base + index * load.type.bytes());
}

/// Halide's own prefetches fill the L1 cache alone, of which a core of Zen 4 has too few in flight:
/// 10 GB/s of shuffled 8 KB, where those that fill the L2 cache read 20. Modules have the intrinsic,
/// as the runtime's `_halide_prefetch` calls it.
static Expr prefetch(const Expr &address, const Expr &locality) {
  constexpr int kRead = 0, kData = 1;
  return Call::make(Int(32), "llvm.prefetch.p0", {address, kRead, locality, kData}, Call::Extern);
}

Expr mlir::halide::FetchAheadPass::visit(const Call *call) {
  if (call->name != kMark)
    return IRMutator::visit(call);
  Expr value = mutate(call->args[0]);
  std::vector<const Load *> loads = findLoads(call->args[1]);
  if (loads.empty())
    return value;
  if (!isFirstOfLine(*loads.front()))
    return value;
  return Call::make(value.type(), Call::return_second,
                    {prefetch(getAddress(*loads.front()), getFirstLane(call->args[2])), value},
                    Call::PureIntrinsic);
}

/// Whether the loop's body has prefetched nothing less than a cache line away: rows in registers
/// share keys, and a line holds several vectors of 8 bits.
bool mlir::halide::FetchAheadPass::isFirstOfLine(const Load &load) {
  constexpr int64_t kLineBytes = 64;
  Expr index = getFirstLane(load.index);
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    index = substitute(let->first, let->second, index);
  auto isNear = [&](const std::pair<std::string, Expr> &other) {
    auto distance = as_const_int(simplify(index - other.second));
    return other.first == load.name && distance &&
           std::abs(*distance) * load.type.bytes() < kLineBytes;
  };
  if (std::any_of(fetched.begin(), fetched.end(), isNear))
    return false;
  fetched.emplace_back(load.name, index);
  return true;
}

Stmt mlir::halide::FetchAheadPass::visit(const For *loop) {
  std::vector<std::pair<std::string, Expr>> outer;
  fetched.swap(outer);
  Stmt mutated = IRMutator::visit(loop);
  fetched.swap(outer);
  return mutated;
}

Stmt mlir::halide::FetchAheadPass::visit(const LetStmt *let) {
  lets.emplace_back(let->name, let->value);
  Stmt mutated = IRMutator::visit(let);
  lets.pop_back();
  return mutated;
}

Expr mlir::halide::FetchAheadPass::visit(const Let *let) {
  lets.emplace_back(let->name, let->value);
  Expr mutated = IRMutator::visit(let);
  lets.pop_back();
  return mutated;
}
