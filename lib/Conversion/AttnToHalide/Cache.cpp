//===- Cache.cpp - pipelines of attn.append_cache -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementChecks.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

static LogicalResult lowerWrongLengths(PipelineBuilder &p, AppendCacheOp op) {
  Func length = p.input("length", op.getLength());
  Func cache = p.input("cache", op.getCache()), rows = p.input("rows", op.getRows());
  return lowerFirstWrong(p, length, [&](ArrayRef<Scalar>, Scalar l) {
    return l < 0 || l > convert(p.extent(cache, 1) - p.extent(rows, 1), l.getType());
  });
}

/// Lengths have been checked; the clamp keeps a caller's later writes from harm.
static LogicalResult lowerAppendCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  Func length = p.input("length", op.getLength());
  Func cache = p.input("cache", op.getCache()), rows = p.input("rows", op.getRows());
  Scalar last = p.extent(cache, 1) - p.extent(rows, 1);
  buildScattered(p, rows, type, lanesFor(cpu, type.getElementType()), [&](ArrayRef<Scalar> v) {
    Scalar first = length(v[3]);
    first =
        convert(clamp(first, first.constant(0), convert(last, first.getType())), last.getType());
    Scalar t = unsafePromiseClamped(first + v[1], p.i32(0), p.extent(cache, 1) - 1);
    return ScatteredRow{{v[0], t, v[2], v[3]}, Scalar()};
  });
  return success();
}

static LogicalResult convertAppendCache(AppendCacheOp op, FunctionConverter &converter) {
  if (failed(requireElements(
          {op, op.getLength(), "the lengths"}, "wrong_lengths", "to leave room for its rows",
          [&](PipelineBuilder &p) { return lowerWrongLengths(p, op); }, converter)) ||
      failed(converter.copyUnlessInPlace(op.getLoc(), op.getCache(), op.getResult())))
    return failure();
  return converter.call(op.getLoc(), "append_cache", op.getResult(), [&](PipelineBuilder &p) {
    return lowerAppendCache(p, op, converter.getCpu());
  });
}

void attn::addCacheLowerings(Lowerings &lowerings) { lowerings.addComputed(convertAppendCache); }
