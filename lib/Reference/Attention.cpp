//===- Attention.cpp - score, mask, softmax and context -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "PackedRows.h"
#include "Pages.h"
#include "Quantize.h"
#include "Sums.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

//===----------------------------------------------------------------------===//
// On arrays
//===----------------------------------------------------------------------===//

static Array computeScore(const Array &query, const Array &key, double scale, Environment &env) {
  Array score(query.elementType, {query.shape[0], query.shape[1], query.shape[2], key.shape[2]});
  int64_t width = query.shape[3];
  forEachIndex(score.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t keyHead = at[1] / (query.shape[1] / key.shape[1]);
    const Scalar *q = &query.values[getLinear(query.shape, {at[0], at[1], at[2], 0})];
    const Scalar *k = &key.values[getLinear(key.shape, {at[0], keyHead, at[3], 0})];
    double product = env.round(dot(env, q, 1, k, 1, width), score.elementType);
    score.values[linear].real = product * scale;
  });
  env.round(score);
  return score;
}

static Array computeAdditiveScore(AdditiveScoreOp op, Environment &env) {
  const Array &query = env.get(op.getQuery()), &key = env.get(op.getKey());
  const Array &weight = env.get(op.getWeight());
  int64_t width = query.shape[3];
  Array score(query.elementType, {query.shape[0], query.shape[1], query.shape[2], key.shape[2]});
  SmallVector<Scalar> terms(width);
  forEachIndex(score.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t keyHead = at[1] / (query.shape[1] / key.shape[1]);
    const Scalar *q = &query.values[getLinear(query.shape, {at[0], at[1], at[2], 0})];
    const Scalar *k = &key.values[getLinear(key.shape, {at[0], keyHead, at[3], 0})];
    for (int64_t d = 0; d < width; ++d)
      terms[d].real = env.round(std::tanh(q[d].real + k[d].real), score.elementType);
    score.values[linear].real = dot(env, terms.data(), 1, weight.values.data(), 1, width);
  });
  return score;
}

/// Replaces each element by the region's result for it and its index.
static LogicalResult modify(Region &region, Array &array, Environment &env) {
  FailureOr<Body> body = Body::prepare(region, env);
  if (failed(body))
    return failure();
  forEachIndex(array.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    Scalar &element = array.values[linear];
    element = (*body)({element, integer(at[0]), integer(at[1]), integer(at[2]), integer(at[3])});
  });
  return success();
}

/// The same for probs. A prob of 0 that would become NaN stays 0: a masked key contributes nothing,
/// whatever its prob is multiplied by.
static LogicalResult modifyProb(Region &region, Array &prob, Environment &env) {
  std::vector<Scalar> before = prob.values;
  if (failed(modify(region, prob, env)))
    return failure();
  for (auto [old, modified] : llvm::zip_equal(before, prob.values))
    if (old.real == 0 && std::isnan(modified.real))
      modified.real = 0;
  return success();
}

/// Sets scores to -inf if the region is false.
static LogicalResult mask(Region &region, Array &score, Environment &env) {
  FailureOr<Body> body = Body::prepare(region, env);
  if (failed(body))
    return failure();
  forEachIndex(score.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    if (!(*body)({integer(at[0]), integer(at[1]), integer(at[2]), integer(at[3])}).integer)
      score.values[linear].real = -INFINITY;
  });
  return success();
}

namespace {
/// The row statistics for softmax and lse.
struct RowSum {
  double max = -INFINITY;
  /// Σ exp(score - max); 0 if every score is -inf.
  double sum = 0;
};
} // namespace

/// For `count` scores, `stride` apart, and a sink (-inf: none). NaN makes the sum NaN.
static RowSum sumRow(Environment &env, const Scalar *row, int64_t stride, int64_t count,
                     double sink = -INFINITY) {
  RowSum result;
  result.max = std::isnan(sink) ? -INFINITY : sink;
  bool empty = sink == -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    double score = row[i * stride].real;
    empty &= score == -INFINITY;
    if (score > result.max)
      result.max = score;
  }
  if (empty)
    return result;
  result.sum = withAccumulator(env, [&](auto zero) {
    using Float = decltype(zero);
    auto weigh = [&](double score) { return std::exp(Float(score) - Float(result.max)); };
    Float sum = addUp<Float>(0, count, [&](int64_t i) { return weigh(row[i * stride].real); });
    return sink == -INFINITY ? sum : Float(sum + weigh(sink));
  });
  return result;
}

static void normaliseRow(Environment &env, Scalar *row, int64_t stride, int64_t count,
                         double sink) {
  RowSum total = sumRow(env, row, stride, count, sink);
  for (int64_t i = 0; i < count; ++i) {
    double &element = row[i * stride].real;
    element = element == -INFINITY ? 0 : withAccumulator(env, [&](auto zero) {
      using Float = decltype(zero);
      return std::exp(Float(element) - Float(total.max)) / Float(total.sum);
    });
  }
}

/// The value of a broadcast sink for a row of the score.
static double getSink(const Array &sink, ArrayRef<int64_t> row) {
  int64_t at[3];
  for (int dim = 0; dim < 3; ++dim)
    at[dim] = sink.shape[dim] == 1 ? 0 : row[dim];
  return sink.values[getLinear(sink.shape, at)].real;
}

/// `sink` is null if there is none.
static Array computeSoftmax(Array score, int64_t axis, Value sink, Environment &env) {
  const Array *sinks = sink ? &env.get(sink) : nullptr;
  int64_t count = score.shape[axis], stride = 1;
  for (int64_t size : ArrayRef(score.shape).drop_front(axis + 1))
    stride *= size;
  forEachIndex(score.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    if (at[axis] == 0)
      normaliseRow(env, &score.values[linear], stride, count,
                   sinks ? getSink(*sinks, at) : -INFINITY);
  });
  env.round(score);
  return score;
}

/// Over the last dimension.
static Array computeLse(const Array &score, Type elementType, Environment &env) {
  Array lse(elementType, ArrayRef(score.shape).drop_back());
  int64_t count = score.shape.back();
  for (int64_t row = 0; row < lse.size(); ++row) {
    RowSum total = sumRow(env, score.values.data() + row * count, 1, count);
    // exp(inf - inf) is NaN, but the lse of a row with inf is inf.
    bool infinite =
        total.max == INFINITY &&
        !std::any_of(score.values.begin() + row * count, score.values.begin() + (row + 1) * count,
                     [](Scalar s) { return std::isnan(s.real); });
    lse.values[row].real = total.sum == 0 ? -INFINITY
                           : infinite     ? INFINITY
                                          : total.max + std::log(total.sum);
  }
  env.round(lse);
  return lse;
}

static Array computeContext(const Array &prob, const Array &value, Environment &env) {
  int64_t keys = prob.shape[3], width = value.shape[3];
  Array context(prob.elementType, {prob.shape[0], prob.shape[1], prob.shape[2], width});
  forEachIndex(context.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t valueHead = at[1] / (prob.shape[1] / value.shape[1]);
    const Scalar *p = prob.values.data() + getLinear(prob.shape, {at[0], at[1], at[2], 0});
    const Scalar *v = value.values.data() + getLinear(value.shape, {at[0], valueHead, 0, at[3]});
    context.values[linear].real = withAccumulator(env, [&](auto zero) {
      using Float = decltype(zero);
      return addUp<Float>(0, keys, [&](int64_t j) {
        // A prob of 0 adds nothing, even where the value is NaN.
        return p[j].real == 0 ? zero : Float(p[j].real) * Float(v[j * width].real);
      });
    });
  });
  env.round(context);
  return context;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult evaluate(ScoreOp op, Environment &env) {
  return env.set(op, computeScore(env.get(op.getQuery()), env.get(op.getKey()),
                                  op.getScale().convertToDouble(), env));
}

static LogicalResult evaluate(AdditiveScoreOp op, Environment &env) {
  return env.set(op, computeAdditiveScore(op, env));
}

/// Restores -inf for scores hidden by `masks` that were -inf `before` and became NaN.
static LogicalResult keepHidden(ArrayRef<MaskOp> masks, const Array &before, Array &score,
                                Environment &env) {
  for (MaskOp op : masks) {
    Array visible(score.elementType, score.shape);
    if (failed(mask(op.getBody(), visible, env)))
      return failure();
    for (int64_t at = 0; at < score.size(); ++at)
      if (visible.values[at].real == -INFINITY && before.values[at].real == -INFINITY &&
          std::isnan(score.values[at].real))
        score.values[at].real = -INFINITY;
  }
  return success();
}

static LogicalResult evaluate(ModifyScoreOp op, Environment &env) {
  Array before = env.get(op.getScore()), score = before;
  if (failed(modify(op.getBody(), score, env)) ||
      failed(keepHidden(findMasksBehind(op.getScore()), before, score, env)))
    return failure();
  return env.set(op.getResult(), std::move(score));
}

static LogicalResult evaluate(MaskOp op, Environment &env) {
  Array score = env.get(op.getScore());
  if (failed(mask(op.getBody(), score, env)))
    return failure();
  return env.set(op.getResult(), std::move(score));
}

static LogicalResult evaluate(SoftmaxOp op, Environment &env) {
  const Array &score = env.get(op.getScore());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (axis < 0)
    axis += score.getRank();
  return env.set(op, computeSoftmax(score, axis, op.getSink(), env));
}

static LogicalResult evaluate(ModifyProbOp op, Environment &env) {
  Array prob = env.get(op.getProb());
  if (failed(modifyProb(op.getBody(), prob, env)))
    return failure();
  return env.set(op.getResult(), std::move(prob));
}

static LogicalResult evaluate(ContextOp op, Environment &env) {
  return env.set(op, computeContext(env.get(op.getProb()), env.get(op.getValue()), env));
}

/// Keys or values in order: of pages, those gathered from the pool; of packed sequences, each in a
/// batch of its own.
static FailureOr<Array> getRows(AttentionOp op, Value rows, Environment &env) {
  if (Value offsets = op.getKvOffsets())
    return unpackRows(op, env.get(rows), offsets, /*isHeadsFirst=*/true, env);
  if (!op.getPages())
    return env.get(rows);
  return gatherPages(op, rows, getPagedTensors(op), /*isHeadsFirst=*/true, env);
}

/// The same in the query's elements; `scales` may be null.
static FailureOr<Array> getWidened(AttentionOp op, Value rows, Value scales, Environment &env) {
  FailureOr<Array> stored = getRows(op, rows, env);
  Type element = getElementTypeOrSelf(op.getQuery());
  if (failed(stored) || stored->elementType == element)
    return stored;
  FailureOr<Array> factors;
  if (scales && failed(factors = getRows(op, scales, env)))
    return failure();
  return dequantize(*stored, scales ? &*factors : nullptr, element, env);
}

static LogicalResult evaluate(AttentionOp op, Environment &env) {
  FailureOr<Array> key = getWidened(op, op.getKey(), op.getKeyScales(), env),
                   value = getWidened(op, op.getValue(), op.getValueScales(), env);
  Value offsets = op.getOffsets();
  FailureOr<Array> query =
      offsets ? unpackRows(op, env.get(op.getQuery()), offsets, /*isHeadsFirst=*/true, env)
              : FailureOr<Array>(env.get(op.getQuery()));
  if (failed(key) || failed(value) || failed(query))
    return failure();
  auto pack = [&](Array rows) {
    return offsets ? packRows(rows, env.get(offsets), /*isHeadsFirst=*/true) : rows;
  };
  Array score = computeScore(*query, *key, op.getScale().convertToDouble(), env);
  if ((!op.getScoreMod().empty() && failed(modify(op.getScoreMod(), score, env))) ||
      (!op.getMask().empty() && failed(mask(op.getMask(), score, env))))
    return failure();
  Array prob = computeSoftmax(score, 3, op.getSink(), env);
  if (!op.getProbMod().empty() && failed(modifyProb(op.getProbMod(), prob, env)))
    return failure();
  if (failed(env.set(op.getResult(), pack(computeContext(prob, *value, env)))))
    return failure();
  if (Value lse = op.getLse())
    return env.set(lse, pack(computeLse(score, getElementTypeOrSelf(lse), env)));
  return success();
}

static LogicalResult evaluate(LseOp op, Environment &env) {
  const Array &score = env.get(op.getScore());
  return env.set(op.getResult(), computeLse(score, getElementTypeOrSelf(op.getResult()), env));
}

/// The larger one; NaN if one is.
static double maxOrNaN(double a, double b) { return std::isnan(a) || a > b ? a : b; }

namespace {
/// The factors of two parts of a row and their sum, in the accumulator's type.
template <typename Float>
struct MergeFactors {
  MergeFactors(double lseA, double lseB, double max)
      : a(std::exp(Float(lseA) - Float(max))), b(std::exp(Float(lseB) - Float(max))), sum(a + b) {}
  Float a, b, sum;
};
} // namespace

static double mergeLse(double a, double b, Environment &env) {
  double max = maxOrNaN(a, b);
  if (a == -INFINITY || b == -INFINITY || std::isinf(max))
    return max;
  return withAccumulator(env, [&](auto zero) {
    using Float = decltype(zero);
    return Float(max) + std::log(MergeFactors<Float>(a, b, max).sum);
  });
}

static double mergeContext(double a, double lseA, double b, double lseB, Environment &env) {
  if (lseA == -INFINITY || lseB == -INFINITY)
    return lseA != lseB ? (lseA == -INFINITY ? b : a) : 0;
  return withAccumulator(env, [&](auto zero) {
    using Float = decltype(zero);
    MergeFactors<Float> factor(lseA, lseB, maxOrNaN(lseA, lseB));
    auto weigh = [&](Float f, double context) { return f == 0 ? zero : f * Float(context); };
    return (weigh(factor.a, a) + weigh(factor.b, b)) / factor.sum;
  });
}

static LogicalResult evaluate(MergeOp op, Environment &env) {
  const Array &contextA = env.get(op.getContextA()), &contextB = env.get(op.getContextB());
  const Array &lseA = env.get(op.getLseA()), &lseB = env.get(op.getLseB());
  Array context(contextA.elementType, contextA.shape), lse(lseA.elementType, lseA.shape);
  int64_t width = context.shape.back();
  for (int64_t row = 0; row < lse.size(); ++row) {
    double a = lseA.values[row].real, b = lseB.values[row].real;
    lse.values[row].real = mergeLse(a, b, env);
    for (int64_t at = row * width; at < (row + 1) * width; ++at)
      context.values[at].real =
          mergeContext(contextA.values[at].real, a, contextB.values[at].real, b, env);
  }
  env.round(context);
  env.round(lse);
  return failure(failed(env.set(op.getContext(), std::move(context))) ||
                 failed(env.set(op.getLse(), std::move(lse))));
}

void reference::addAttention(Evaluators &evaluators) {
  evaluators.add<ScoreOp>(::evaluate);
  evaluators.add<AdditiveScoreOp>(::evaluate);
  evaluators.add<ModifyScoreOp>(::evaluate);
  evaluators.add<MaskOp>(::evaluate);
  evaluators.add<SoftmaxOp>(::evaluate);
  evaluators.add<ModifyProbOp>(::evaluate);
  evaluators.add<ContextOp>(::evaluate);
  evaluators.add<AttentionOp>(::evaluate);
  evaluators.add<LseOp>(::evaluate);
  evaluators.add<MergeOp>(::evaluate);
}
