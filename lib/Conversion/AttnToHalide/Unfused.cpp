//===- Unfused.cpp - pipelines of single ops ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serve any shape. Products are in register tiles, others vectorized along the innermost dimension
// and parallel over the outer ones.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"
#include "FunctionConverter.h"
#include "TiledProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
/// An error of a score is a factor of its prob: sums of scores are shorter than others.
constexpr int64_t kLongestScoreSum = 8;
} // namespace

/// From coordinates (…, query head, batch) to those of the key/value head that it reads.
static auto makeHeadOfKv(PipelineBuilder &p, Func query, Func kv) {
  Scalar numQHeads = p.extent(query, 2), numKvHeads = p.extent(kv, 2);
  return [=, &p](ArrayRef<Scalar> at) -> SmallVector<Scalar> {
    return {clamp(at[2] / (numQHeads / numKvHeads), p.i32(0), numKvHeads - 1), at[3]};
  };
}

static SmallVector<Scalar> ownHead(ArrayRef<Scalar> at) { return {at[2], at[3]}; }

/// The sums over dims of the products of query and key elements, times `scale`.
static LogicalResult lowerPairs(PipelineBuilder &p, Value queryTensor, Value keyTensor,
                                Value result, double scale, const CpuInfo &cpu,
                                function_ref<Scalar(Scalar, Scalar, Scalar)> multiply) {
  Type element = tensorType(result).getElementType(), acc = accumulatorType(element);
  Func query = p.input("query", queryTensor), key = p.input("key", keyTensor);
  auto headOfKey = makeHeadOfKv(p, query, key);
  buildMatrixProduct(
      p,
      {.result = tensorType(result),
       .left = query,
       .right = key,
       .isRightTransposed = true,
       .leftOuter = ownHead,
       .rightOuter = headOfKey,
       .multiply = [&](Scalar q, Scalar k,
                       Scalar d) { return multiply(widenFactor(q, acc), k, d); },
       // A scale of zero must keep NaN.
       .finish = [&](Scalar sum) { return convert(strictFloat(sum * scale), element); },
       .longestSum = kLongestScoreSum},
      cpu);
  return success();
}

static LogicalResult lowerScore(PipelineBuilder &p, ScoreOp op, const CpuInfo &cpu) {
  return lowerPairs(p, op.getQuery(), op.getKey(), op.getScore(), op.getScale().convertToDouble(),
                    cpu, [](Scalar q, Scalar k, Scalar) { return q * k; });
}

static LogicalResult lowerAdditiveScore(PipelineBuilder &p, AdditiveScoreOp op,
                                        const CpuInfo &cpu) {
  Func weight = p.input("weight", op.getWeight());
  return lowerPairs(p, op.getQuery(), op.getKey(), op.getScore(), 1, cpu,
                    [&](Scalar q, Scalar k, Scalar d) {
                      return convert(weight(d), q.getType()) * strictFloat(tanh(q + k));
                    });
}

static LogicalResult lowerContext(PipelineBuilder &p, ContextOp op, const CpuInfo &cpu) {
  RankedTensorType type = tensorType(op.getResult());
  Type element = type.getElementType(), acc = accumulatorType(element);
  Func prob = p.input("prob", op.getProb()), value = p.input("value", op.getValue());
  auto headOfValue = makeHeadOfKv(p, prob, value);
  // Zero times Inf or NaN is NaN: masked values are not multiplied.
  auto multiply = [&](Scalar stored, Scalar x, Scalar) {
    Scalar weight = convert(stored, acc);
    return select(weight == 0, x.constant(0), weight * x);
  };
  buildMatrixProduct(p,
                     {.result = type,
                      .left = prob,
                      .right = value,
                      .isRightTransposed = false,
                      .leftOuter = ownHead,
                      .rightOuter = headOfValue,
                      .multiply = multiply,
                      .finish = [&](Scalar sum) { return convert(sum, element); }},
                     cpu);
  return success();
}

/// Builds an output computed elementwise from one tensor and its coordinates.
static LogicalResult
lowerPointwise(PipelineBuilder &p, Value input, Value result, const CpuInfo &cpu,
               function_ref<FailureOr<Scalar>(Scalar, ArrayRef<Scalar>)> body) {
  RankedTensorType type = tensorType(result);
  Func in = p.input("input", input);
  bool failedBody = false;
  auto element = [&](ArrayRef<Scalar> v) {
    FailureOr<Scalar> value = body(in(v), v);
    failedBody = failed(value);
    return failedBody ? in(v) : *value;
  };
  buildOutput(p, "output", type, lanesFor(cpu, type.getElementType()), element);
  return failure(failedBody);
}

/// The region's arguments after the score: batch, head, q, k.
static SmallVector<Scalar> regionCoords(ArrayRef<Scalar> v) { return {v[3], v[2], v[1], v[0]}; }

/// The value of the region for an element `x` at coordinates.
static FailureOr<Scalar> inlineModified(PipelineBuilder &p, Region &body, Scalar x,
                                        ArrayRef<Scalar> v) {
  SmallVector<Scalar> args = regionCoords(v);
  args.insert(args.begin(), x);
  FailureOr<Scalar> value = p.inlineRegion(body, args);
  if (failed(value))
    return failure();
  return strictFloat(convert(*value, x.getType()));
}

/// `y`, computed from the score `x`; -inf if `y` is NaN and `x` is masked.
static FailureOr<Scalar> keepHidden(PipelineBuilder &p, ArrayRef<MaskOp> masks, Scalar x, Scalar y,
                                    ArrayRef<Scalar> v) {
  for (MaskOp mask : masks) {
    FailureOr<Scalar> visible = p.inlineRegion(mask.getBody(), regionCoords(v));
    if (failed(visible))
      return failure();
    Scalar isHidden = x == -kInf && !(y == y) && !*visible;
    y = strictFloat(select(isHidden, y.constant(-kInf), y));
  }
  return y;
}

static LogicalResult lowerModifyScore(PipelineBuilder &p, ModifyScoreOp op, const CpuInfo &cpu) {
  SmallVector<MaskOp> masks = findMasksBehind(op.getScore());
  return lowerPointwise(p, op.getScore(), op.getResult(), cpu,
                        [&](Scalar x, ArrayRef<Scalar> v) -> FailureOr<Scalar> {
                          FailureOr<Scalar> y = inlineModified(p, op.getBody(), x, v);
                          return failed(y) ? y : keepHidden(p, masks, x, *y, v);
                        });
}

static LogicalResult lowerModifyProb(PipelineBuilder &p, ModifyProbOp op, const CpuInfo &cpu) {
  return lowerPointwise(p, op.getProb(), op.getResult(), cpu,
                        [&](Scalar x, ArrayRef<Scalar> v) -> FailureOr<Scalar> {
                          FailureOr<Scalar> y = inlineModified(p, op.getBody(), x, v);
                          if (failed(y))
                            return failure();
                          // A masked key's prob stays 0, whatever the factor.
                          Scalar isLost = x == 0 && !(*y == *y);
                          return strictFloat(select(isLost, x, *y));
                        });
}

static LogicalResult lowerMask(PipelineBuilder &p, MaskOp op, const CpuInfo &cpu) {
  return lowerPointwise(p, op.getScore(), op.getResult(), cpu,
                        [&](Scalar x, ArrayRef<Scalar> v) -> FailureOr<Scalar> {
                          auto visible = p.inlineRegion(op.getBody(), regionCoords(v));
                          if (failed(visible))
                            return failure();
                          return strictFloat(select(*visible, x, x.constant(-kInf)));
                        });
}

LogicalResult attn::lowerCopy(PipelineBuilder &p, Value tensor, const CpuInfo &cpu) {
  return lowerPointwise(p, tensor, tensor, cpu,
                        [](Scalar x, ArrayRef<Scalar>) -> FailureOr<Scalar> { return x; });
}

bool attn::isElementwise(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

LogicalResult attn::lowerElementwise(PipelineBuilder &p, Operation *op, const CpuInfo &cpu) {
  SmallVector<Func> inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    inputs.push_back(p.input("input" + std::to_string(i), operand));
  RankedTensorType type = tensorType(op->getResult(0));
  auto element = [&](ArrayRef<Scalar> v) {
    SmallVector<Value> operands;
    for (const Func &in : inputs)
      operands.push_back(in(v));
    OperationState state(op->getLoc(), op->getName(), operands, type.getElementType(),
                         op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Scalar result(p.b(), p.b().create(state)->getResult(0));
    // Strict: x - x is not always 0, nor x / x always 1.
    return isa<FloatType>(type.getElementType()) ? strictFloat(result) : result;
  };
  buildOutput(p, "output", type, lanesFor(cpu, type.getElementType()), element);
  return success();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static LogicalResult lowerSoftmax(PipelineBuilder &p, SoftmaxOp op, const CpuInfo &cpu) {
  RankedTensorType type = tensorType(op.getProb());
  Type element = type.getElementType(), acc = accumulatorType(element);
  int64_t rank = type.getRank(), given = op.getAxis();
  // Halide counts from the innermost dimension.
  int64_t axis = given < 0 ? -1 - given : rank - 1 - given;
  Func input = p.input("score", op.getScore());
  Scalar extent = p.extent(input, axis);
  SmallVector<StringRef> vars = varNames(rank);

  Func score =
      p.func("wide", vars, acc, [&](ArrayRef<Scalar> v) { return convert(input(v), acc); });
  int64_t lanes = lanesFor(cpu, acc);
  auto larger = [](Scalar x, Scalar y) { return max(x, y); };
  RowExtremes extremes = {};
  if (axis == 0)
    extremes = buildRowExtremes(p, "max", score, extent, p.constant(acc, -kInf), larger, lanes);
  Func top =
      axis == 0 ? extremes.result : reduceAlong(p, "max", score, axis, extent, -kInf, larger);
  // -inf less -inf is NaN; a masked score is 0 whatever the row's maximum.
  Func power = p.func("power", vars, acc, [&](ArrayRef<Scalar> v) {
    Scalar s = score(v);
    return strictFloat(select(s == -kInf, s.constant(0), exp(s - top(without(v, axis)))));
  });
  Func sum = reduceAlong(p, "sum", power, axis, extent, 0, plus);
  Func prob = p.func("prob", vars, element, [&](ArrayRef<Scalar> v) {
    Scalar x = power(v) / sum(without(v, axis));
    return convert(strictFloat(select(score(v) == -kInf, x.constant(0), x)), element);
  });
  p.output(prob, type);

  // Along rows everything happens inside a row; along columns, rows are the vectors.
  OutputLoops out = scheduleOutput(p, prob, lanes);
  if (axis > 0) {
    scheduleRowReduction(p, top, OutputLoops(), lanes);
    scheduleRowSum(p, sum, extent, OutputLoops(), lanes);
  } else {
    computeAtRow(p, top, out);
    scheduleRowExtremes(p, extremes, [&](Func f) { computeAtRow(p, f, out); });
    scheduleSumAlongRow(p, sum, extent, out, lanes, LaneOrder::byHalves);
  }
  computeAtRow(p, power, axis > 0 ? OutputLoops() : out);
  p.vectorizeBy(p.loops(power)[0], lanes);
  return success();
}

void attn::addScoreLowerings(Lowerings &lowerings) {
  lowerings.addPipeline(lowerScore);
  lowerings.addPipeline(lowerAdditiveScore);
  lowerings.addPipeline(lowerModifyScore);
  lowerings.addPipeline(lowerMask);
  lowerings.addPipeline(lowerSoftmax);
  lowerings.addPipeline(lowerModifyProb);
  lowerings.addPipeline(lowerContext);
}
