//===- Rows.cpp - schedules of pipelines over a tensor's rows -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows per parallel task.
static constexpr int64_t kRowsPerTask = 8;

SmallVector<StringRef> attn::varNames(int64_t rank) {
  static constexpr StringRef names[kMaxRank] = {"x", "y", "z", "w", "v", "u", "t", "s"};
  return llvm::to_vector(ArrayRef(names).take_front(rank));
}

SmallVector<StringRef> attn::reductionNames(int64_t count) {
  static constexpr StringRef names[kMaxRank] = {"rx", "ry", "rz", "rw", "rv", "ru", "rt", "rs"};
  return llvm::to_vector(ArrayRef(names).take_front(count));
}

SmallVector<Reduction> attn::reduceAll(PipelineBuilder &p, Func tensor) {
  SmallVector<Reduction> reductions;
  for (auto [dim, name] : llvm::enumerate(reductionNames(tensor.getRank())))
    reductions.push_back({name, p.extent(tensor, dim)});
  return reductions;
}

RankedTensorType attn::tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

bool attn::mayLackRows(RankedTensorType tensor) {
  int64_t dim = tensor.getRank() - 2;
  return dim >= 0 && (tensor.isDynamicDim(dim) || tensor.getDimSize(dim) == 0);
}

int64_t attn::lanesFor(const CpuInfo &cpu, Type elementType) {
  return cpu.lanes(std::max(elementType.getIntOrFloatBitWidth(), 8u));
}

OutputLoops attn::scheduleOutput(PipelineBuilder &p, Func f, int64_t lanes) {
  SmallVector<Loop> loops = p.loops(f);
  if (loops.empty())
    return {};
  p.vectorizeBy(loops[0], lanes);
  if (loops.size() == 1)
    return {};
  auto [tasks, row] = p.split(loops[1], kRowsPerTask, halide::TailStrategy::guard_with_if);
  p.parallel(tasks);
  for (Loop loop : ArrayRef(loops).drop_front(2))
    p.parallel(loop);
  return {row};
}

void attn::buildOutput(PipelineBuilder &p, StringRef name, RankedTensorType type, int64_t lanes,
                       Body body) {
  Func output = p.func(name, varNames(type.getRank()), type.getElementType(), body);
  p.output(output, type);
  scheduleOutput(p, output, lanes);
}

void attn::buildScattered(PipelineBuilder &p, Func rows, RankedTensorType type, int64_t lanes,
                          function_ref<ScatteredRow(ArrayRef<Scalar> coords)> placeOf) {
  Type element = type.getElementType();
  Func output = p.func("result", varNames(type.getRank()), element,
                       [&](ArrayRef<Scalar>) { return undef(p.b(), element); });
  StringRef d = varNames(1).front();
  SmallVector<Reduction> domain = {
      {"t", p.extent(rows, 1)}, {"h", p.extent(rows, 2)}, {"b", p.extent(rows, 3)}};
  p.update(output, {d}, domain, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    SmallVector<Scalar> coords = {v[0], r[0], r[1], r[2]};
    ScatteredRow row = placeOf(coords);
    return {rows(coords), row.coords, row.where};
  });
  p.output(output, type);
  StageLoops v = p.stage(output, 0);
  Loop vectors = p.vectorizeBy(v[d], lanes);
  auto [tasks, row] = p.split(v["t"], kRowsPerTask, halide::TailStrategy::guard_with_if);
  p.allowRaceConditions(output, 0);
  p.reorder({vectors, v["h"], row, tasks, v["b"]});
  p.parallel(tasks);
  p.parallel(v["b"]);
}

void attn::computeAtRow(PipelineBuilder &p, Func f, const OutputLoops &at) {
  if (at.row)
    p.computeAt(f, at.row);
  else
    p.computeRoot(f);
}

/// Vectorizes dimension 0; the reduction is the outer loop.
static void vectorizeRow(PipelineBuilder &p, Func acc, Loop row, Loop reduction, int64_t lanes) {
  p.vectorizeBy(p.loops(acc)[0], lanes);
  auto [outer, inner] = p.split(row, lanes, halide::TailStrategy::guard_with_if);
  p.reorder({inner, outer, reduction});
  p.vectorize(inner);
}

void attn::scheduleRowReduction(PipelineBuilder &p, Func acc, const OutputLoops &at,
                                int64_t lanes) {
  computeAtRow(p, acc, at);
  SmallVector<Loop> loops = p.loops(acc, 0);
  vectorizeRow(p, acc, loops[0], loops.back(), lanes);
}

std::optional<int64_t> attn::countEqualBlocks(int64_t extent, int64_t longest) {
  int64_t fewest = llvm::divideCeil(extent, longest);
  for (int64_t blocks = fewest; blocks <= 2 * fewest; ++blocks)
    if (extent % blocks == 0)
      return blocks;
  return std::nullopt;
}

int64_t attn::getBlockLength(Scalar extent, int64_t longest) {
  std::optional<int64_t> known = getConstantIntValue(Value(extent));
  if (!known)
    return longest;
  if (*known <= longest)
    return 0;
  std::optional<int64_t> blocks = countEqualBlocks(*known, longest);
  return blocks ? *known / *blocks : longest;
}

void attn::scheduleRowSum(PipelineBuilder &p, Func sum, Scalar extent, const OutputLoops &at,
                          int64_t lanes, int64_t longest) {
  int64_t length = getBlockLength(extent, longest);
  if (length == 0)
    return scheduleRowReduction(p, sum, at, lanes);
  SmallVector<Loop> loops = p.loops(sum, 0);
  auto [blocks, rest] = p.split(loops.back(), length, halide::TailStrategy::guard_with_if);
  Func ofBlock = p.rfactor(blocks);
  computeAtRow(p, sum, at);
  vectorizeRow(p, sum, loops[0], blocks, lanes);
  SmallVector<Loop> blockLoops = p.loops(ofBlock, 0);
  p.computeAt(ofBlock, blocks);
  vectorizeRow(p, ofBlock, blockLoops[0], blockLoops.back(), lanes);
}

/// Orders loops: lanes innermost, then the tile, then the reduction, then rows.
static void vectorizeLanes(PipelineBuilder &p, Func partial, ArrayRef<Loop> loops, int64_t lane,
                           ArrayRef<int64_t> tile) {
  SmallVector<Loop> init = p.loops(partial), order = {loops[lane]};
  for (int64_t dim : tile)
    order.push_back(loops[dim]);
  llvm::append_range(order, loops.drop_front(partial.getRank()));
  for (int64_t dim = 0; dim < partial.getRank(); ++dim)
    if (dim != lane && !llvm::is_contained(tile, dim))
      order.push_back(loops[dim]);
  p.vectorize(init[lane]);
  p.reorder(order);
  p.vectorize(loops[lane]);
  for (int64_t dim : tile) {
    p.unroll(init[dim]);
    p.unroll(loops[dim]);
  }
}

LaneSums attn::splitIntoLanes(PipelineBuilder &p, Loop reduction, int64_t lanes, int64_t length,
                              ArrayRef<int64_t> tile) {
  auto guard = halide::TailStrategy::guard_with_if;
  if (length)
    reduction = p.split(reduction, length, guard).second;
  LaneSums sums;
  sums.lane = p.split(reduction, lanes, guard).second;
  sums.partial = p.rfactor(sums.lane);
  int64_t lane = sums.partial.getRank() - 1;
  SmallVector<Loop> loops = p.loops(sums.partial, 0);
  if (length) {
    // The loops are (…, blocks, outer); `outer` becomes that of a block.
    loops.pop_back();
    sums.ofBlock = p.rfactor(loops.back());
  }
  vectorizeLanes(p, sums.partial, loops, lane, tile);
  if (length) {
    vectorizeLanes(p, sums.ofBlock, p.loops(sums.ofBlock, 0), lane, tile);
    p.computeAt(sums.ofBlock, loops.back());
  }
  return sums;
}

void attn::combineLanes(PipelineBuilder &p, Loop lane, int64_t lanes,
                        function_ref<void(Func)> place) {
  for (int64_t half = lanes / 2; half > 1; half /= 2) {
    LaneSums sums = splitIntoLanes(p, lane, half);
    p.unroll(p.loops(sums.partial, 0).back());
    place(sums.partial);
    lane = sums.lane;
  }
  p.unroll(lane);
}

void attn::scheduleSumsOfLanes(PipelineBuilder &p, Func sum, Scalar extent, Loop at, int64_t lanes,
                               ArrayRef<std::pair<int64_t, int64_t>> tile, int64_t longest) {
  auto place = [&](Func part) {
    p.storeIn(part, halide::MemoryType::register_);
    for (auto [dim, size] : tile)
      p.boundExtent(part, dim, size);
  };
  auto unroll = [&](Func part) {
    SmallVector<Loop> init = p.loops(part), loops = p.loops(part, 0);
    for (auto [dim, size] : tile) {
      p.unroll(init[dim]);
      p.unroll(loops[dim]);
    }
  };
  int64_t lane = sum.getRank();
  auto placeLanes = [&](Func part) {
    place(part);
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, part.getRank()));
    std::rotate(order.begin(), order.begin() + lane, order.begin() + lane + 1);
    p.reorderStorage(part, order);
  };
  int64_t length = llvm::alignTo(getBlockLength(extent, longest * lanes), lanes);
  LaneSums sums = splitIntoLanes(p, p.loops(sum, 0).back(), lanes, length,
                                 llvm::to_vector(llvm::make_first_range(tile)));
  if (Value(sums.ofBlock))
    placeLanes(sums.ofBlock);
  placeLanes(sums.partial);
  p.computeAt(sums.partial, at);
  combineLanes(p, sums.lane, lanes, [&](Func half) {
    placeLanes(half);
    p.computeAt(half, at);
    unroll(half);
  });
  place(sum);
  p.computeAt(sum, at);
  unroll(sum);
}

/// Number of independent partial sums: up to four vectors, to hide the latency of additions, if
/// that leaves no tail.
static int64_t countSums(Scalar extent, int64_t lanes) {
  std::optional<int64_t> known = getConstantIntValue(Value(extent));
  for (int64_t vectors : {4, 2})
    if (known && *known % (vectors * lanes) == 0)
      return vectors * lanes;
  return lanes;
}

void attn::scheduleSumAlongRow(PipelineBuilder &p, Func sum, Scalar extent, const OutputLoops &at,
                               int64_t lanes, LaneOrder order) {
  lanes = countSums(extent, lanes);
  Loop reduction = p.loops(sum, 0).back();
  int64_t length = getBlockLength(extent, kLongestSum * lanes);
  LaneSums sums = splitIntoLanes(p, reduction, lanes, length);
  computeAtRow(p, sums.partial, at);
  if (order == LaneOrder::byHalves) {
    combineLanes(p, sums.lane, lanes, [&](Func part) { computeAtRow(p, part, at); });
  } else {
    p.atomic(sum, 0);
    p.vectorize(sums.lane);
  }
  computeAtRow(p, sum, at);
}

SmallVector<Scalar> attn::broadcastTo(PipelineBuilder &p, Value operand, ArrayRef<Scalar> result) {
  SmallVector<Scalar> at;
  for (auto [dim, size] : llvm::enumerate(llvm::reverse(tensorType(operand).getShape())))
    at.push_back(size == 1 ? p.i32(0) : result[dim]);
  return at;
}

Scalar attn::readBroadcast(PipelineBuilder &p, Func in, Value tensor, ArrayRef<Scalar> coords) {
  return in(broadcastTo(p, tensor, coords));
}

SmallVector<Scalar> attn::along(ArrayRef<Scalar> rest, int64_t axis, Scalar r) {
  SmallVector<Scalar> coords(rest);
  coords.insert(coords.begin() + axis, r);
  return coords;
}

SmallVector<Scalar> attn::without(ArrayRef<Scalar> coords, int64_t axis) {
  SmallVector<Scalar> rest(coords);
  rest.erase(rest.begin() + axis);
  return rest;
}

RowExtremes attn::buildRowExtremes(PipelineBuilder &p, StringRef name, Func f, Scalar extent,
                                   Scalar init, function_ref<Scalar(Scalar, Scalar)> combine,
                                   int64_t lanes) {
  std::optional<int64_t> known = getConstantIntValue(Value(extent));
  while (known && lanes > 2 && lanes > *known)
    lanes /= 2;
  SmallVector<StringRef> vars = varNames(f.getRank());
  auto addFunc = [&](int64_t count, ArrayRef<StringRef> vars, Body body) {
    return p.func((name + "_of_" + Twine(count)).str(), vars, f.getElementType(), body);
  };
  auto replaceFirst = [](ArrayRef<Scalar> v, Scalar first) {
    return along(v.drop_front(), 0, first);
  };
  Func last = addFunc(lanes, vars, [&](ArrayRef<Scalar>) { return init; });
  p.update(last, vars, {{"r", extent / lanes}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return combine(last(v), f(replaceFirst(v, r[0] * lanes + v[0])));
           });
  bool hasTail = !known || *known % lanes != 0;
  RowExtremes extremes = {lanes, {last}, {}, hasTail};
  for (int64_t half = lanes / 2; half > 1; half /= 2) {
    last = addFunc(half, vars, [&](ArrayRef<Scalar> v) {
      return combine(last(v), last(replaceFirst(v, v[0] + half)));
    });
    extremes.ofLanes.push_back(last);
  }
  vars.erase(vars.begin());
  extremes.result = p.func(name, vars, f.getElementType(), [&](ArrayRef<Scalar> v) {
    return combine(last(along(v, 0, p.i32(0))), last(along(v, 0, p.i32(1))));
  });
  if (!hasTail)
    return extremes;
  Func &result = extremes.result;
  p.update(result, vars, {{"tail", extent % lanes}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return combine(result(v), f(along(v, 0, extent / lanes * lanes + r[0])));
           });
  return extremes;
}

void attn::scheduleRowExtremes(PipelineBuilder &p, const RowExtremes &extremes,
                               function_ref<void(Func)> place) {
  int64_t count = extremes.lanes;
  for (Func f : extremes.ofLanes) {
    p.boundExtent(f, 0, count);
    place(f);
    if (count == extremes.lanes)
      vectorizeLanes(p, f, p.loops(f, 0), /*lane=*/0, /*tile=*/{});
    else
      p.vectorize(p.loops(f).front());
    count /= 2;
  }
}

Func attn::reduceAlong(PipelineBuilder &p, StringRef name, Func f, int64_t axis, Scalar extent,
                       Number init, function_ref<Scalar(Scalar, Scalar)> combine) {
  SmallVector<StringRef> names = varNames(f.getRank());
  names.erase(names.begin() + axis);
  Func result = p.func(name, names, f.getElementType(),
                       [&](ArrayRef<Scalar>) { return p.constant(f.getElementType(), init); });
  p.update(result, names, {{"r", extent}},
           [&](ArrayRef<Scalar> rest, ArrayRef<Scalar> r) -> Update {
             return combine(result(rest), f(along(rest, axis, r[0])));
           });
  return result;
}
