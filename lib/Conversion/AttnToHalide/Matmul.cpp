//===- Matmul.cpp - the pipeline of attn.matmul ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that matter most for speed have become linear layers and attention before.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"
#include "FunctionConverter.h"
#include "TiledProduct.h"

using namespace mlir;
using namespace mlir::attn;

static LogicalResult lowerMatmul(PipelineBuilder &p, MatmulOp op, const CpuInfo &cpu) {
  RankedTensorType type = tensorType(op.getResult());
  Type element = type.getElementType(), acc = accumulatorType(element);
  auto outerOf = [&](Value operand, ArrayRef<Scalar> at) {
    return SmallVector<Scalar>(ArrayRef(broadcastTo(p, operand, at)).drop_front(2));
  };
  buildMatrixProduct(
      p,
      {.result = type,
       .left = p.input("left", op.getLeft()),
       .right = p.input("right", op.getRight()),
       .isRightTransposed = false,
       .leftOuter = [&](ArrayRef<Scalar> at) { return outerOf(op.getLeft(), at); },
       .rightOuter = [&](ArrayRef<Scalar> at) { return outerOf(op.getRight(), at); },
       .multiply = [&](Scalar x, Scalar y, Scalar) { return widenFactor(x, acc) * y; },
       .finish = [&](Scalar sum) { return convert(sum, element); }},
      cpu);
  return success();
}

void attn::addMatmulLowerings(Lowerings &lowerings) { lowerings.addPipeline(lowerMatmul); }
