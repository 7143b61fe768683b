//===- AttentionLse.cpp - the lse beside the context ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Halide func writes one output. The lse is a func of zeros, written by the first kernel of a
// call that computes rows, whose elements the kernel overwrites when it divides a row by its sum,
// so the loops over keys run once. The second pass, which visits every visible NaN score, marks
// such rows before or after.
//
//===----------------------------------------------------------------------===//

#include "AttentionLse.h"

using namespace mlir;
using namespace mlir::attn;

static RowPlace getPlace(const AttentionBlocks &blocks, Scalar ii, Scalar qBlock,
                         const BlockCoords &t) {
  RowPlace place{blocks.row(ii, qBlock), blocks.head(ii, t), blocks.batchOf(qBlock, t)};
  if (blocks.packed) {
    place.stored = blocks.storedRow(ii, qBlock);
    place.exists = blocks.packed->countRows(qBlock) > 0;
  }
  return place;
}

RowPlace RowPlace::inBlock(const AttentionBlocks &blocks, Scalar ii, const BlockCoords &t) {
  return getPlace(blocks, ii, blocks.qBlock(t), t);
}

RowPlace RowPlace::inMergedBlock(const AttentionBlocks &blocks, Scalar ii, const BlockCoords &t) {
  return getPlace(blocks, ii, t.it, t);
}

LseOutput::LseOutput(const AttentionBlocks &blocks, const Numerators &numerators)
    : blocks(blocks), numerators(numerators) {
  if (!blocks.in.op.getLse())
    return;
  Type type = blocks.in.op.getLse().getType().getElementType();
  PipelineBuilder &p = blocks.p;
  lse = p.func("lse", {"i", "h", "b"}, type, [&](ArrayRef<Scalar>) {
    return blocks.isFirst ? p.constant(type, 0) : undef(p.b(), type);
  });
}

void LseOutput::addOutput() const {
  if (*this)
    blocks.p.output(lse, blocks.in.op.getLse().getType(), /*knownDims=*/0);
}

Scalar LseOutput::at(const RowPlace &place) const {
  if (Value(place.stored))
    return lse(place.stored, place.head, blocks.p.i32(0));
  Scalar row = unsafePromiseClamped(place.row, blocks.p.i32(0), blocks.in.numRows - 1);
  return lse(row, place.head, place.batch);
}

/// A score of inf makes the sum NaN, as a score of NaN does.
Scalar LseOutput::getLse(const RowSum &sum, Scalar marked) const {
  const AttentionInputs &in = blocks.in;
  double unit = in.isScaled ? 1 : std::abs(in.scale);
  Scalar inf = fromBits(blocks.p.i32(kInfBits), blocks.p.b().getF32Type());
  Scalar known = strictFloat(sum.maximum * unit) + boundedLog(sum.total);
  Scalar unknown = blend(bits(sum.maximum) == blocks.p.i32(kInfBits), inf, sum.total);
  Scalar result = blend(isNumber(sum.total), known, unknown);
  return convert(blend(isNumber(marked), result, marked), lse.getElementType());
}

Scalar LseOutput::storeBeside(Scalar x, const RowPlace &place, const RowSum &sum,
                              Scalar where) const {
  Scalar element = at(place);
  Scalar marked = convert(element, blocks.p.b().getF32Type());
  if (Value(place.exists))
    where = Value(where) ? where && place.exists : place.exists;
  return attn::storeBeside(x, getLse(sum, marked), element, where);
}

Scalar LseOutput::markNaN(Scalar x, const RowPlace &place, Scalar score) const {
  Scalar noNumber = fromBits(blocks.p.i32(kNaNBits), score.getType());
  return attn::storeBeside(x, convert(noNumber, lse.getElementType()), at(place), !isNumber(score));
}

Scalar LseOutput::reciprocal(const RowPlace &place, const RowSum &sum) const {
  if (!isSinkLast(blocks.in))
    return numerators.reciprocal(sum.total);
  Scalar sink = readSink(blocks.in, place.row, place.head, place.batch);
  return numerators.reciprocal(sum.total + numerators.getSink(sink, sum.maximum));
}

Func attn::buildInverse(const AttentionBlocks &blocks, const Numerators &numerators,
                        const RowState &row, const LseOutput &lse) {
  PipelineBuilder &p = blocks.p;
  return p.func("inverse", {"ii", "it", "h", "b"}, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar total = row.sum(v[0], t);
    if (!lse)
      return numerators.reciprocal(total);
    RowPlace place = RowPlace::inBlock(blocks, v[0], t);
    RowSum sum{total, row.maximum(p.i32(0), v[0], t)};
    return lse.storeBeside(lse.reciprocal(place, sum), place, sum);
  });
}
