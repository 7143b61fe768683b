//===- KvReader.cpp - the one place that reads keys and values ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KvReader.h"

using namespace mlir;
using namespace mlir::attn;

Scalar KvReader::number(Scalar k, Scalar c, const BlockCoords &t) const {
  return range.lowAt(t) + c * blocks.kvBlock + k;
}

Scalar KvReader::visibleNumber(Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar last = range.highAt(t) - 1;
  if (mayBeEmpty)
    last = max(last, 0);
  return unsafePromiseClamped(min(number(k, c, t), last), blocks.p.i32(0), blocks.in.numKeys - 1);
}

Scalar KvReader::isVisible(Scalar k, Scalar c, const BlockCoords &t) const {
  return c * blocks.kvBlock + k < range.count(t);
}

Scalar KvReader::read(Func tensor, Scalar d, Scalar number, const BlockCoords &t) const {
  return widenFactor(tensor(d, rowOf(number), kvHead(t.h), t.b));
}

Scalar KvReader::key(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  return read(blocks.in.key, d, visibleNumber(k, c, t), t);
}

Scalar KvReader::value(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  return read(blocks.in.value, d, visibleNumber(k, c, t), t);
}

Scalar KvReader::valueOfVisible(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar promised = unsafePromiseClamped(number(k, c, t), blocks.p.i32(0), blocks.in.numKeys - 1);
  return read(blocks.in.value, d, promised, t);
}

/// Query heads per key/value head.
static Scalar getGroupSize(const AttentionInputs &in) {
  int64_t qHeads = in.op.getQuery().getType().getDimSize(1);
  int64_t kvHeads = in.op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(qHeads) || ShapedType::isDynamic(kvHeads))
    return in.p.extent(in.query, 2) / in.p.extent(in.key, 2);
  return in.p.i32(kvHeads == 0 ? 1 : qHeads / kvHeads);
}

Func attn::buildKvHead(const AttentionBlocks &blocks) {
  PipelineBuilder &p = blocks.p;
  return p.func("kv_head", {"h"}, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    Scalar first = v[0] * blocks.packedHeads;
    return unsafePromiseClamped(first / getGroupSize(blocks.in), p.i32(0),
                                p.extent(blocks.in.key, 2) - 1);
  });
}
