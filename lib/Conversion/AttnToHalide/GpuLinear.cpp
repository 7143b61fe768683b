//===- GpuLinear.cpp - the pipeline of attn.linear on a GPU ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of threads computes a tile of rows × features in registers: thread (x, y) holds the rows
// y, y + kThreadsY, … of the features x, x + kThreadsX, …. Slices of the input's rows and of the
// weights are staged in shared memory.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "Rows.h"

#include "attnc/Dialect/Attn/GpuSharedMemory.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;
using halide::MemoryType;
using halide::TailStrategy;

namespace {
constexpr int64_t kThreadsX = 16, kThreadsY = 8, kFeatures = 64, kMaxRows = 64;
/// Products between two barriers, and products added up before each accumulation, for fewer
/// roundings.
constexpr int64_t kProducts = 16, kFewProducts = 8;
/// Distance between rows in shared memory.
constexpr int64_t kDistance = getRowDistance(kProducts);

class GpuLinear {
public:
  GpuLinear(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue, Value panels);
  LogicalResult lower();

private:
  void buildTiles();
  void buildSum();
  LogicalResult buildResult();
  void scheduleResult();
  void scheduleSum();
  void scheduleTile(Func tile, Loop at, int64_t height, bool alongRows);
  void storeTile(Func f, Loop at, MemoryType memory, int64_t width, int64_t height);
  void spread(Loop features, Loop rows, ArrayRef<Loop> inner, ArrayRef<Loop> outer);

  SmallVector<StringRef> with(ArrayRef<StringRef> first) const;
  Scalar weightAt(Scalar k, Scalar n);

  PipelineBuilder &p;
  LinearOp op;
  ArrayRef<MapOp> epilogue;
  Value packed;
  RankedTensorType type;
  Type acc;
  int64_t rowTile;
  Func input, weight, bias, inputTile, weightTile, sum, result;
  Scalar rows, width;
  Loop blockLoop;
};
} // namespace

GpuLinear::GpuLinear(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue, Value panels)
    : p(p), op(op), epilogue(epilogue), packed(panels), type(tensorType(op.getResult())),
      acc(accumulatorType(type.getElementType())) {
  int64_t known = type.getDimSize(type.getRank() - 2);
  rowTile = ShapedType::isDynamic(known)
                ? kMaxRows
                : std::clamp<int64_t>(llvm::alignTo(known, kThreadsY), kThreadsY, kMaxRows);
  input = p.input("input", op.getInput());
  weight = packed ? p.input("panels", packed) : p.input("weight", op.getWeight());
  if (op.getBias())
    bias = p.input("bias", op.getBias());
  width = p.extent(input, 0);
  rows = p.extent(input, 1);
}

/// `first`, then the names of the outer dimensions.
SmallVector<StringRef> GpuLinear::with(ArrayRef<StringRef> first) const {
  SmallVector<StringRef> names(first);
  if (type.getRank() == 3)
    names.push_back("b");
  return names;
}

/// Panels are (column, k, panel); a tile may reach past the last feature.
Scalar GpuLinear::weightAt(Scalar k, Scalar n) {
  if (!packed)
    return weight(k, min(n, p.extent(weight, 1) - 1));
  auto shape = tensorType(packed).getShape();
  int64_t numPanels = shape[0], columns = shape[2];
  return weight(n % columns, k, min(n / columns, numPanels - 1));
}

/// Both operands are 0 past the last product, so that an infinite weight does not count.
void GpuLinear::buildTiles() {
  auto orZero = [&](Scalar k, function_ref<Scalar(Scalar)> element) {
    Scalar x = convert(element(min(k, width - 1)), acc);
    return select(k < width, x, p.constant(acc, 0));
  };
  inputTile = p.func("input_tile", with({"k", "mi", "ko", "mo"}), acc, [&](ArrayRef<Scalar> v) {
    return orZero(v[2] * kProducts + v[0], [&](Scalar k) {
      SmallVector<Scalar> at = {k, min(v[3] * rowTile + v[1], rows - 1)};
      llvm::append_range(at, v.drop_front(4));
      return input(at);
    });
  });
  weightTile = p.func("weight_tile", {"k", "ni", "ko", "no"}, acc, [&](ArrayRef<Scalar> v) {
    return orZero(v[2] * kProducts + v[0],
                  [&](Scalar k) { return weightAt(k, v[3] * kFeatures + v[1]); });
  });
}

void GpuLinear::buildSum() {
  SmallVector<StringRef> vars = with({"ni", "mi", "no", "mo"});
  sum = p.func("sum", vars, acc, [&](ArrayRef<Scalar>) { return p.constant(acc, 0); });
  p.update(sum, vars,
           {{"k", p.i32(kProducts / kFewProducts)}, {"ko", (width + (kProducts - 1)) / kProducts}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             auto product = [&](int64_t i) {
               Scalar k = r[0] * kFewProducts + i;
               SmallVector<Scalar> at = {k, v[1], r[1], v[3]};
               llvm::append_range(at, v.drop_front(4));
               return inputTile(at) * weightTile(k, v[0], r[1], v[2]);
             };
             Scalar few = product(0);
             for (int64_t i = 1; i < kFewProducts; ++i)
               few = few + product(i);
             return sum(v) + few;
           });
}

LogicalResult GpuLinear::buildResult() {
  auto last = epilogue.empty() ? type : tensorType(epilogue.back()->getResult(0));
  bool isWhole = true;
  result = p.func("result", with({"n", "m"}), last.getElementType(), [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> at = {v[0] % kFeatures, v[1] % rowTile, v[0] / kFeatures, v[1] / rowTile};
    llvm::append_range(at, v.drop_front(2));
    Scalar y = sum(at);
    y = convert(Value(bias) ? y + convert(bias(v[0]), acc) : y, type.getElementType());
    FailureOr<Scalar> whole = inlineEpilogue(p, op, epilogue, y, v);
    isWhole = succeeded(whole);
    return isWhole ? *whole : p.constant(last.getElementType(), 0);
  });
  p.output(result, last);
  return success(isWhole);
}

/// Unrolls a thread's rows and features; `inner` loops are inside the thread loops, `outer` ones
/// around them.
void GpuLinear::spread(Loop features, Loop rows, ArrayRef<Loop> inner, ArrayRef<Loop> outer) {
  auto [n, x] = p.split(features, kThreadsX);
  auto [m, y] = p.split(rows, kThreadsY);
  p.unroll(n);
  p.unroll(m);
  p.spreadOverThreads({n, m}, inner, {x, y}, outer);
}

/// One dimension of the grid each.
void GpuLinear::scheduleResult() {
  SmallVector<Loop> v = p.loops(result);
  auto [no, ni] = p.split(v[0], kFeatures, TailStrategy::guard_with_if);
  auto [mo, mi] = p.split(v[1], rowTile, TailStrategy::guard_with_if);
  SmallVector<Loop> blocks = {no, mo};
  llvm::append_range(blocks, ArrayRef(v).drop_front(2));
  spread(ni, mi, {}, blocks);
  for (Loop loop : blocks)
    p.gpuBlock(loop);
  blockLoop = no;
  p.neverPartition(result);
}

/// The first two dimensions are within a tile, the others number the tiles.
void GpuLinear::storeTile(Func f, Loop at, MemoryType memory, int64_t width, int64_t height) {
  p.computeAt(f, at);
  p.storeIn(f, memory);
  p.boundExtent(f, 0, width);
  p.boundExtent(f, 1, height);
  for (int64_t dim = 2; dim < f.getRank(); ++dim)
    p.boundExtent(f, dim, 1);
  p.neverPartition(f);
}

void GpuLinear::scheduleSum() {
  storeTile(sum, blockLoop, MemoryType::register_, kFeatures, rowTile);
  SmallVector<Loop> init = p.loops(sum);
  spread(init[0], init[1], {}, {});
  SmallVector<Loop> v = p.loops(sum, 0); // ni mi no mo b k ko
  Loop products = v[v.size() - 2], steps = v.back();
  SmallVector<Loop> outer = {steps};
  llvm::append_range(outer, ArrayRef(v).slice(2, v.size() - 4));
  spread(v[0], v[1], {products}, outer);
  p.neverPartition(sum, 0);
  scheduleTile(inputTile, steps, rowTile, /*alongRows=*/false);
  scheduleTile(weightTile, steps, kFeatures, /*alongRows=*/Value(packed) != Value());
}

/// Adjacent threads read adjacent elements.
void GpuLinear::scheduleTile(Func tile, Loop at, int64_t height, bool alongRows) {
  storeTile(tile, at, MemoryType::gpu_shared, kProducts, height);
  p.alignStorage(tile, 0, kDistance);
  SmallVector<Loop> v = p.loops(tile);
  Loop along = alongRows ? v[1] : v[0], across = alongRows ? v[0] : v[1];
  auto [more, x] = p.split(along, kThreadsX);
  auto [others, y] = p.split(across, kThreadsY);
  p.reorder({more, others, x, y});
  p.gpuThread(x);
  p.gpuThread(y);
}

LogicalResult GpuLinear::lower() {
  buildTiles();
  buildSum();
  if (failed(buildResult()))
    return failure();
  scheduleResult();
  scheduleSum();
  return success();
}

bool attn::hasGpuTiles(LinearOp op) {
  int64_t rank = tensorType(op.getResult()).getRank();
  return (rank == 2 || rank == 3) && !op.isInteger();
}

LogicalResult attn::lowerLinearOnGpu(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                                     Value panels) {
  return GpuLinear(p, op, epilogue, panels).lower();
}
