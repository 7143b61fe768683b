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
  Func left = p.input("left", op.getLeft()), right = p.input("right", op.getRight());
  auto readLeft = [&](ArrayRef<Scalar> at, Scalar index) {
    SmallVector<Scalar> inRow(at);
    inRow[0] = index;
    return widenFactor(readBroadcast(p, left, op.getLeft(), inRow), acc);
  };
  auto rightOuter = [&](ArrayRef<Scalar> at) {
    return SmallVector<Scalar>(ArrayRef(broadcastTo(p, op.getRight(), at)).drop_front(2));
  };
  buildMatrixProduct(p,
                     {.result = type,
                      .rows = p.extent(left, 1),
                      .columns = p.extent(right, 0),
                      .depth = p.extent(left, 0),
                      .left = readLeft,
                      .right = [&](ArrayRef<Scalar> at) { return widenFactor(right(at), acc); },
                      .rightRank = right.getRank(),
                      .rightOuter = rightOuter,
                      .hasRightRows = true,
                      .multiply = [](Scalar x, Scalar y, Scalar) { return x * y; },
                      .finish = [&](Scalar sum) { return convert(sum, element); }},
                     cpu);
  return success();
}

void attn::addMatmulLowerings(Lowerings &lowerings) { lowerings.addPipeline(lowerMatmul); }
