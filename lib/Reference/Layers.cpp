//===- Layers.cpp - layers around attention -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Sums.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

/// Σ of products of bytes, those of `row` unsigned.
static int64_t multiplyBytes(const Scalar *row, const Scalar *column, int64_t width) {
  int64_t sum = 0;
  for (int64_t k = 0; k < width; ++k)
    sum += int64_t(uint8_t(row[k].integer)) * int8_t(column[k].integer);
  return sum;
}

static LogicalResult evaluate(LinearOp op, Environment &env) {
  const Array &input = env.get(op.getInput()), &weight = env.get(op.getWeight());
  const Array *bias = op.getBias() ? &env.get(op.getBias()) : nullptr;
  int64_t width = input.shape.back(), features = weight.shape[0];
  Array result(input.elementType, env.getResultShape(op));
  for (int64_t at = 0; at < result.size(); ++at) {
    const Scalar *row = input.values.data() + at / features * width;
    const Scalar *column = weight.values.data() + at % features * width;
    if (op.isInteger()) {
      result.values[at].integer = multiplyBytes(row, column, width);
      continue;
    }
    // A matrix product of BLAS: one sum for each element.
    double sum = dot(env, row, 1, column, 1, width, /*numSums=*/1);
    double product = env.round(sum, result.elementType);
    result.values[at].real = bias ? product + bias->values[at % features].real : product;
  }
  return env.set(op.getResult(), std::move(result));
}

/// The linear position of `[batch, head, len, dim]` in the merged form.
static int64_t getMerged(ArrayRef<int64_t> heads, ArrayRef<int64_t> at, Layout layout) {
  int64_t row = layout == Layout::batch_first ? at[0] * heads[2] + at[2] : at[2] * heads[0] + at[0];
  return (row * heads[1] + at[1]) * heads[3] + at[3];
}

static LogicalResult evaluate(SplitHeadsOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  int64_t numHeads = op.getNumHeads();
  if (input.shape[2] % numHeads != 0)
    return op.emitError("expected a width that ")
           << numHeads << " heads divide, found " << input.shape[2];
  Array result(input.elementType, env.getResultShape(op));
  forEachIndex(result.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    result.values[linear] = input.values[getMerged(result.shape, at, op.getLayout())];
  });
  return env.set(op.getResult(), std::move(result));
}

static LogicalResult evaluate(MergeHeadsOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  Array result(input.elementType, env.getResultShape(op));
  forEachIndex(input.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    result.values[getMerged(input.shape, at, op.getLayout())] = input.values[linear];
  });
  return env.set(op.getResult(), std::move(result));
}

/// (x - mean) / sqrt(square + epsilon) over one row, where the mean is 0 for `rms`.
static void normalise(Environment &env, const Scalar *input, Scalar *result, int64_t width,
                      NormMode mode, double epsilon) {
  auto round = [&](double value) {
    return withAccumulator(env, [&](auto zero) { return decltype(zero)(value); });
  };
  double mean = 0;
  if (mode == NormMode::layer)
    mean = withAccumulator(env, [&](auto zero) {
      using Float = decltype(zero);
      return addUp<Float>(0, width, [&](int64_t k) { return Float(input[k].real); }) / width;
    });
  double square = withAccumulator(env, [&](auto zero) {
    using Float = decltype(zero);
    auto squareOf = [&](int64_t k) {
      Float centred = input[k].real - mean;
      return centred * centred;
    };
    return addUp<Float>(0, width, squareOf) / width;
  });
  double deviation = round(std::sqrt(round(square + epsilon)));
  for (int64_t k = 0; k < width; ++k)
    result[k].real = round(round(input[k].real - mean) / deviation);
}

static LogicalResult evaluate(LayerNormOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  int64_t width = input.shape.back();
  Array result(input.elementType, input.shape);
  for (int64_t row = 0; row + width <= input.size() && width > 0; row += width)
    normalise(env, &input.values[row], &result.values[row], width, op.getMode(),
              op.getEpsilon().convertToDouble());
  auto apply = [&](Value operand, auto combine) {
    if (!operand)
      return;
    const Array &row = env.get(operand);
    for (int64_t at = 0; at < result.size(); ++at)
      combine(result.values[at].real, row.values[at % width].real);
    env.round(result);
  };
  env.round(result);
  apply(op.getScale(), [](double &x, double scale) { x *= scale; });
  apply(op.getBias(), [](double &x, double bias) { x += bias; });
  return env.set(op.getResult(), std::move(result));
}

static LogicalResult evaluate(EmbeddingOp op, Environment &env) {
  const Array &table = env.get(op.getTable()), &ids = env.get(op.getIds());
  int64_t width = table.shape[1];
  Array result(table.elementType, env.getResultShape(op));
  for (auto [at, id] : llvm::enumerate(ids.values)) {
    if (id.integer < 0 || id.integer >= table.shape[0])
      return op.emitError("expected ids below ") << table.shape[0] << ", found " << id.integer;
    std::copy_n(table.values.begin() + id.integer * width, width,
                result.values.begin() + at * width);
  }
  return env.set(op.getResult(), std::move(result));
}

void reference::addLayers(Evaluators &evaluators) {
  evaluators.add<LinearOp>(::evaluate);
  evaluators.add<SplitHeadsOp>(::evaluate);
  evaluators.add<MergeHeadsOp>(::evaluate);
  evaluators.add<LayerNormOp>(::evaluate);
  evaluators.add<EmbeddingOp>(::evaluate);
}
