//===- Rows.cpp - what pipelines over the rows of a tensor share ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows that one parallel task computes.
static constexpr int64_t kRowsPerTask = 8;

SmallVector<StringRef> attn::varNames(int64_t rank) {
  static constexpr StringRef names[kMaxRank] = {"x", "y", "z", "w", "v", "u", "t", "s"};
  return llvm::to_vector(ArrayRef(names).take_front(rank));
}

RankedTensorType attn::tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

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

void attn::computeAtRow(PipelineBuilder &p, Func f, const OutputLoops &at) {
  if (at.row)
    p.computeAt(f, at.row);
  else
    p.computeRoot(f);
}

void attn::scheduleRowSum(PipelineBuilder &p, Func acc, const OutputLoops &at, int64_t lanes) {
  computeAtRow(p, acc, at);
  p.vectorizeBy(p.loops(acc)[0], lanes);
  SmallVector<Loop> loops = p.loops(acc, 0);
  auto [outer, inner] = p.split(loops[0], lanes, halide::TailStrategy::guard_with_if);
  p.reorder({inner, outer, loops.back()});
  p.vectorize(inner);
}

Func attn::splitIntoLanes(PipelineBuilder &p, Loop reduction, int64_t lanes) {
  auto [outer, inner] = p.split(reduction, lanes, halide::TailStrategy::guard_with_if);
  Func partial = p.rfactor(inner);
  int64_t lane = partial.getRank() - 1;
  p.vectorize(p.loops(partial)[lane]);
  // Lanes inside, then what is summed, then rows.
  SmallVector<Loop> loops = p.loops(partial, 0), order = {loops[lane]};
  llvm::append_range(order, ArrayRef(loops).drop_front(lane + 1));
  llvm::append_range(order, ArrayRef(loops).take_front(lane));
  p.reorder(order);
  p.vectorize(loops[lane]);
  return partial;
}

void attn::scheduleSumAlongRow(PipelineBuilder &p, Func sum, const OutputLoops &at, int64_t lanes) {
  computeAtRow(p, sum, at);
  computeAtRow(p, splitIntoLanes(p, p.loops(sum, 0).back(), lanes), at);
}

Scalar attn::readBroadcast(PipelineBuilder &p, Func in, Value tensor, ArrayRef<Scalar> coords) {
  SmallVector<Scalar> at;
  for (auto [dim, size] : llvm::enumerate(llvm::reverse(tensorType(tensor).getShape())))
    at.push_back(size == 1 ? p.i32(0) : coords[dim]);
  return in(at);
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

Func attn::reduceAlong(PipelineBuilder &p, StringRef name, Func f, int64_t axis, Scalar extent,
                       double init, function_ref<Scalar(Scalar, Scalar)> combine) {
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
