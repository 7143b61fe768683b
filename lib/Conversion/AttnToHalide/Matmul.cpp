//===- Matmul.cpp - the pipeline of attn.matmul ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serves any shape, vectorized along the right operand's columns. Products that matter for speed
// have become linear layers and attention before.
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

static LogicalResult lowerMatmul(PipelineBuilder &p, MatmulOp op, const CpuInfo &cpu) {
  RankedTensorType type = tensorType(op.getResult());
  Type element = type.getElementType(), acc = accumulatorType(element);
  Func left = p.input("left", op.getLeft()), right = p.input("right", op.getRight());
  Scalar width = p.extent(left, 0);
  SmallVector<StringRef> vars = varNames(type.getRank());
  Func sum = p.func("sum", vars, acc, [&](ArrayRef<Scalar>) { return p.constant(acc, 0); });
  p.update(sum, vars, {{"r", width}}, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    SmallVector<Scalar> inRow(v), inColumn(v);
    inRow[0] = r[0], inColumn[1] = r[0];
    return sum(v) + convert(readBroadcast(p, left, op.getLeft(), inRow), acc) *
                        convert(readBroadcast(p, right, op.getRight(), inColumn), acc);
  });
  Func result =
      p.func("result", vars, element, [&](ArrayRef<Scalar> v) { return convert(sum(v), element); });
  p.output(result, type);

  int64_t lanes = lanesFor(cpu, acc);
  scheduleRowSum(p, sum, width, scheduleOutput(p, result, lanes), lanes);
  return success();
}

void attn::addMatmulLowerings(Lowerings &lowerings) { lowerings.addPipeline(lowerMatmul); }
