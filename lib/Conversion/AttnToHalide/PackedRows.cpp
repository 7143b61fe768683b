//===- PackedRows.cpp - sequences of different lengths, packed ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

#include "ElementChecks.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

PackedSequences::PackedSequences(PipelineBuilder &p, StringRef prefix, Value tensor, Scalar total)
    : p(p), offsets(p.input((prefix + "offsets").str(), tensor, /*knownDims=*/0)), total(total) {
  starts = p.func((prefix + "starts").str(), {"x"}, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    Scalar start = offsets(v[0]);
    start = clamp(start, start.constant(0), convert(total, start.getType()));
    return convert(start, p.b().getI32Type());
  });
  p.computeRoot(starts);
}

Scalar PackedSequences::rowOf(Scalar i, Scalar b) const {
  Scalar start = starts(b), last = total - 1;
  return unsafePromiseClamped(start + min(i, last - start), p.i32(0), last);
}

Func attn::findSequences(PipelineBuilder &p, StringRef name, Scalar batch,
                         function_ref<Scalar(Scalar b)> endOf, int64_t lanes) {
  Type i32 = p.b().getI32Type();
  Func number = p.func(name, {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(number, {"x"}, {{"r", batch}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    return number(v) + convert(endOf(r[0]) <= v[0], i32);
  });
  p.computeRoot(number);
  StageLoops loops = p.stage(number, 0);
  auto [outer, inner] = p.split(loops["x"], lanes, halide::TailStrategy::guard_with_if);
  p.reorder({inner, outer, loops["r"]});
  p.vectorize(inner);
  return number;
}

Scalar attn::readSequence(Func numbers, Scalar x, Scalar batch) {
  Scalar last = batch - 1;
  return unsafePromiseClamped(min(numbers(x), last), last.constant(0), last);
}

//===----------------------------------------------------------------------===//
// Query blocks
//===----------------------------------------------------------------------===//

/// Whether a kernel serves sequences of more than `above` rows, and of at most `limit` unless that
/// is 0, that have `length` rows.
static Scalar isServed(Scalar length, int64_t above, int64_t limit) {
  Scalar isAbove = length > above;
  return limit ? isAbove && length <= length.constant(limit) : isAbove;
}

/// Of the sequences that a kernel serves, all together have at most `total` rows.
static Scalar getMaxBlocks(PipelineBuilder &p, const PackedSequences &sequences, int64_t rows,
                           int64_t above, int64_t limit) {
  Scalar total = sequences.getTotal(), most = min(sequences.getBatch(), total / (above + 1));
  Scalar count = total / rows + most;
  return limit ? min(count, most * llvm::divideCeil(limit, rows)) : count;
}

PackedBlocks::PackedBlocks(PipelineBuilder &p, PackedSequences given, int64_t rows, int64_t above,
                           int64_t limit)
    : sequences(given), maxCount(getMaxBlocks(p, sequences, rows, above, limit)) {
  constexpr int64_t kLanes = 8;
  Type i32 = p.b().getI32Type();
  Scalar batch = sequences.getBatch();
  auto countBlocks = [&](Scalar b) {
    Scalar length = sequences.lengthOf(b);
    return select(isServed(length, above, limit), (length + (rows - 1)) / rows, p.i32(0));
  };
  Func before = p.func("blocks_before", {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(before, {}, {{"r", batch}}, [&](ArrayRef<Scalar>, ArrayRef<Scalar> r) -> Update {
    return {before(r[0]) + countBlocks(r[0]), {r[0] + 1}};
  });
  p.computeRoot(before);
  numbers =
      findSequences(p, "block_sequence", batch, [&](Scalar b) { return before(b + 1); }, kLanes);
  auto perBlock = [&](StringRef name, auto body) {
    Func f = p.func(name, {"x"}, i32, [&](ArrayRef<Scalar> v) { return body(v[0]); });
    p.computeRoot(f);
    return f;
  };
  firsts =
      perBlock("block_first", [&](Scalar x) { return max(x - before(sequenceOf(x)), 0) * rows; });
  counts = perBlock("block_rows", [&](Scalar x) {
    Scalar left = clamp(sequences.lengthOf(sequenceOf(x)) - firsts(x), p.i32(0), p.i32(rows));
    return select(numbers(x) < batch, left, p.i32(0));
  });
  packedFirsts = perBlock("block_packed_first", [&](Scalar x) {
    return min(sequences.startOf(sequenceOf(x)) + firsts(x), sequences.getTotal() - 1);
  });
}

Scalar PackedBlocks::sequenceOf(Scalar block) const {
  return readSequence(numbers, block, sequences.getBatch());
}

LogicalResult attn::lowerCountServed(PipelineBuilder &p, Value tensor,
                                     ArrayRef<ServedLengths> kernels) {
  Type i32 = p.b().getI32Type();
  Func offsets = p.input("offsets", tensor);
  Func served = p.func("served", {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(served, {"x"}, {{"r", p.extent(offsets, 0) - 1}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar length = offsets(r[0] + 1) - offsets(r[0]), count = p.i32(0);
             for (auto [index, kernel] : llvm::enumerate(kernels)) {
               Scalar one = isServed(length, std::max<int64_t>(kernel.above, 0), kernel.limit);
               count = select(v[0] == p.i32(index), convert(one, i32), count);
             }
             return served(v) + count;
           });
  p.output(served, RankedTensorType::get({int64_t(kernels.size())}, i32));
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult lowerWrongOffsets(PipelineBuilder &p, const PackedRows &packed) {
  Func offsets = p.input("offsets", packed.offsets), rows = p.input("rows", packed.rows);
  Scalar last = p.extent(offsets, 0) - 1,
         total = p.extent(rows, tensorType(packed.rows).getRank() - 1 - packed.dim);
  return lowerFirstWrong(p, offsets, [&](ArrayRef<Scalar> at, Scalar offset) {
    Scalar i = at[0], zero = offset.constant(0), all = convert(total, offset.getType());
    Scalar before = offsets(max(i - 1, 0));
    Scalar low = select(i == p.i32(0), zero, before), high = select(i == p.i32(0), zero, all);
    return offset < low || offset > high || (i == last && offset < all);
  });
}

LogicalResult attn::requireOffsets(Operation *op, FunctionConverter &converter) {
  for (const PackedRows &packed : getPackedRows(op)) {
    converter.getHost().requireNotEmpty(op->getLoc(), packed.offsets, 0,
                                        "expected at least one offset of " +
                                            op->getName().getStringRef() + ", found none");
    auto lower = [&](PipelineBuilder &p) { return lowerWrongOffsets(p, packed); };
    if (failed(requireElements({op, packed.offsets, "the offsets"}, "wrong_offsets",
                               "to be 0 first, not to decrease, and the number of " + packed.what +
                                   " last",
                               lower, converter)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// attn.unpack_rows and attn.pack_rows
//===----------------------------------------------------------------------===//

static LogicalResult lowerUnpackRows(PipelineBuilder &p, UnpackRowsOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getType();
  Func rows = p.input("rows", op.getRows());
  PackedSequences sequences(p, /*prefix=*/"", op.getOffsets(), p.extent(rows, 2));
  buildOutput(p, "unpacked", type, lanesFor(cpu, type.getElementType()),
              [&](ArrayRef<Scalar> v) { return rows(v[0], v[2], sequences.rowOf(v[1], v[3])); });
  return success();
}

static LogicalResult lowerPackRows(PipelineBuilder &p, PackRowsOp op, const CpuInfo &cpu) {
  auto type = tensorType(op.getResult());
  Func input = p.input("input", op.getInput());
  int64_t rowDim = tensorType(op.getInput()).getRank() - 3;
  PackedSequences sequences(p, /*prefix=*/"", op.getOffsets(), p.extent(input, rowDim));
  Func number = findSequences(
      p, "sequence", sequences.getBatch(), [&](Scalar b) { return sequences.startOf(b + 1); },
      lanesFor(cpu, p.b().getI32Type()));
  buildOutput(p, "packed", type, lanesFor(cpu, type.getElementType()), [&](ArrayRef<Scalar> v) {
    Scalar row = v.back(), b = readSequence(number, row, sequences.getBatch());
    Scalar i = clamp(row - sequences.startOf(b), p.i32(0), sequences.getTotal() - 1);
    SmallVector<Scalar> at(v.drop_back(2));
    at.append({i, v[v.size() - 2], b});
    return input(at);
  });
  return success();
}

template <typename OpTy, LogicalResult (*lower)(PipelineBuilder &, OpTy, const CpuInfo &)>
static LogicalResult convertRows(OpTy op, FunctionConverter &converter) {
  if (failed(requireOffsets(op, converter)))
    return failure();
  return converter.call(op.getLoc(), op->getName().stripDialect(), op.getResult(),
                        [&](PipelineBuilder &p) { return lower(p, op, converter.getCpu()); });
}

void attn::addPackedRowLowerings(Lowerings &lowerings) {
  lowerings.addComputed(convertRows<UnpackRowsOp, lowerUnpackRows>);
  lowerings.addComputed(convertRows<PackRowsOp, lowerPackRows>);
}
