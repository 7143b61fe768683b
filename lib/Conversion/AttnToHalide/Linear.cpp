//===- Linear.cpp - the pipeline of attn.linear ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product in register tiles of a few rows × a few vectors of output features, with the
// epilogue (bias, activation, residual) applied while a block is in cache. Weights are packed in
// panels that a tile reads in order: at compile time if constant, else in every call. A few rows
// read weights in place, in vectors of in_features.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"
#include "Lowerings.h"
#include "PackWeights.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// The register tile, and the rows computed with one panel of weights.
struct Tile {
  int64_t rows, lanes, vectors, rowBlock;
  Products products;
  /// How many elements products take at once: 1, pairs of bf16, or quads of i8.
  int64_t group;
  /// Whether all products of a block are one call.
  bool inTiles;
  /// Whether weights are read in place, `vectors` features at a time.
  bool inPlace;
  /// Features of a task.
  int64_t columns() const { return lanes * vectors; }

  Tile(LinearOp op, LinearAttr s)
      : rows(s.getRowTile()), lanes(s.getVectorWidth()), vectors(s.getVectors()),
        rowBlock(s.getRowBlock()), products(s.getProducts()),
        group(getGroupSize(tensorType(op.getWeight()).getElementType(), products)),
        inTiles(products == Products::bf16_tiles), inPlace(!s.getPacked()) {}
};

/// Funcs of the product, outermost consumer last. Constant panels are an input, without a weight;
/// weights that stay in place have no panels. The sum and the block, which are one func if all
/// products of a block are one call, have the tile's rows, of dimension `rowDim` of the result, as
/// dimension 2. `preparedInput`: null, or the input in f32 or in quads.
struct Product {
  Func weight, panels, preparedInput, sum, block, result;
  int64_t rowDim;
  /// The order of the input's dimensions if the result is heads.
  std::optional<Layout> heads;
  /// The extent of the reduction: in_features, or groups of them.
  Scalar width;
  /// Groups in a packed panel.
  int64_t groups;
  bool packsInCall;
};
} // namespace

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// The only reader of `value`, if it is an elementwise map.
static MapOp getOnlyMap(Value value) {
  if (!value.hasOneUse())
    return {};
  auto map = dyn_cast<MapOp>(*value.user_begin());
  bool isInPlace = map && map.getResult().getType().getShape() == tensorType(value).getShape();
  return isInPlace ? map : MapOp();
}

SmallVector<MapOp> attn::getEpilogue(LinearOp op) {
  SmallVector<MapOp> maps;
  for (MapOp map = getOnlyMap(op.getResult()); map; map = getOnlyMap(map.getResult()))
    maps.push_back(map);
  return maps;
}

FailureOr<Scalar> attn::inlineEpilogue(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                                       Scalar value, ArrayRef<Scalar> coords) {
  Value before = op.getResult();
  for (MapOp map : epilogue) {
    SmallVector<Scalar> args;
    for (Value input : map.getInputs()) {
      std::string name = "operand" + std::to_string(p.getInputTensors().size());
      args.push_back(input == before ? value
                                     : readBroadcast(p, p.input(name, input), input, coords));
    }
    FailureOr<Scalar> result = p.inlineRegion(map.getBody(), args);
    if (failed(result))
      return failure();
    value = convert(*result, map.getResult().getType().getElementType());
    if (isa<FloatType>(value.getType()))
      value = strictFloat(value);
    before = map.getResult();
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

/// Names of the loops other than features: rows, then outer dimensions.
static SmallVector<StringRef> rowNames(int64_t count) {
  static constexpr StringRef names[] = {"m", "b", "c", "d", "e", "f", "g"};
  return llvm::to_vector(ArrayRef(names).take_front(count));
}

template <typename T>
static SmallVector<T> concat(ArrayRef<T> first, ArrayRef<T> second) {
  SmallVector<T> all(first);
  all.append(second.begin(), second.end());
  return all;
}

/// The coordinates or loops of `result` that are rows or outer dimensions of the input, in its
/// order. Heads are (head_dim, len, head, batch).
template <typename T>
static SmallVector<T> rowsOf(ArrayRef<T> result, std::optional<Layout> heads) {
  if (!heads)
    return SmallVector<T>(result.drop_front(1));
  if (*heads == Layout::batch_first)
    return {result[1], result[3]};
  return {result[3], result[1]};
}

/// Names of the result's loops; `rows` are those of `rowsOf`.
static SmallVector<StringRef> namesOfResult(ArrayRef<StringRef> rows, std::optional<Layout> heads) {
  if (!heads)
    return concat<StringRef>({"n"}, rows);
  if (*heads == Layout::batch_first)
    return {"n", rows[0], "h", rows[1]};
  return {"n", rows[1], "h", rows[0]};
}

/// Coordinates without the first, those of the tile's rows first; the same function back.
template <typename T>
static SmallVector<T> withRowsFirst(ArrayRef<T> outer, int64_t rowDim) {
  SmallVector<T> ordered(outer);
  std::swap(ordered[0], ordered[rowDim - 1]);
  return ordered;
}

/// The elements 2 · `pair` and the next one of `size`; 0 in place of one behind the last, which
/// only the second may be.
static Scalar readPair(Scalar pair, int64_t size, function_ref<Scalar(Scalar)> read) {
  Scalar low = read(pair * 2), next = pair * 2 + 1;
  if (size % 2 == 0)
    return pairOf(low, read(next));
  Scalar high = read(min(next, size - 1));
  return pairOf(low, select(likely(next < next.constant(size)), high, high.constant(0)));
}

/// Element `k` of `size`, or 0 behind the last.
static Scalar readOrZero(Scalar k, int64_t size, function_ref<Scalar(Scalar)> read) {
  Scalar x = read(min(k, size - 1));
  return select(likely(k < k.constant(size)), x, x.constant(0));
}

/// The pair where both elements may lie behind the last.
static Scalar readPaddedPair(Scalar pair, int64_t size, function_ref<Scalar(Scalar)> read) {
  return pairOf(readOrZero(pair * 2, size, read), readOrZero(pair * 2 + 1, size, read));
}

/// The four elements from 4 · `quad` on; 0 in place of those behind the last of `size`.
static Scalar readQuad(Scalar quad, int64_t size, function_ref<Scalar(Scalar)> read) {
  SmallVector<Scalar> bytes;
  for (int64_t i = 0; i < 4; ++i)
    bytes.push_back(size % 4 == 0 ? read(quad * 4 + i) : readOrZero(quad * 4 + i, size, read));
  return quadOf(bytes);
}

/// The product of two factors, by the processor's conversion if both are f16: beside a weight
/// packed in f32, LLVM would widen the input one element at a time, waiting for sums.
static Scalar multiply(Scalar x, Scalar weight, Type acc) {
  return weight.getType().isF16() ? widenFactor(x) * widenFactor(weight)
                                  : convert(x, acc) * convert(weight, acc);
}

/// A weight's element; behind the last feature, that of the last one.
static Scalar readWeight(PipelineBuilder &p, Func weight, const Tile &tile, Scalar column, Scalar k,
                         Scalar panel) {
  return weight(k, min(panel * tile.columns() + column, p.extent(weight, 1) - 1));
}

/// Panels read (column, k, panel).
static void buildPanels(PipelineBuilder &p, LinearOp op, Value packed, const Tile &tile,
                        Product &f) {
  f.packsInCall = !packed && !tile.inPlace;
  if (packed) {
    f.panels = p.input("panels", packed);
    return;
  }
  f.weight = p.input("weight", op.getWeight());
  if (tile.inPlace)
    return;
  int64_t depth = tensorType(op.getWeight()).getDimSize(1);
  f.groups = countGroups(depth, tile.group, tile.products);
  Type type = tile.group > 1 ? p.b().getI32Type() : accumulatorType(f.weight.getElementType());
  f.panels = p.func("panels", {"ni", "k", "no"}, type, [&](ArrayRef<Scalar> v) {
    auto read = [&](Scalar k) { return readWeight(p, f.weight, tile, v[0], k, v[2]); };
    if (tile.group == 4)
      return readQuad(v[1], depth, read);
    if (tile.group == 2 && f.groups * 2 > depth + 1)
      return readPaddedPair(v[1], depth, read);
    return tile.group == 2 ? readPair(v[1], depth, read) : widenFactor(read(v[1]), type);
  });
}

/// Rows of 16 bits that each panel would widen again, or the quads of rows of 8 bits.
static Func buildPreparedInput(PipelineBuilder &p, LinearOp op, Func input, const Tile &tile) {
  RankedTensorType type = tensorType(op.getInput());
  SmallVector<StringRef> vars = concat<StringRef>({"k"}, rowNames(type.getRank() - 1));
  if (tile.group == 4)
    return p.func("quads", vars, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
      return readQuad(v[0], tensorType(op.getWeight()).getDimSize(1),
                      [&](Scalar k) { return input(concat<Scalar>({k}, v.drop_front(1))); });
    });
  if (type.getElementTypeBitWidth() != 16 || tile.group != 1 || tile.rows == 1 || tile.inPlace)
    return {};
  return p.func("wide_input", vars, p.b().getF32Type(),
                [&](ArrayRef<Scalar> v) { return widenFactor(input(v)); });
}

static FailureOr<Product> buildProduct(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                                       SplitHeadsOp heads, Value packed, const Tile &tile,
                                       int64_t rowDim) {
  RankedTensorType type = tensorType(op.getResult());
  Type element = type.getElementType(), acc = op.isInteger() ? element : accumulatorType(element);
  Func input = p.input("input", op.getInput());
  Product f;
  f.rowDim = rowDim;
  if (heads)
    f.heads = heads.getLayout();
  buildPanels(p, op, packed, tile, f);
  f.preparedInput = buildPreparedInput(p, op, input, tile);
  Func bias = op.getBias() ? p.input("bias", op.getBias()) : Func();
  Scalar rows = p.extent(input, rowDim);
  int64_t depth = tensorType(op.getWeight()).getDimSize(1);
  f.width = tile.group > 1 ? p.i32(llvm::divideCeilSigned(depth, tile.group)) : p.extent(input, 0);
  SmallVector<StringRef> outer = rowNames(type.getRank() - 1);
  int64_t columns = tile.columns();

  auto tiled = concat<StringRef>({"ni", "no"}, withRowsFirst<StringRef>(outer, rowDim));
  f.sum = p.func("sum", tiled, acc, [&](ArrayRef<Scalar>) {
    return tile.inTiles ? undef(p.b(), acc) : p.constant(acc, 0);
  });
  p.update(f.sum, tiled, {{"k", f.width}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    SmallVector<Scalar> row(v.drop_front(2));
    if (tile.inTiles) {
      row[0] = unsafePromiseClamped(v[2], p.i32(0), rows - 1);
      Scalar even = input(concat<Scalar>({r[0] * 2}, withRowsFirst<Scalar>(row, rowDim)));
      return dotBF16Tiles(p.constant(acc, 0), even, f.panels(v[0], r[0], v[1]), rows - v[2],
                          p.i32(depth));
    }
    row[0] = min(v[2], rows - 1); // a tile may reach past the last row
    auto read = [&](Scalar k) {
      SmallVector<Scalar> at = concat<Scalar>({k}, withRowsFirst<Scalar>(row, rowDim));
      return Value(f.preparedInput) ? f.preparedInput(at) : input(at);
    };
    Scalar weight =
        tile.inPlace ? readWeight(p, f.weight, tile, v[0], r[0], v[1]) : f.panels(v[0], r[0], v[1]);
    if (tile.group == 4)
      return dotI8Quad(f.sum(v), read(r[0]), weight);
    return tile.group == 2 ? dotBF16Pair(f.sum(v), readPair(r[0], depth, read), weight)
                           : f.sum(v) + multiply(read(r[0]), weight, acc);
  });
  f.block = tile.inTiles
                ? f.sum
                : p.func("block", tiled, acc, [&](ArrayRef<Scalar> v) { return f.sum(v); });
  auto last = epilogue.empty() ? type : tensorType(epilogue.back()->getResult(0));
  if (heads)
    last = heads.getResult().getType();
  bool isWhole = true;
  auto body = [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> row = rowsOf(v, f.heads);
    Scalar panel = v[0] / columns, feature = v[0];
    if (heads) {
      int64_t headDim = last.getDimSize(3);
      panel = v[2] * (headDim / columns) + panel;
      feature = v[2] * headDim + feature;
    }
    auto at = concat<Scalar>({v[0] % columns, panel}, withRowsFirst<Scalar>(row, rowDim));
    Scalar y = f.block(at);
    y = convert(op.getBias() ? y + convert(bias(feature), acc) : y, element);
    FailureOr<Scalar> result = inlineEpilogue(p, op, epilogue, y, concat<Scalar>({feature}, row));
    isWhole = succeeded(result);
    return isWhole ? *result : p.constant(last.getElementType(), 0);
  };
  f.result = p.func("result", namesOfResult(outer, f.heads), last.getElementType(), body);
  p.output(f.result, last);
  if (!isWhole)
    return failure();
  return f;
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Vectorizes a tile's columns and unrolls the loop over vectors.
static void scheduleColumns(PipelineBuilder &p, Loop columns, const Tile &tile) {
  auto [vectors, lanes] = p.split(columns, tile.lanes);
  p.vectorize(lanes);
  p.unroll(vectors);
}

/// Schedules the tile of `f` at `at`: the reduction outermost, everything else unrolled.
static void scheduleSum(PipelineBuilder &p, Func f, Loop at, ArrayRef<Loop> sum, Loop reduction,
                        const Tile &tile) {
  p.computeAt(f, at);
  p.boundExtent(f, 0, tile.columns());
  p.boundExtent(f, 2, tile.rows);
  SmallVector<Loop> init = p.loops(f);
  scheduleColumns(p, init[0], tile);
  p.unroll(init[2]);
  auto [sv, sl] = p.split(sum[0], tile.lanes);
  p.reorder({sl, sv, sum[2], reduction});
  p.vectorize(sl);
  p.unroll(sv);
  p.unroll(sum[2]);
}

/// A long sum is blocked; each block is summed in registers. Sums of bf16 products err less than
/// their rounding to bf16 even if they are not, and those of i8 are exact.
static void scheduleSums(PipelineBuilder &p, const Product &f, Loop at, const Tile &tile) {
  using halide::MemoryType;
  SmallVector<Loop> loops = p.loops(f.sum, 0);
  Loop reduction = loops.back();
  int64_t length = tile.group > 1 ? 0 : getBlockLength(f.width);
  if (length == 0) {
    p.storeIn(f.sum, MemoryType::register_);
    return scheduleSum(p, f.sum, at, loops, reduction, tile);
  }
  auto [blocks, rest] = p.split(reduction, length, halide::TailStrategy::guard_with_if);
  Func ofBlock = p.rfactor(blocks);
  p.storeIn(f.sum, MemoryType::stack);
  scheduleSum(p, f.sum, at, loops, blocks, tile);
  p.storeIn(ofBlock, MemoryType::register_);
  SmallVector<Loop> blockLoops = p.loops(ofBlock, 0);
  scheduleSum(p, ofBlock, blocks, blockLoops, blockLoops.back(), tile);
}

/// The loops that one call replaces are innermost.
static void scheduleTiles(PipelineBuilder &p, Func sum) {
  SmallVector<Loop> loops = p.loops(sum, 0);
  p.reorder({loops[0], loops[2], loops.back()});
}

static void scheduleProduct(PipelineBuilder &p, const Product &f, const Tile &tile) {
  using halide::MemoryType;
  using halide::TailStrategy;
  SmallVector<Loop> out = p.loops(f.result);
  SmallVector<Loop> rows = withRowsFirst<Loop>(rowsOf<Loop>(out, f.heads), f.rowDim);
  auto [mo, mi] = p.split(rows[0], tile.rowBlock, TailStrategy::guard_with_if);
  auto [no, ni] = p.split(out[0], tile.columns(), TailStrategy::guard_with_if);
  auto [nv, lanes] = p.split(ni, tile.lanes);
  SmallVector<Loop> blocks = concat<Loop>({mo}, ArrayRef(rows).drop_front(1)), panels{no};
  if (f.heads)
    panels.push_back(out[2]);
  // Weights in place are read once for all rows, packed ones once for a block of them.
  SmallVector<Loop> tasks = tile.inPlace ? blocks : panels;
  llvm::append_range(tasks, tile.inPlace ? panels : blocks);
  p.reorder(concat<Loop>({lanes, nv, mi}, tasks));
  p.vectorize(lanes);
  p.unroll(nv);
  for (Loop loop : tasks)
    p.parallel(loop);

  if (Value(f.preparedInput)) {
    p.computeAt(f.preparedInput, mo);
    p.vectorize(
        p.split(p.loops(f.preparedInput)[0], tile.lanes, TailStrategy::guard_with_if).second);
  }
  p.computeAt(f.block, tile.inPlace ? mo : no);
  p.storeIn(f.block, MemoryType::stack);
  p.boundExtent(f.block, 0, tile.columns());
  p.boundStorage(f.block, 2, tile.rowBlock);
  if (tile.inTiles)
    return scheduleTiles(p, f.sum);
  p.alignBounds(f.block, 2, tile.rows);
  SmallVector<Loop> block = p.loops(f.block);
  auto [mt, row] = p.split(block[2], tile.rows, TailStrategy::round_up);
  if (tile.inPlace) {
    auto [group, feature] = p.split(block[0], tile.vectors);
    p.reorder({feature, row, mt, group});
    p.unroll(feature);
    p.unroll(row);
    return scheduleSumsOfLanes(p, f.sum, f.width, mt, tile.lanes,
                               {{0, tile.vectors}, {2, tile.rows}}, kLongestSum);
  }
  auto [bv, bl] = p.split(block[0], tile.lanes);
  p.reorder({bl, bv, row, mt});
  p.vectorize(bl);
  p.unroll(bv);
  p.unroll(row);

  scheduleSums(p, f, mt, tile);
}

static void schedulePanels(PipelineBuilder &p, const Product &f, const Tile &tile) {
  using halide::TailStrategy;
  p.computeRoot(f.panels);
  p.boundExtent(f.panels, 0, tile.columns());
  if (tile.inTiles)
    p.boundExtent(f.panels, 1, f.groups);
  SmallVector<Loop> panels = p.loops(f.panels);
  auto [ko, ki] = p.split(panels[1], tile.lanes, TailStrategy::guard_with_if);
  p.reorder({ki, panels[0], ko, panels[2]});
  p.vectorize(ki);
  p.parallel(panels[2]);
}

LogicalResult attn::lowerLinear(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                                SplitHeadsOp heads, Value panels, LinearKernel kernel) {
  Tile tile(op, kernel.schedule);
  FailureOr<Product> product = buildProduct(p, op, epilogue, heads, panels, tile, kernel.rowDim);
  if (failed(product))
    return failure();
  scheduleProduct(p, *product, tile);
  if (product->packsInCall)
    schedulePanels(p, *product, tile);
  return success();
}
