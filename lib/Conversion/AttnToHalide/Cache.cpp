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

/// The result if there are no rows.
static LogicalResult lowerKeptCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu) {
  Func cache = p.input("cache", op.getCache());
  auto body = [&](ArrayRef<Scalar> v) { return cache(v); };
  buildOutput(p, "result", op.getType(), lanesFor(cpu, op.getType().getElementType()), body);
  return success();
}

/// Each element is read only at the place that it is written to, so the result may be the cache's
/// own memory.
static LogicalResult lowerAppendCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  Func length = p.input("length", op.getLength());
  Func cache = p.input("cache", op.getCache()), rows = p.input("rows", op.getRows());
  auto body = [&](ArrayRef<Scalar> v) {
    Scalar d = v[0], t = v[1], h = v[2], b = v[3], count = p.extent(rows, 1);
    Scalar added = t - convert(length(b), t.getType());
    Scalar row = rows(d, clamp(added, p.i32(0), count - 1), h, b);
    return select(added >= p.i32(0) && added < count, row, cache(v));
  };
  buildOutput(p, "result", type, lanesFor(cpu, type.getElementType()), body);
  return success();
}

static LogicalResult convertAppendCache(AppendCacheOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (failed(requireElements(
          {op, op.getLength(), "the lengths"}, "wrong_lengths", "to leave room for its rows",
          [&](PipelineBuilder &p) { return lowerWrongLengths(p, op); }, converter)))
    return failure();
  bool mayBeEmpty = mayLackRows(tensorType(op.getRows()));
  auto isEmpty = [&] { return host.isEmpty(op.getRows(), 2); };
  auto isServed = [&] { return host.isWithin(op.getRows(), 2, /*above=*/0, /*limit=*/0); };
  if (mayBeEmpty &&
      failed(converter.call(
          op.getLoc(), "kept_cache", op.getResult(),
          [&](PipelineBuilder &p) { return lowerKeptCache(p, op, converter.getCpu()); }, isEmpty)))
    return failure();
  return converter.call(
      op.getLoc(), "append_cache", op.getResult(),
      [&](PipelineBuilder &p) { return lowerAppendCache(p, op, converter.getCpu()); },
      mayBeEmpty ? function_ref<Value()>(isServed) : function_ref<Value()>());
}

void attn::addCacheLowerings(Lowerings &lowerings) { lowerings.addComputed(convertAppendCache); }
