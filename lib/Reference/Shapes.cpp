//===- Shapes.cpp - map, reduce and transpose -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Sums.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

/// The linear position in an operand for an element of the result.
static int64_t getBroadcast(const Array &input, ArrayRef<int64_t> at) {
  int64_t linear = 0;
  for (auto [size, index] : llvm::zip(input.shape, at.take_back(input.getRank())))
    linear = linear * size + (size == 1 ? 0 : index);
  return linear;
}

static LogicalResult evaluate(MapOp op, Environment &env) {
  FailureOr<Body> body = Body::prepare(op.getBody(), env);
  if (failed(body))
    return failure();
  auto inputs = llvm::map_to_vector(op.getInputs(), [&](Value v) { return &env.get(v); });
  Array result(getElementTypeOrSelf(op.getResult()), env.getResultShape(op));
  SmallVector<Scalar> arguments(inputs.size());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    for (auto [argument, input] : llvm::zip(arguments, inputs))
      argument = input->values[getBroadcast(*input, at)];
    result.values[linear] = (*body)(arguments);
  });
  return env.set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

static double start(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::max:
    return -INFINITY;
  case ReduceKind::min:
    return INFINITY;
  case ReduceKind::prod:
    return 1;
  default:
    return 0;
  }
}

/// For maxima, minima and products.
template <typename Float>
static Float combine(ReduceKind kind, Float so, Float x) {
  switch (kind) {
  case ReduceKind::max:
    return std::isnan(so) || x <= so ? so : x;
  case ReduceKind::min:
    return std::isnan(so) || x >= so ? so : x;
  default:
    return so * x;
  }
}

static double reduceFloats(Environment &env, ReduceKind kind, ArrayRef<Scalar> row) {
  return withAccumulator(env, [&](auto zero) {
    using Float = decltype(zero);
    auto sum = [&](auto term) {
      return addUp<Float>(0, row.size(), [&](int64_t i) { return term(Float(row[i].real)); });
    };
    switch (kind) {
    case ReduceKind::sum:
      return sum([](Float x) { return x; });
    case ReduceKind::mean:
      return sum([](Float x) { return x; }) / Float(row.size());
    case ReduceKind::l2:
      return std::sqrt(sum([](Float x) { return x * x; }));
    default:
      return std::accumulate(row.begin(), row.end(), Float(start(kind)),
                             [&](Float so, Scalar x) { return combine(kind, so, Float(x.real)); });
    }
  });
}

static int64_t reduceIntegers(ReduceKind kind, ArrayRef<Scalar> row, unsigned width) {
  int64_t so = kind == ReduceKind::max   ? llvm::minIntN(width)
               : kind == ReduceKind::min ? llvm::maxIntN(width)
                                         : int64_t(start(kind));
  for (Scalar x : row)
    so = kind == ReduceKind::max    ? std::max(so, x.integer)
         : kind == ReduceKind::min  ? std::min(so, x.integer)
         : kind == ReduceKind::prod ? llvm::SignExtend64(uint64_t(so) * x.integer, width)
                                    : llvm::SignExtend64(uint64_t(so) + x.integer, width);
  return so;
}

static LogicalResult evaluate(ReduceOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  SmallVector<bool> reduced = op.getReducedDims();
  SmallVector<int64_t> kept = input.shape;
  for (auto [size, isReduced] : llvm::zip_equal(kept, reduced))
    if (isReduced)
      size = 1;
  Array result(input.elementType, env.getResultShape(op));
  std::vector<std::vector<Scalar>> rows(result.size());
  forEachIndex(input.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t row = 0;
    for (auto [size, index] : llvm::zip(kept, at))
      row = row * size + (size == 1 ? 0 : index);
    rows[row].push_back(input.values[linear]);
  });
  for (auto [element, row] : llvm::zip(result.values, rows))
    if (input.isFloat())
      element.real = reduceFloats(env, op.getKind(), row);
    else
      element.integer =
          reduceIntegers(op.getKind(), row, input.elementType.getIntOrFloatBitWidth());
  return env.set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

static LogicalResult evaluate(TransposeOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  Array result(input.elementType, env.getResultShape(op));
  SmallVector<int64_t> from(result.shape.size());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    for (auto [index, dim] : llvm::zip(at, op.getPermutation()))
      from[dim] = index;
    result.values[linear] = input.values[getLinear(input.shape, from)];
  });
  return env.set(op.getResult(), std::move(result));
}

void reference::addShapes(Evaluators &evaluators) {
  evaluators.add<MapOp>(::evaluate);
  evaluators.add<ReduceOp>(::evaluate);
  evaluators.add<TransposeOp>(::evaluate);
}
