//===- Tensors.cpp - pipelines of elementwise ops, reductions, norms ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "Rows.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr double kInf = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

/// The number of lanes for the widest element type of a map.
static int64_t mapLanes(MapOp op, const CpuInfo &cpu) {
  int64_t lanes = lanesFor(cpu, op.getResult().getType().getElementType());
  for (Value input : op.getInputs())
    lanes = std::min(lanes, lanesFor(cpu, tensorType(input).getElementType()));
  return lanes;
}

/// Builds a pipeline whose elements are the values of `region` for `args` of their coordinates.
static LogicalResult lowerRegion(PipelineBuilder &p, Region &region, RankedTensorType type,
                                 int64_t lanes,
                                 function_ref<SmallVector<Scalar>(ArrayRef<Scalar>)> args) {
  bool failedBody = false;
  auto body = [&](ArrayRef<Scalar> v) {
    FailureOr<Scalar> value = p.inlineRegion(region, args(v));
    failedBody = failed(value);
    if (failedBody)
      return p.constant(type.getElementType(), 0);
    Scalar result = convert(*value, type.getElementType());
    return isa<FloatType>(type.getElementType()) ? strictFloat(result) : result;
  };
  buildOutput(p, "result", type, lanes, body);
  return failure(failedBody);
}

LogicalResult attn::lowerMap(PipelineBuilder &p, MapOp op, const CpuInfo &cpu) {
  SmallVector<Func> inputs;
  for (auto [n, input] : llvm::enumerate(op.getInputs()))
    inputs.push_back(p.input("input" + std::to_string(n), input));
  return lowerRegion(p, op.getBody(), op.getResult().getType(), mapLanes(op, cpu),
                     [&](ArrayRef<Scalar> v) {
                       SmallVector<Scalar> args;
                       for (auto [in, tensor] : llvm::zip_equal(inputs, op.getInputs()))
                         args.push_back(readBroadcast(p, in, tensor, v));
                       return args;
                     });
}

//===----------------------------------------------------------------------===//
// Generate
//===----------------------------------------------------------------------===//

/// The region's arguments are the coordinates, outermost first.
LogicalResult attn::lowerGenerate(PipelineBuilder &p, tensor::GenerateOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  return lowerRegion(p, op.getBody(), type, lanesFor(cpu, type.getElementType()),
                     [](ArrayRef<Scalar> v) { return llvm::to_vector(llvm::reverse(v)); });
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

/// Each lane of a vector of the result reads a cache line of its own. The next elements of these
/// lines are read next: the loop over `contiguous`, the result's dimension that is the source's
/// innermost, is inside of the loop over vectors.
static void scheduleTransposed(PipelineBuilder &p, Func result, int64_t contiguous, int64_t lanes) {
  SmallVector<Loop> loops = p.loops(result);
  Loop vectors = p.vectorizeBy(loops[0], lanes);
  auto [tasks, inLine] = p.split(loops[contiguous], lanes, halide::TailStrategy::guard_with_if);
  loops[contiguous] = tasks;
  loops[0] = vectors;
  for (Loop loop : ArrayRef(loops).drop_front(1))
    p.parallel(loop);
  loops.insert(loops.begin(), inLine);
  p.reorder(loops);
}

LogicalResult attn::lowerTranspose(PipelineBuilder &p, TransposeOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  Func input = p.input("input", op.getInput());
  auto order = op.getPermutation();
  int64_t last = type.getRank() - 1;
  auto body = [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> at(v);
    for (auto [dim, source] : llvm::enumerate(order))
      at[last - source] = v[last - dim]; // Halide counts from the innermost dimension
    return input(at);
  };
  int64_t lanes = lanesFor(cpu, type.getElementType());
  if (op.keepsRows()) {
    buildOutput(p, "result", type, lanes, body);
    return success();
  }
  Func result = p.func("result", varNames(type.getRank()), type.getElementType(), body);
  p.output(result, type);
  scheduleTransposed(p, result, last - (llvm::find(order, last) - order.begin()), lanes);
  return success();
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

LogicalResult attn::lowerStridedSlice(PipelineBuilder &p, tensor::ExtractSliceOp op,
                                      const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  if (llvm::any_of(op.getStaticStrides(), ShapedType::isDynamic))
    return op.emitError("expected constant strides, found an operand");
  Func input = p.input("input", op.getSource());
  auto strides = llvm::to_vector(llvm::reverse(op.getStaticStrides()));
  auto body = [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> at;
    for (auto [coord, stride] : llvm::zip_equal(v, strides))
      at.push_back(stride == 1 ? coord : coord * stride);
    return input(at);
  };
  buildOutput(p, "result", type, lanesFor(cpu, type.getElementType()), body);
  return success();
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// The neutral element of a kind; for `max` and `min` of integers the end of the range.
static Scalar initialValue(PipelineBuilder &p, ReduceKind kind, Type type) {
  bool isMax = kind == ReduceKind::max, isMin = kind == ReduceKind::min;
  if (!isMax && !isMin)
    return p.constant(type, kind == ReduceKind::prod ? 1 : 0);
  if (isa<FloatType>(type))
    return p.constant(type, isMax ? -kInf : kInf);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt end = isMax ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
  return {p.b(), arith::ConstantOp::create(p.b(), p.b().getIntegerAttr(type, end))};
}

static Scalar combine(ReduceKind kind, Scalar x, Scalar y) {
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean:
    return x + y;
  case ReduceKind::max:
    return max(x, y);
  case ReduceKind::min:
    return min(x, y);
  case ReduceKind::prod:
    return x * y;
  case ReduceKind::l2:
    return x + y * y;
  }
  llvm_unreachable("every kind is handled");
}

static Scalar finish(ReduceKind kind, Scalar x, Scalar count) {
  if (kind == ReduceKind::mean)
    return strictFloat(x / convert(count, x.getType()));
  return kind == ReduceKind::l2 ? sqrt(x) : x;
}

static bool isExtreme(ReduceKind kind) {
  return kind == ReduceKind::max || kind == ReduceKind::min;
}

/// NaN-propagating minima and maxima are not associative for Halide: lanes can't share them.
static bool sharesLanes(ReduceKind kind, Type type) {
  return isa<FloatType>(type) && !isExtreme(kind);
}

/// Computes extremes ahead of everything, rows in parallel.
static void scheduleExtremes(PipelineBuilder &p, const RowExtremes &extremes) {
  Func result = extremes.result;
  p.computeRoot(result);
  int64_t numKept = result.getRank();
  if (numKept > 1)
    p.parallel(p.loops(result).back());
  if (numKept > 1 && extremes.hasTail)
    p.parallel(p.loops(result, 0)[numKept - 1]);
  scheduleRowExtremes(p, extremes, [&](Func f) {
    return numKept > 0 ? p.computeAt(f, p.loops(result).front()) : p.computeRoot(f);
  });
}

/// The input's innermost dimension is either reduced, across lanes if the operator allows, or kept
/// and vectorized.
static void scheduleReduce(PipelineBuilder &p, Func acc, bool alongRows, bool inLanes,
                           int64_t lanes) {
  p.computeRoot(acc);
  int64_t numKept = acc.getRank();
  SmallVector<Loop> loops = p.loops(acc, 0);
  if (loops.empty())
    return;
  if (numKept > 1)
    p.parallel(loops[numKept - 1]);
  if (alongRows) {
    if (!inLanes)
      return;
    auto place = [&](Func part) {
      return numKept > 0 ? p.computeAt(part, loops[0]) : p.computeRoot(part);
    };
    LaneSums sums = splitIntoLanes(p, loops[numKept], lanes);
    place(sums.partial);
    combineLanes(p, sums.lane, lanes, place);
    return;
  }
  p.vectorizeBy(p.loops(acc)[0], lanes);
  auto [outer, inner] = p.split(loops[0], lanes, halide::TailStrategy::guard_with_if);
  SmallVector<Loop> order = {inner, outer};
  llvm::append_range(order, ArrayRef(loops).drop_front(numKept));
  p.reorder(order);
  p.vectorize(inner);
}

namespace {
/// The dimensions of a reduction, innermost first.
struct ReduceDims {
  SmallVector<bool> reduced;

  explicit ReduceDims(ReduceOp op) : reduced(op.getReducedDims()) {
    std::reverse(reduced.begin(), reduced.end());
  }
  int64_t numKept() const { return llvm::count(reduced, false); }
  bool alongRows() const { return !reduced.empty() && reduced.front(); }

  /// The input's coordinates, from kept and reduced ones.
  SmallVector<Scalar> merge(ArrayRef<Scalar> kept, ArrayRef<Scalar> r) const {
    SmallVector<Scalar> at;
    for (bool isReduced : reduced) {
      ArrayRef<Scalar> &from = isReduced ? r : kept;
      at.push_back(from.front());
      from = from.drop_front();
    }
    return at;
  }
  /// The coordinates of kept dimensions.
  SmallVector<Scalar> keep(ArrayRef<Scalar> all) const {
    SmallVector<Scalar> kept;
    for (auto [coord, isReduced] : llvm::zip_equal(all, reduced))
      if (!isReduced)
        kept.push_back(coord);
    return kept;
  }
};
} // namespace

/// Sums over many axes are long: floats are accumulated in f64.
static Type sumType(ReduceKind kind, Type element) {
  bool isSum = kind != ReduceKind::max && kind != ReduceKind::min;
  return isSum && isa<FloatType>(element) ? Float64Type::get(element.getContext()) : element;
}

static Func buildReduce(PipelineBuilder &p, ReduceOp op, const ReduceDims &dims, Func input) {
  Type type = sumType(op.getKind(), input.getElementType());
  SmallVector<StringRef> kept = varNames(dims.numKept());
  SmallVector<StringRef> names = reductionNames(dims.reduced.size() - dims.numKept());
  SmallVector<Reduction> reductions;
  for (auto [dim, isReduced] : llvm::enumerate(dims.reduced))
    if (isReduced)
      reductions.push_back({names[reductions.size()], p.extent(input, dim)});
  Func acc = p.func("acc", kept, type,
                    [&](ArrayRef<Scalar>) { return initialValue(p, op.getKind(), type); });
  p.update(acc, kept, reductions, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    return combine(op.getKind(), acc(v), convert(input(dims.merge(v, r)), type));
  });
  return acc;
}

/// The number of elements reduced into one, as a float.
static Scalar countElements(PipelineBuilder &p, const ReduceDims &dims, Func input, Type type) {
  Scalar count = p.constant(type, 1);
  for (auto [dim, isReduced] : llvm::enumerate(dims.reduced))
    if (isReduced)
      count = count * convert(p.extent(input, dim), type);
  return count;
}

static LogicalResult lowerReduce(PipelineBuilder &p, ReduceOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  Type element = type.getElementType();
  ReduceDims dims(op);
  Func input = p.input("input", op.getInput());
  std::optional<RowExtremes> extremes;
  if (isExtreme(op.getKind()) && dims.alongRows() && dims.numKept() + 1 == input.getRank())
    extremes = buildRowExtremes(
        p, "acc", input, p.extent(input, 0), initialValue(p, op.getKind(), element),
        [&](Scalar x, Scalar y) { return combine(op.getKind(), x, y); }, lanesFor(cpu, element));
  Func acc = extremes ? extremes->result : buildReduce(p, op, dims, input);
  auto body = [&](ArrayRef<Scalar> v) {
    Scalar x = acc(op.getKeepDims() ? dims.keep(v) : SmallVector<Scalar>(v));
    if (isa<FloatType>(element))
      x = finish(op.getKind(), x, countElements(p, dims, input, x.getType()));
    return convert(x, element);
  };
  int64_t lanes = lanesFor(cpu, acc.getElementType());
  buildOutput(p, "result", type, lanes, body);
  if (extremes)
    scheduleExtremes(p, *extremes);
  else
    scheduleReduce(p, acc, dims.alongRows(), sharesLanes(op.getKind(), element), lanes);
  return success();
}

//===----------------------------------------------------------------------===//
// Lse
//===----------------------------------------------------------------------===//

static LogicalResult lowerLse(PipelineBuilder &p, LseOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  Type acc =
      accumulatorType(type.getElementType().isF64() ? type.getElementType()
                                                    : tensorType(op.getScore()).getElementType());
  Func input = p.input("score", op.getScore());
  Scalar extent = p.extent(input, 0);
  SmallVector<StringRef> vars = varNames(type.getRank() + 1);

  Func score =
      p.func("wide", vars, acc, [&](ArrayRef<Scalar> v) { return convert(input(v), acc); });
  int64_t lanes = lanesFor(cpu, acc);
  RowExtremes extremes = buildRowExtremes(
      p, "max", score, extent, p.constant(acc, -kInf), [](Scalar x, Scalar y) { return max(x, y); },
      lanes);
  Func top = extremes.result;
  Func power = p.func("power", vars, acc, [&](ArrayRef<Scalar> v) {
    return strictFloat(exp(score(v) - top(v.drop_front())));
  });
  Func sum = reduceAlong(p, "sum", power, 0, extent, 0, plus);
  // If the maximum is infinite, the differences are NaN, and the maximum is the result.
  Func lse =
      p.func("lse", ArrayRef(vars).drop_back(), type.getElementType(), [&](ArrayRef<Scalar> v) {
        Scalar m = top(v), infinite = (m == -kInf) || (m == kInf);
        Scalar finite = m + log(sum(v));
        return convert(strictFloat(select(infinite, m, finite)), type.getElementType());
      });
  p.output(lse, type);

  scheduleOutput(p, lse, lanes);
  scheduleExtremes(p, extremes);
  scheduleReduce(p, sum, /*alongRows=*/true, /*inLanes=*/true, lanes);
  return success();
}

//===----------------------------------------------------------------------===//
// LayerNorm
//===----------------------------------------------------------------------===//

static LogicalResult lowerLayerNorm(PipelineBuilder &p, LayerNormOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  Type element = type.getElementType(), acc = accumulatorType(element);
  Func input = p.input("input", op.getInput());
  Func scale = op.getScale() ? p.input("scale", op.getScale()) : Func();
  Func bias = op.getBias() ? p.input("bias", op.getBias()) : Func();
  Scalar extent = p.extent(input, 0);
  SmallVector<StringRef> vars = varNames(type.getRank());
  ArrayRef<StringRef> rows = ArrayRef(vars).drop_back();
  auto perElement = [&](Scalar sum) { return sum / convert(extent, acc); };

  Func wide = p.func("wide", vars, acc, [&](ArrayRef<Scalar> v) { return convert(input(v), acc); });
  // Subtracts the mean twice: the first mean is rounded, by an error that may be large beside the
  // deviations. Strict, or the two would be merged, and x - x of NaN would become 0.
  SmallVector<Func> sums;
  Func difference = wide;
  auto subtractMean = [&](StringRef sumName, StringRef name) {
    Func sum = sums.emplace_back(reduceAlong(p, sumName, difference, 0, extent, 0, plus));
    difference = p.func(name, vars, acc, [&](ArrayRef<Scalar> v) {
      return strictFloat(difference(v) - perElement(sum(v.drop_front())));
    });
  };
  if (op.getMode() == NormMode::layer) {
    subtractMean("sum", "centred");
    subtractMean("rest", "difference");
  }
  Func square = p.func("square", vars, acc,
                       [&](ArrayRef<Scalar> v) { return difference(v) * difference(v); });
  Func squares = reduceAlong(p, "squares", square, 0, extent, 0, plus);
  Func inverse = p.func("inverse", rows, acc, [&](ArrayRef<Scalar> v) {
    Scalar spread = sqrt(perElement(squares(v)) + op.getEpsilon().convertToDouble());
    return strictFloat(spread.constant(1) / spread);
  });
  Func result = p.func("result", vars, element, [&](ArrayRef<Scalar> v) {
    Scalar y = difference(v) * inverse(v.drop_front());
    if (op.getScale())
      y = y * convert(scale(v[0]), acc);
    if (op.getBias())
      y = y + convert(bias(v[0]), acc);
    return convert(y, element);
  });
  p.output(result, type);

  int64_t lanes = lanesFor(cpu, acc);
  OutputLoops out = scheduleOutput(p, result, lanes);
  for (Func sum : sums)
    scheduleSumAlongRow(p, sum, extent, out, lanes, LaneOrder::sequential);
  scheduleSumAlongRow(p, squares, extent, out, lanes, LaneOrder::sequential);
  computeAtRow(p, inverse, out);
  return success();
}

void attn::addRowLowerings(Lowerings &lowerings) {
  lowerings.addPipeline(lowerReduce);
  lowerings.addPipeline(lowerLse);
  lowerings.addPipeline(lowerLayerNorm);
}
