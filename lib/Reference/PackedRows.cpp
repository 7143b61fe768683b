//===- PackedRows.cpp - sequences of different lengths, packed ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

LogicalResult reference::checkOffsets(Operation *op, const Array &offsets, int64_t total) {
  if (offsets.values.empty())
    return op->emitError("expected at least one offset, found none");
  int64_t before = 0, last = offsets.values.size() - 1;
  for (auto [i, offset] : llvm::enumerate(offsets.values)) {
    int64_t low = int64_t(i) == last ? total : before, high = i == 0 ? 0 : total;
    if (offset.integer < low || offset.integer > high)
      return op->emitError("expected offset ") << i << " to be 0 first, not to decrease, and "
                                               << total << " last, found " << offset.integer;
    before = offset.integer;
  }
  return success();
}

FailureOr<Array> reference::unpackRows(Operation *op, const Array &rows, Value tensor,
                                       bool isHeadsFirst, Environment &env) {
  const Array &offsets = env.get(tensor);
  int64_t total = rows.shape[isHeadsFirst ? 2 : 0];
  if (failed(checkOffsets(op, offsets, total)))
    return failure();
  Array result(rows.elementType, {offsets.size() - 1, rows.shape[1], total, rows.shape.back()});
  forEachIndex(result.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t row = std::min(offsets.values[at[0]].integer + at[2], total - 1);
    SmallVector<int64_t> from = {row, at[1], at[3]};
    if (isHeadsFirst)
      from = {0, at[1], row, at[3]};
    result.values[linear] = rows.values[getLinear(rows.shape, from)];
  });
  return result;
}

Array reference::packRows(const Array &unpacked, const Array &offsets, bool isHeadsFirst) {
  SmallVector<int64_t> shape = {unpacked.shape[2], unpacked.shape[1]};
  if (isHeadsFirst)
    shape = {1, unpacked.shape[1], unpacked.shape[2]};
  if (unpacked.getRank() == 4)
    shape.push_back(unpacked.shape[3]);
  Array result(unpacked.elementType, shape);
  forEachIndex(unpacked.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t row = offsets.values[at[0]].integer + at[2];
    if (row >= offsets.values[at[0] + 1].integer)
      return;
    SmallVector<int64_t> to = {row, at[1]};
    if (isHeadsFirst)
      to = {0, at[1], row};
    to.append(at.begin() + 3, at.end());
    result.values[getLinear(shape, to)] = unpacked.values[linear];
  });
  return result;
}

static LogicalResult evaluate(UnpackRowsOp op, Environment &env) {
  FailureOr<Array> rows =
      unpackRows(op, env.get(op.getRows()), op.getOffsets(), /*isHeadsFirst=*/false, env);
  return failed(rows) ? failure() : env.set(op.getResult(), std::move(*rows));
}

static LogicalResult evaluate(PackRowsOp op, Environment &env) {
  const Array &input = env.get(op.getInput()), &offsets = env.get(op.getOffsets());
  if (failed(checkOffsets(op, offsets, input.shape[2])))
    return failure();
  return env.set(op.getResult(), packRows(input, offsets, /*isHeadsFirst=*/false));
}

void reference::addPackedRows(Evaluators &evaluators) {
  evaluators.add<UnpackRowsOp>(::evaluate);
  evaluators.add<PackRowsOp>(::evaluate);
}
