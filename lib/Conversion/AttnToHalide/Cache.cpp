//===- Cache.cpp - pipelines of attn.append_cache -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::lowerWrongLengths(PipelineBuilder &p, AppendCacheOp op) {
  Func length = p.input("length", op.getLength());
  Func cache = p.input("cache", op.getCache()), rows = p.input("rows", op.getRows());
  return lowerCount(p, length, [&](Scalar l) {
    return l < 0 || l > convert(p.extent(cache, 1) - p.extent(rows, 1), l.getType());
  });
}

LogicalResult attn::lowerKeptCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu) {
  Func cache = p.input("cache", op.getCache());
  auto body = [&](ArrayRef<Scalar> v) { return cache(v); };
  buildOutput(p, "result", op.getType(), lanesFor(cpu, op.getType().getElementType()), body);
  return success();
}

/// Every element is read where it is written, so that the cache may be its own result.
LogicalResult attn::lowerAppendCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu) {
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
