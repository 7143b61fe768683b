//===- Embedding.cpp - pipelines of attn.embedding ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementChecks.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

static LogicalResult lowerWrongIds(PipelineBuilder &p, EmbeddingOp op) {
  Func ids = p.input("ids", op.getIds());
  Func table = p.input("table", op.getTable());
  return lowerFirstWrong(p, ids, [&](ArrayRef<Scalar>, Scalar id) {
    return id < 0 || id >= convert(p.extent(table, 1), id.getType());
  });
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
  if (failed(requireElements(
          {op, op.getIds(), "the ids"}, "wrong_ids", "to be a row of its table" + range,
          [&](PipelineBuilder &p) { return lowerWrongIds(p, op); }, converter)))
    return failure();
  return converter.call(op.getLoc(), "embedding", op.getResult(), [&](PipelineBuilder &p) {
    return lowerEmbedding(p, op, converter.getCpu());
  });
}

void attn::addEmbeddingLowerings(Lowerings &lowerings) { lowerings.addComputed(convertEmbedding); }
