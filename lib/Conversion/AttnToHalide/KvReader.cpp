//===- KvReader.cpp - keys and values by KV block -------------------------===//
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
  // Halide may compute the scores of KV blocks without a visible key.
  Scalar last = max(range.highAt(t) - 1, 0);
  return unsafePromiseClamped(min(number(k, c, t), last), blocks.p.i32(0), blocks.in.numKeys - 1);
}

Scalar KvReader::isVisible(Scalar k, Scalar c, const BlockCoords &t) const {
  return c * blocks.kvBlock + k < range.count(t);
}

void KvReader::lookUpPages(int64_t ahead) {
  const KvTensors &kv = blocks.in.kv;
  if (!kv.arePaged())
    return;
  this->ahead = ahead;
  StringRef vars[] = {"k", "c", "it", "h", "b"};
  auto placeOf = [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    return kv.placeOf(visibleNumber(v[0], v[1], t), t.b);
  };
  Type i32 = blocks.p.b().getI32Type();
  rowInPage =
      blocks.p.func("row_in_page", vars, i32, [&](ArrayRef<Scalar> v) { return placeOf(v).row; });
  page = blocks.p.func("page", vars, i32, [&](ArrayRef<Scalar> v) { return placeOf(v).page; });
}

KvReader KvReader::withoutLookUps() const { return {blocks, range, kvHead}; }

KvTensors::Place KvReader::placeOf(Scalar number, Scalar k, Scalar c, const BlockCoords &t) const {
  if (!Value(page))
    return blocks.in.kv.placeOf(number, t.b);
  return {rowInPage(k, c, t.it, t.h, t.b), page(k, c, t.it, t.h, t.b)};
}

Scalar KvReader::key(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  const KvTensors &kv = blocks.in.kv;
  Scalar x = kv.key(d, placeOf(visibleNumber(k, c, t), k, c, t), kvHead(t.h), t.b);
  return ahead ? kv.fetchKeyAhead(x, d, placeOf({}, k + ahead, c, t), kvHead(t.h), t.b) : x;
}

Scalar KvReader::value(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  return blocks.in.kv.value(d, placeOf(visibleNumber(k, c, t), k, c, t), kvHead(t.h), t.b);
}

Scalar KvReader::valueOfVisible(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar promised = unsafePromiseClamped(number(k, c, t), blocks.p.i32(0), blocks.in.numKeys - 1);
  const KvTensors &kv = blocks.in.kv;
  Scalar x = kv.value(d, placeOf(promised, k, c, t), kvHead(t.h), t.b);
  return ahead ? kv.fetchValueAhead(x, d, placeOf({}, k + ahead, c, t), kvHead(t.h), t.b) : x;
}

/// Query heads per key/value head.
static Scalar getGroupSize(const AttentionInputs &in) {
  if (std::optional<int64_t> known = in.op.getGroupSize())
    return in.p.i32(*known);
  return in.p.extent(in.query, 2) / in.kv.getNumHeads();
}

Func attn::buildKvHead(const AttentionBlocks &blocks) {
  PipelineBuilder &p = blocks.p;
  return p.func("kv_head", {"h"}, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    Scalar first = v[0] * blocks.packedHeads;
    return unsafePromiseClamped(first / getGroupSize(blocks.in), p.i32(0),
                                blocks.in.kv.getNumHeads() - 1);
  });
}
