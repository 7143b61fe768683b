//===- IndexOnlyTensors.cpp - tensors computed from indices ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexOnlyTensors.h"

#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

static bool isSmallConstant(Value tensor) {
  constexpr int64_t mostElements = 64;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return matchPattern(tensor, m_Constant()) && type && type.getNumElements() <= mostElements;
}

/// Whether an op in a region reads no tensors but these and small constants.
bool IndexOnlyTensors::readsThese(Operation &scalar) const {
  auto isAllowed = [&](Value operand) {
    return !isa<ShapedType>(operand.getType()) ||
           (isa<tensor::ExtractOp>(scalar) &&
            (ops.contains(operand.getDefiningOp()) || isSmallConstant(operand)));
  };
  return scalar.getNumRegions() == 0 && llvm::all_of(scalar.getOperands(), isAllowed);
}

IndexOnlyTensors::IndexOnlyTensors(Block &block) {
  for (Operation &op : block) {
    if (isMoveOrSlice(&op) ? ops.contains(op.getOperand(0).getDefiningOp())
                           : isa<tensor::GenerateOp>(op) &&
                                 llvm::all_of(op.getRegion(0).front(), [&](Operation &scalar) {
                                   return readsThese(scalar);
                                 }))
      ops.insert(&op);
  }
}

Elements IndexOnlyTensors::getElements(OpBuilder &b, Location loc) {
  return Elements(b, loc, [this](Operation *op) { return contains(op); });
}

/// Erases scalars that nothing reads any more.
static void eraseDeadScalars(RewriterBase &rewriter, Block &body) {
  for (Operation &scalar : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&scalar))
      rewriter.eraseOp(&scalar);
}

void IndexOnlyTensors::inlineReads(RewriterBase &rewriter, Operation *op) {
  Block &body = op->getRegion(0).front();
  SmallVector<tensor::ExtractOp> reads;
  for (auto read : body.getOps<tensor::ExtractOp>())
    if (contains(read.getTensor().getDefiningOp()) && !read->hasAttr(kSameSizeAttr))
      reads.push_back(read);
  if (reads.empty() || numInlined > kMostInlined)
    return;
  Elements elements = getElements(rewriter, op->getLoc());
  for (tensor::ExtractOp read : reads) {
    rewriter.setInsertionPoint(read);
    Value scalar = elements.read(read.getTensor(), llvm::to_vector(read.getIndices()));
    rewriter.replaceOp(read, scalar);
  }
  eraseDeadScalars(rewriter, body);
  numInlined += llvm::range_size(body);
}

LogicalResult IndexOnlyTensors::verifyBudget(Operation *function) const {
  if (numInlined <= kMostInlined)
    return success();
  return function->emitError("expected tensors computed from indices to become at most ")
         << kMostInlined << " ops where they are read, found more";
}

Operation *IndexOnlyTensors::generate(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Value> sizes;
  for (auto [dim, size] : llvm::enumerate(getGivenSizes(rewriter, op->getLoc(), op->getResult(0))))
    if (type.isDynamicDim(dim))
      sizes.push_back(getValueOrCreateConstantIndexOp(rewriter, op->getLoc(), size));
  auto generated = tensor::GenerateOp::create(
      rewriter, op->getLoc(), type, sizes, [&](OpBuilder &b, Location loc, ValueRange place) {
        Elements elements = getElements(b, loc);
        tensor::YieldOp::create(b, loc, elements.read(op->getResult(0), llvm::to_vector(place)));
      });
  rewriter.replaceOp(op, generated);
  ops.insert(generated);
  return generated;
}
