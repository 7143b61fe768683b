//===- Sequence.cpp - positions, caches and dropout -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The pair of column `c` in a width: its number, and the other column.
static std::pair<int64_t, int64_t> getPair(PositionKind kind, int64_t c, int64_t width) {
  if (kind == PositionKind::rotary_halves)
    return {c % (width / 2), (c + width / 2) % width};
  return {c / 2, c ^ 1};
}

static double rotate(PositionsOp op, const Scalar *row, int64_t c, int64_t width, double position) {
  auto [pair, other] = getPair(op.getKind(), c, width);
  double angle = position / std::pow(op.getBase().convertToDouble(), 2.0 * pair / width);
  double sine = std::sin(angle);
  return row[c].real * std::cos(angle) + row[other].real * (c < other ? -sine : sine);
}

static double encode(PositionsOp op, int64_t c, int64_t width, double position) {
  double numerator = op.getKind() == PositionKind::sinusoidal ? c / 2 * 2 : c;
  double angle = position / std::pow(op.getBase().convertToDouble(), numerator / width);
  return c % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

static LogicalResult evaluate(PositionsOp op, Environment &env) {
  const Array &input = env.get(op.getInput());
  const Array *offset = op.getOffset() ? &env.get(op.getOffset()) : nullptr;
  int64_t width = input.shape.back(), rank = input.shape.size();
  if (op.isRotary() && width % 2 != 0)
    return op.emitError("expected an even width to rotate, found ") << width;
  Array result(input.elementType, input.shape);
  forEachIndex(input.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t c = at.back();
    double position = at[rank - 2] + (offset ? offset->values[at[0]].integer : 0);
    const Scalar *row = &input.values[linear - c];
    result.values[linear].real = op.isRotary() ? rotate(op, row, c, width, position)
                                               : row[c].real + encode(op, c, width, position);
  });
  env.round(result);
  return env.set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

static LogicalResult evaluate(AppendCacheOp op, Environment &env) {
  const Array &rows = env.get(op.getRows()), &length = env.get(op.getLength());
  Array result = env.get(op.getCache());
  for (const Scalar &l : length.values)
    if (l.integer < 0 || l.integer > result.shape[2] - rows.shape[2])
      return op.emitError("expected lengths that leave room for ")
             << rows.shape[2] << " of " << result.shape[2] << " rows, found " << l.integer;
  forEachIndex(rows.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t t = length.values[at[0]].integer + at[2];
    result.values[getLinear(result.shape, {at[0], at[1], t, at[3]})] = rows.values[linear];
  });
  return env.set(op.getResult(), std::move(result));
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// The first word of Philox2x32-10.
static uint32_t philox(uint64_t index, uint64_t seed) {
  uint32_t first = index, second = (index >> 32) ^ (seed >> 32), key = seed;
  for (int round = 0; round < 10; ++round) {
    uint64_t product = uint64_t(0xd256d193) * first;
    first = uint32_t(product >> 32) ^ key ^ second;
    second = product;
    key += 0x9e3779b9;
  }
  return first;
}

static LogicalResult evaluate(DropoutOp op, Environment &env) {
  Array result = env.get(op.getInput());
  if (op.getSeed()) {
    double rate = op.getRate().convertToDouble();
    uint64_t seed = env.get(op.getSeed()).values[0].integer;
    for (auto [index, element] : llvm::enumerate(result.values))
      element.real = philox(index, seed) < uint64_t(rate * 0x1p32) ? 0 : element.real / (1 - rate);
  }
  env.round(result);
  return env.set(op.getResult(), std::move(result));
}

void reference::addSequence(Evaluators &evaluators) {
  evaluators.add<PositionsOp>(::evaluate);
  evaluators.add<AppendCacheOp>(::evaluate);
  evaluators.add<DropoutOp>(::evaluate);
}
