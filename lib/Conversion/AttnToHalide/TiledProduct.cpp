//===- TiledProduct.cpp - matrix products in register tiles ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of a few rows × a few vectors of columns is summed in registers. Tiles are whole: rows
// behind the last one repeat it, and a copy of the right operand pads columns that don't fill
// tiles. One row alone is summed in memory, in whole vectors; up to three by a transposed operand
// are summed in lanes, which read it where it is.
//
//===----------------------------------------------------------------------===//

#include "TiledProduct.h"

#include "AttentionBlocks.h"
#include "Lowerings.h"
#include "Shuffles.h"
#include "Transposed.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
struct RegisterTile {
  int64_t rows, lanes, vectors;
  int64_t columns() const { return lanes * vectors; }
};

class TiledProduct {
public:
  TiledProduct(PipelineBuilder &p, const MatrixProduct &product, const CpuInfo &cpu)
      : p(p), product(product), vars(varNames(product.result.getRank())),
        acc(accumulatorType(product.result.getElementType())), depth(p.extent(product.left, 0)),
        knownDepth(getConstantIntValue(Value(depth))), tile(chooseTile(cpu)),
        isInPlace(mayStayInPlace()) {}
  void build();

private:
  RegisterTile chooseTile(const CpuInfo &cpu) const;
  bool isTiled() const { return tile.rows > 1 && !isInPlace; }
  bool mayStayInPlace() const;
  bool copiesRight() const;
  Scalar readLeft(ArrayRef<Scalar> at, Scalar index);
  Scalar readRight(ArrayRef<Scalar> at);
  TransposedFunc buildRightCopy();
  void scheduleRightCopy(const TransposedFunc &copy);
  void scheduleInPlace(Func sum, Func result);
  void scheduleTiles(Func sum, Func result);
  void scheduleSum(Func sum, Loop at, Loop reduction);

  PipelineBuilder &p;
  const MatrixProduct &product;
  SmallVector<StringRef> vars;
  Type acc;
  /// The number of products of a sum.
  Scalar depth;
  std::optional<int64_t> knownDepth;
  RegisterTile tile;
  /// Whether sums in lanes read the right operand where it is.
  bool isInPlace;
};
} // namespace

/// Sums fill up to three quarters of the registers, beside a vector of each column and one of a
/// row. Of such tiles the one that multiplies least for the columns, which it may pad, and loads
/// little.
RegisterTile TiledProduct::chooseTile(const CpuInfo &cpu) const {
  constexpr int64_t kMostRows = 12;
  constexpr double kCostOfLoad = 0.25; // of a product
  int64_t columns = product.result.getShape().back(),
          rows = product.result.getShape().drop_back().back(), lanes = lanesFor(cpu, acc);
  RegisterTile best{1, lanes, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int64_t vectors = 1; vectors < cpu.vectorRegisters / 4; ++vectors) {
    RegisterTile tile{std::min(cpu.vectorRegisters * 3 / 4 / vectors, kMostRows), lanes, vectors};
    if (!ShapedType::isDynamic(rows) && rows > 0)
      tile.rows = llvm::divideCeil(rows, llvm::divideCeil(rows, tile.rows));
    double tiles = ShapedType::isDynamic(columns) ? 1.0 / double(vectors)
                                                  : llvm::divideCeil(columns, tile.columns());
    double loads = double(tile.rows + vectors) / double(tile.rows);
    double cost = tiles * (double(vectors) + kCostOfLoad * loads);
    if (cost < least)
      best = tile, least = cost;
  }
  return best;
}

/// Whether rows are too few to be worth a transposed copy of the right operand.
bool TiledProduct::mayStayInPlace() const {
  constexpr int64_t kMostRows = 3;
  int64_t rows = product.result.getShape().drop_back().back();
  bool areFew = !ShapedType::isDynamic(rows) && rows > 0 && rows <= kMostRows;
  return product.isRightTransposed && areFew && knownDepth.value_or(0) > 0 &&
         *knownDepth % tile.lanes == 0;
}

bool TiledProduct::copiesRight() const {
  if (isInPlace)
    return false;
  int64_t columns = product.result.getShape().back();
  bool isWhole = !ShapedType::isDynamic(columns) && columns % tile.columns() == 0;
  return product.isRightTransposed || (isTiled() && !isWhole);
}

/// The element of a row of the result; of the last one for those behind it.
Scalar TiledProduct::readLeft(ArrayRef<Scalar> at, Scalar index) {
  Scalar row = isTiled() ? min(at[1], p.extent(product.left, 1) - 1) : at[1];
  return product.left(concat<Scalar>({index, row}, product.leftOuter(at)));
}

/// `at`: column, index of the sum, outer coordinates.
Scalar TiledProduct::readRight(ArrayRef<Scalar> at) {
  SmallVector<Scalar> stored(at);
  if (product.isRightTransposed)
    std::swap(stored[0], stored[1]);
  return widenFactor(product.right(stored), acc);
}

/// Columns behind the last one repeat it.
TransposedFunc TiledProduct::buildRightCopy() {
  Scalar columns = p.extent(product.right, product.isRightTransposed ? 1 : 0);
  auto element = [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> at(v);
    at[0] = min(at[0], columns - 1);
    return readRight(at);
  };
  SmallVector<StringRef> names = varNames(product.right.getRank());
  if (!product.isRightTransposed || !knownDepth)
    return p.func("right_copy", names, acc, element);
  return TransposedFunc(p, tile.lanes, *knownDepth, "right_copy", names, acc, element);
}

void TiledProduct::scheduleRightCopy(const TransposedFunc &copy) {
  p.computeRoot(copy.func);
  if (isTiled())
    p.alignBounds(copy.func, 0, tile.columns());
  for (Loop outer : ArrayRef(p.loops(copy.func)).drop_front(2))
    p.parallel(outer);
  if (copy.hasSquares())
    copy.schedule(p);
  else
    p.vectorizeBy(p.loops(copy.func)[0], tile.lanes);
}

void TiledProduct::build() {
  TransposedFunc copy = copiesRight() ? buildRightCopy() : TransposedFunc();
  Func sum = p.func("sum", vars, acc, [&](ArrayRef<Scalar>) { return p.constant(acc, 0); });
  p.update(sum, vars, {{"r", depth}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    Scalar column = isInPlace ? min(v[0], p.extent(product.right, 1) - 1) : v[0];
    auto at = concat<Scalar>({column, r[0]}, product.rightOuter(v));
    Scalar right = Value(copy.func) ? copy.func(at) : readRight(at);
    return sum(v) + product.multiply(readLeft(v, r[0]), right, r[0]);
  });
  Func result = p.func("result", vars, product.result.getElementType(),
                       [&](ArrayRef<Scalar> v) { return product.finish(sum(v)); });
  p.output(result, product.result);

  if (isInPlace)
    scheduleInPlace(sum, result);
  else if (isTiled())
    scheduleTiles(sum, result);
  else
    scheduleRowSum(p, sum, depth, scheduleOutput(p, result, tile.lanes), tile.lanes,
                   product.longestSum);
  if (Value(copy.func))
    scheduleRightCopy(copy);
}

/// A few columns of all rows at a time.
void TiledProduct::scheduleInPlace(Func sum, Func result) {
  constexpr int64_t kColumns = 8;
  int64_t rows = product.result.getShape().drop_back().back();
  SmallVector<Loop> out = p.loops(result);
  auto [groups, column] = p.split(out[0], kColumns, TailStrategy::guard_with_if);
  p.reorder({column, out[1], groups});
  p.vectorize(column);
  p.unroll(out[1]);
  for (Loop loop : ArrayRef(out).drop_front(2))
    p.parallel(loop);
  scheduleSumsOfLanes(p, sum, depth, groups, tile.lanes, {{0, kColumns}, {1, rows}},
                      product.longestSum);
}

/// A task is a few rows of tiles: they stay in cache, and the right operand's columns for all of
/// them.
void TiledProduct::scheduleTiles(Func sum, Func result) {
  constexpr int64_t kTilesPerTask = 8;
  SmallVector<Loop> out = p.loops(result);
  auto [panels, column] = p.split(out[0], tile.columns(), TailStrategy::guard_with_if);
  auto [vectors, lane] = p.split(column, tile.lanes);
  auto [groups, row] = p.split(out[1], tile.rows, TailStrategy::guard_with_if);
  auto [tasks, group] = p.split(groups, kTilesPerTask, TailStrategy::guard_with_if);
  p.reorder({lane, vectors, row, group, panels, tasks});
  p.vectorize(lane);
  p.unroll(vectors);
  p.unroll(row);
  p.parallel(tasks);
  for (Loop loop : ArrayRef(out).drop_front(2))
    p.parallel(loop);

  Loop reduction = p.loops(sum, 0).back();
  int64_t length = getBlockLength(depth, product.longestSum);
  if (length == 0) {
    p.storeIn(sum, MemoryType::register_);
    return scheduleSum(sum, group, reduction);
  }
  Loop blocks = p.split(reduction, length, TailStrategy::guard_with_if).first;
  Func ofBlock = p.rfactor(blocks);
  p.storeIn(sum, MemoryType::stack);
  scheduleSum(sum, group, blocks);
  p.storeIn(ofBlock, MemoryType::register_);
  scheduleSum(ofBlock, blocks, p.loops(ofBlock, 0).back());
}

/// A tile at `at`: the reduction outside, all else unrolled.
void TiledProduct::scheduleSum(Func sum, Loop at, Loop reduction) {
  p.computeAt(sum, at);
  p.boundExtent(sum, 0, tile.columns());
  p.boundExtent(sum, 1, tile.rows);
  for (std::optional<int64_t> update : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    SmallVector<Loop> loops = p.loops(sum, update);
    auto [vectors, lane] = p.split(loops[0], tile.lanes);
    SmallVector<Loop> order = {lane, vectors, loops[1]};
    if (update)
      order.push_back(reduction);
    p.reorder(order);
    p.vectorize(lane);
    p.unroll(vectors);
    p.unroll(loops[1]);
  }
}

void attn::buildMatrixProduct(PipelineBuilder &p, const MatrixProduct &product,
                              const CpuInfo &cpu) {
  TiledProduct(p, product, cpu).build();
}
