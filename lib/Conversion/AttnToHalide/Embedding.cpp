//===- Embedding.cpp - pipelines of attn.embedding ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::lowerCount(PipelineBuilder &p, Func tensor,
                               function_ref<Scalar(Scalar)> condition) {
  Type i32 = p.b().getI32Type();
  Func count = p.func("count", {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(count, {"x"}, reduceAll(p, tensor),
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return count(v) + convert(condition(tensor(r)), i32);
           });
  p.output(count, RankedTensorType::get({1}, i32));
  return success();
}

/// Counts ids outside the table.
static LogicalResult lowerWrongIds(PipelineBuilder &p, EmbeddingOp op) {
  Func ids = p.input("ids", op.getIds());
  Func table = p.input("table", op.getTable());
  return lowerCount(
      p, ids, [&](Scalar id) { return id < 0 || id >= convert(p.extent(table, 1), id.getType()); });
}

/// Ids have been checked: the clamp only gives Halide the bounds.
static LogicalResult lowerEmbedding(PipelineBuilder &p, EmbeddingOp op, const CpuInfo &cpu) {
  RankedTensorType type = op.getResult().getType();
  Func ids = p.input("ids", op.getIds());
  Func table = p.input("table", op.getTable());
  auto body = [&](ArrayRef<Scalar> v) {
    Scalar id = ids(v.drop_front()), last = convert(p.extent(table, 1), id.getType()) - 1;
    return table(v[0], convert(clamp(id, id.constant(0), last), p.b().getI32Type()));
  };
  buildOutput(p, "result", type, lanesFor(cpu, type.getElementType()), body);
  return success();
}

static LogicalResult convertEmbedding(EmbeddingOp op, FunctionConverter &converter) {
  int64_t numRows = op.getTable().getType().getDimSize(0);
  std::string range = ShapedType::isDynamic(numRows) ? "" : ": 0 to " + std::to_string(numRows - 1);
  if (failed(converter.requireNone(op.getLoc(), "wrong_ids",
                                   "expected ids of attn.embedding to be rows of its table" + range,
                                   [&](PipelineBuilder &p) { return lowerWrongIds(p, op); })))
    return failure();
  return converter.call(op.getLoc(), "embedding", op.getResult(), [&](PipelineBuilder &p) {
    return lowerEmbedding(p, op, converter.getCpu());
  });
}

void attn::addEmbeddingLowerings(Lowerings &lowerings) { lowerings.addComputed(convertEmbedding); }
