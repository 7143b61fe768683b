//===- ShareHeads.cpp - repeated heads of keys and values are shared ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs write grouped heads as Unsqueeze, Expand, Reshape of keys and values: each head several
// times in a row. Attention ops share one.
//
//===----------------------------------------------------------------------===//

#include "../Shapes.h"
#include "../SizeTerms.h"
#include "Stage.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// The read of a tensor.generate that yields an element unchanged; null for others.
static tensor::ExtractOp getOnlyRead(tensor::GenerateOp op) {
  Block &body = op.getBody().front();
  auto read = body.getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  return read && read->getBlock() == &body ? read : tensor::ExtractOp();
}

/// Whether `tensor`, read at `indices`, has the sizes of batch, heads, length and width of a tensor
/// [batch, heads, group, length, width], and is read alike for each group.
static bool isReadForGroups(OpBuilder &builder, tensor::ExtractOp read, tensor::GenerateOp op) {
  SmallVector<int64_t> wide = {0, 1, 3, 4}, own(wide);
  int64_t rank = read.getTensor().getType().getRank();
  if (rank == 4)
    own = {0, 1, 2, 3};
  else if (rank != 5 || read.getTensor().getType().getDimSize(2) != 1)
    return false;
  return llvm::all_of_zip(wide, own, [&](int64_t dim, int64_t ownDim) {
    return read.getIndices()[ownDim] == op.getBody().getArgument(dim) &&
           SizeTerms::of(builder, read.getTensor(), ownDim) ==
               SizeTerms::of(builder, op.getResult(), dim);
  });
}

/// The tensor whose heads `repeated` holds several times each; null where it is another.
static Value findOwnHeads(RewriterBase &rewriter, Value repeated) {
  const SmallVector<ReassociationIndices> groups = {{0}, {1, 2}, {3}, {4}};
  auto collapse = repeated.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse || collapse.getReassociationIndices() != groups)
    return nullptr;
  auto generate = collapse.getSrc().getDefiningOp<tensor::GenerateOp>();
  tensor::ExtractOp read = generate ? getOnlyRead(generate) : tensor::ExtractOp();
  rewriter.setInsertionPoint(collapse);
  if (!read || !isReadForGroups(rewriter, read, generate))
    return nullptr;
  if (read.getTensor().getType().getRank() == 4)
    return read.getTensor();
  return tensor::CollapseShapeOp::create(rewriter, collapse.getLoc(), read.getTensor(), groups);
}

void attn::shareHeads(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<OpOperand *> operands;
  function.walk([&](Operation *op) {
    if (isa<ScoreOp, ContextOp>(op))
      operands.push_back(&op->getOpOperand(1));
  });
  for (OpOperand *operand : operands)
    if (Value own = findOwnHeads(rewriter, operand->get()))
      operand->set(own);
}
