//===- AttentionBlocks.cpp - query blocks and KV blocks -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Scalar attn::pick(Scalar c, Scalar x) {
  Scalar b = bits(x);
  return fromBits(b & -convert(c, b.getType()), x.getType());
}

Scalar attn::blend(Scalar c, Scalar x, Scalar y) {
  Scalar b = bits(x), ones = -convert(c, b.getType());
  return fromBits((b & ones) | (bits(y) & (ones.constant(-1) - ones)), x.getType());
}

Scalar attn::magnitude(Scalar x) {
  Scalar b = bits(x);
  return b & b.constant(0x7fffffff);
}

Scalar attn::isNumber(Scalar x) {
  Scalar m = magnitude(x);
  return m <= m.constant(kInfBits);
}

Scalar attn::widenFactor(Scalar x) {
  Type f32 = x.b().getF32Type();
  if (!x.getType().isF16())
    return convert(x, f32);
  auto unspecified = arith::FastMathFlagsAttr::get(
      x.b().getContext(), arith::FastMathFlags::nnan | arith::FastMathFlags::ninf);
  return {x.b(), arith::ExtFOp::create(x.b(), f32, x, unspecified)};
}

Scalar attn::widenFactor(Scalar x, Type acc) {
  return acc.isF32() ? widenFactor(x) : convert(x, acc);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Sizes other than head dims are dynamic: Halide proves bounds of query blocks more easily for
/// unknown sizes, and known ones gain nothing.
AttentionInputs::AttentionInputs(PipelineBuilder &p, AttentionOp op)
    : p(p), op(op), headDim(op.getQuery().getType().getDimSize(3)),
      valueDim(op.getValue().getType().getDimSize(3)), scale(op.getScale().convertToDouble()),
      // A scale of zero turns an infinite product into NaN, which a scale in the exponent would
      // lose.
      isScaled(!op.getScoreMod().empty() || op.getSink() || scale == 0),
      query(p.input("query", op.getQuery(), /*knownDims=*/1)), kv(p, op),
      numRows(p.extent(query, 1)), numKeys(kv.getNumKeys()) {}

//===----------------------------------------------------------------------===//
// Query blocks
//===----------------------------------------------------------------------===//

KvSplits KvSplits::fixed(PipelineBuilder &p, int64_t count) {
  return {count, /*minKeys=*/0, p.i32(count)};
}

KvSplits KvSplits::byLength(const AttentionInputs &in, int64_t most, int64_t minKeys) {
  return {most, minKeys, clamp(in.numKeys / minKeys, in.p.i32(1), in.p.i32(most))};
}

AttentionBlocks::AttentionBlocks(const AttentionInputs &in, ScheduleAttrInterface schedule,
                                 int64_t rows, int64_t packedHeads, int64_t kvBlock,
                                 KvSplits splits, int64_t interleavedHeads)
    : in(in), p(in.p), rows(rows), packedHeads(packedHeads), rowsOfHead(rows / packedHeads),
      kvBlock(kvBlock), splits(splits), interleavedHeads(interleavedHeads) {
  if (!in.op.getOffsets())
    return;
  int64_t above = in.op.getServedBefore(schedule.getMaxQLen());
  isFirst = above == 0;
  packed.emplace(p, PackedSequences(p, /*prefix=*/"", in.op.getOffsets(), in.numRows), rowsOfHead,
                 above, schedule.getMaxQLen());
}

/// Halide cannot infer the sign of a dynamic number of splits.
Scalar AttentionBlocks::qBlock(const BlockCoords &t) const {
  if (!splits.isSplit())
    return t.it;
  Scalar block = t.it / splits.count;
  return splits.minKeys ? unsafePromiseClamped(block, p.i32(0), maxQBlocks() - 1) : block;
}

Scalar AttentionBlocks::maxQBlocks() const { return packed ? packed->getMaxCount() : in.numRows; }

Scalar AttentionBlocks::lastRow(Scalar qBlock) const {
  Scalar last = in.numRows - 1;
  if (!packed)
    return last;
  Scalar length = packed->getSequences().lengthOf(packed->sequenceOf(qBlock));
  return unsafePromiseClamped(max(length - 1, 0), p.i32(0), last);
}

Scalar AttentionBlocks::row(Scalar ii, Scalar qBlock) const {
  Scalar row = min(firstRow(qBlock) + rowOfHead(ii), lastRow(qBlock));
  return packed ? unsafePromiseClamped(row, p.i32(0), in.numRows - 1) : row;
}

Scalar AttentionBlocks::storedRow(Scalar ii, Scalar qBlock) const {
  if (!packed)
    return row(ii, qBlock);
  Scalar rest = max(packed->countRows(qBlock) - 1, 0), last = in.numRows - 1;
  return unsafePromiseClamped(packed->firstPackedRow(qBlock) + min(rowOfHead(ii), rest), p.i32(0),
                              last);
}

Scalar AttentionBlocks::head(Scalar ii, const BlockCoords &t) const {
  return packedHeads == 1 ? t.h : t.h * packedHeads + ii % packedHeads;
}

void AttentionBlocks::fix(Func f, bool perKvBlock) const {
  int64_t rank = f.getRank(), head = rank - 2;
  for (int64_t dim = rank - (perKvBlock ? 4 : 3); dim < rank; ++dim)
    p.boundExtent(f, dim, dim == head && !perKvBlock ? interleavedHeads : 1);
}

void AttentionBlocks::fixToHead(Func f) const {
  for (int64_t rank = f.getRank(), dim = rank - 3; dim < rank; ++dim)
    p.boundExtent(f, dim, 1);
}

void AttentionBlocks::computeInRegisters(Func f, Loop at) const {
  p.computeAt(f, at);
  p.storeIn(f, halide::MemoryType::register_);
  fix(f, /*perKvBlock=*/true);
  p.neverPartition(f);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Scalar AttentionRegions::inlined(Region &region, ArrayRef<Scalar> args, Scalar otherwise,
                                 Known known) {
  if (region.empty())
    return otherwise;
  FailureOr<Scalar> result = in.p.inlineRegion(region, args, known);
  failedAny |= failed(result);
  return failed(result) ? otherwise : *result;
}

Scalar AttentionRegions::inlinedValue(Region &region, Value value, ArrayRef<Scalar> args,
                                      Type type) {
  FailureOr<Scalar> element = in.p.inlineRegionValue(region, value, args);
  failedAny |= failed(element);
  return failed(element) ? in.p.constant(type, 0) : convert(*element, type);
}
