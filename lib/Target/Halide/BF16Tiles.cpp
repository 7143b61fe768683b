//===- BF16Tiles.cpp - products of bf16 matrices --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BF16Tiles.h"

#include "KernelReader.h"

using mlir::halide::findLoads;
using namespace ::Halide;
using namespace ::Halide::Internal;

static constexpr char kMark[] = "dot_bf16_tiles";
/// Of a pair of bf16, and of a sum.
static constexpr int64_t kPairBytes = 4;

Expr mlir::halide::dotBF16Tiles(const Expr &acc, const Expr &a, const Expr &b, const Expr &rows,
                                const Expr &depth) {
  return Call::make(acc.type(), kMark, {acc, a, b, rows, depth}, Call::PureExtern);
}

namespace {
/// A loop of the product, or one iteration where the loop is gone.
struct Dim {
  const For *loop = nullptr;
  Expr extent() const { return loop ? loop->extent : Expr(1); }
};

/// The elements that an operand takes in the loops.
struct Operand {
  std::string name;
  Expr index;
  int bytes;

  /// Bytes from one iteration to the next.
  Expr stride(const Dim &dim) const;
  bool dependsOn(const For *loop) const { return !is_const_zero(stride({loop})); }
};

/// A loop nest around a marker call.
class Nest {
public:
  /// Reads the loops from `loop` inwards; false if they are not all of one product.
  bool read(const For *loop);
  Stmt replace() const;

private:
  bool readBody(const Stmt &stmt);
  bool readStore(const Store *store);
  bool take(const For *loop);
  bool areNeighbours() const;
  Expr address(const Operand &operand) const;
  Expr begin(Expr value) const;

  std::vector<const For *> loops;
  std::vector<std::pair<std::string, Expr>> lets;
  Operand sum, a, b;
  Expr rows, depth;
  bool starts = false;
  Dim row, column, pair;
};
} // namespace

Expr Operand::stride(const Dim &dim) const {
  if (!dim.loop)
    return make_zero(Int(64));
  Expr var = Variable::make(Int(32), dim.loop->name);
  Expr step = simplify(substitute(dim.loop->name, var + 1, index) - index);
  return simplify(cast(Int(64), step) * bytes);
}

//===----------------------------------------------------------------------===//
// Match
//===----------------------------------------------------------------------===//

bool Nest::read(const For *loop) {
  if (loop->for_type != ForType::Serial)
    return false;
  loops.push_back(loop);
  return readBody(loop->body);
}

/// Conditions say what `rows` and `depth` do.
bool Nest::readBody(const Stmt &stmt) {
  if (const LetStmt *let = stmt.as<LetStmt>()) {
    lets.emplace_back(let->name, let->value);
    return readBody(let->body);
  }
  if (const IfThenElse *branch = stmt.as<IfThenElse>())
    return !branch->else_case.defined() && readBody(branch->then_case);
  if (const For *loop = stmt.as<For>())
    return read(loop);
  const Store *store = stmt.as<Store>();
  return store && readStore(store);
}

bool Nest::readStore(const Store *store) {
  Expr value = store->value;
  for (const Let *let = value.as<Let>(); let; let = value.as<Let>()) {
    lets.emplace_back(let->name, let->value);
    value = let->body;
  }
  const Call *mark = value.as<Call>();
  if (!mark || mark->name != kMark || mark->type.is_vector())
    return false;
  auto resolve = [&](Expr expr) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      expr = substitute(let->first, let->second, expr);
    return expr;
  };
  auto operand = [&](const Expr &read) {
    Expr resolved = resolve(read);
    std::vector<const Load *> found = findLoads(resolved);
    return found.empty() ? Operand()
                         : Operand{found[0]->name, found[0]->index, found[0]->type.bytes()};
  };
  sum = {store->name, resolve(store->index), store->value.type().bytes()};
  a = operand(mark->args[1]);
  b = operand(mark->args[2]);
  rows = resolve(mark->args[3]);
  depth = resolve(mark->args[4]);
  starts = is_const_zero(mark->args[0]);
  return a.index.defined() && b.index.defined() &&
         std::all_of(loops.rbegin(), loops.rend(), [&](const For *loop) { return take(loop); }) &&
         areNeighbours();
}

/// Which of the product's loops it is; false if none.
bool Nest::take(const For *loop) {
  for (const Operand *operand : {&sum, &a, &b})
    for (const For *other : loops)
      if (expr_uses_var(operand->stride({loop}), other->name))
        return false;
  bool inSum = sum.dependsOn(loop), inA = a.dependsOn(loop), inB = b.dependsOn(loop);
  Dim &dim = !inSum ? pair : inA ? row : column;
  bool isOne = inSum ? inA != inB : inA && inB;
  if (!isOne || dim.loop)
    return false;
  dim.loop = loop;
  return true;
}

/// Whether elements lie as attnc_multiply_tiles takes them. The stride of a single pair would be
/// unknown.
bool Nest::areNeighbours() const {
  auto is = [](const Expr &stride, int64_t bytes) { return is_const(stride, bytes); };
  bool inPlace = is(a.stride(pair), kPairBytes);
  return pair.loop && column.loop && is(sum.stride(column), kPairBytes) &&
         is(b.stride(column), kPairBytes) &&
         (inPlace || !row.loop || is(a.stride(row), kPairBytes));
}

//===----------------------------------------------------------------------===//
// Replace
//===----------------------------------------------------------------------===//

/// The value of the first iteration.
Expr Nest::begin(Expr value) const {
  for (const For *loop : loops)
    value = substitute(loop->name, loop->min, value);
  return simplify(value);
}

Expr Nest::address(const Operand &operand) const {
  Expr base = reinterpret(UInt(64), Variable::make(Handle(), operand.name));
  Expr index = cast(UInt(64), cast(Int(64), begin(operand.index)));
  return reinterpret(Handle(), base + index * operand.bytes);
}

Stmt Nest::replace() const {
  std::vector<Expr> args = {address(sum),
                            sum.stride(row),
                            address(a),
                            a.stride(row),
                            a.stride(pair),
                            address(b),
                            b.stride(pair),
                            min(begin(rows), begin(row.extent())),
                            begin(column.extent()),
                            min(begin(depth), begin(pair.extent()) * 2),
                            Expr(starts ? 1 : 0)};
  return Evaluate::make(Call::make(Int(32), "attnc_multiply_tiles", args, Call::Extern));
}

Stmt mlir::halide::BF16TilesPass::visit(const For *loop) {
  Nest nest;
  return nest.read(loop) ? nest.replace() : IRMutator::visit(loop);
}

Expr mlir::halide::BF16TilesPass::visit(const Call *call) {
  if (call->name == kMark)
    error = "expected dot_bf16_tiles in loops over rows, columns and pairs, found others";
  return IRMutator::visit(call);
}
