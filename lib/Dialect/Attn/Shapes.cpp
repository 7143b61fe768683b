//===- Shapes.cpp - sizes of tensors, compared ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dynamic size is compatible with every other; dynamic sizes are compared when the kernel is
// called.
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

int64_t attn::rankOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); }

int64_t attn::sizeOf(Value tensor, int64_t dim) { return shapeOf(tensor)[dim]; }

ArrayRef<int64_t> attn::shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

bool attn::bothStatic(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b);
}

LogicalResult attn::verifyElement(Operation *op, StringRef what, Value value, StringRef where,
                                  Value reference) {
  Type found = getElementTypeOrSelf(value), expected = getElementTypeOrSelf(reference);
  if (found == expected)
    return success();
  return op->emitOpError("expected ")
         << what << " elements " << expected << " to match " << where << ", found " << found;
}

bool attn::isNarrower(Type stored, Type element) {
  return isa<FloatType>(element) &&
         stored.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth();
}

LogicalResult attn::verifyScaleBlocks(Operation *op, Value rows, Value scales) {
  int64_t blocks = sizeOf(scales, 3), dims = sizeOf(rows, 3);
  if (ShapedType::isDynamic(blocks) || blocks == 0)
    return op->emitOpError("expected a static, positive number of scales of a row, found ")
           << scales.getType();
  if (blocks == 1 || (!ShapedType::isDynamic(dims) && dims % blocks == 0))
    return success();
  return op->emitOpError(
             "expected the number of scales of a row to divide its static width, found ")
         << scales.getType() << " of " << rows.getType();
}

LogicalResult attn::verifyRank(Operation *op, StringRef what, Value value, int64_t expected) {
  int64_t found = rankOf(value);
  if (found == expected)
    return success();
  return op->emitOpError("expected ") << what << " of rank " << expected << ", found " << found;
}

LogicalResult attn::verifySizes(AttnOpInterface op) {
  std::string contradiction =
      findContradiction(op.getSizeConstraints(), [](TensorDim dim) { return dim.getStaticSize(); });
  return contradiction.empty() ? success() : op->emitOpError(contradiction);
}

static bool contradicts(int64_t found, int64_t expected) {
  return bothStatic(found, expected) && found != expected;
}

LogicalResult attn::verifyResult(AttnOpInterface op, Value result, StringRef what,
                                 ArrayRef<StringRef> names) {
  unsigned number = cast<OpResult>(result).getResultNumber();
  SmallVector<int64_t> sizes = getStaticSizes(op.getResultSizes(number));
  for (auto [name, found, expected] : llvm::zip_equal(names, shapeOf(result), sizes))
    if (contradicts(found, expected))
      return op->emitOpError("expected ")
             << what << " " << name << " " << expected << ", found " << found;
  return success();
}

LogicalResult attn::verifyResult(AttnOpInterface op) {
  Value result = op->getResult(0);
  SmallVector<int64_t> sizes = getStaticSizes(op.getResultSizes(0));
  if (failed(verifyRank(op, "a result", result, sizes.size())))
    return failure();
  for (auto [dim, expected] : llvm::enumerate(sizes))
    if (int64_t found = sizeOf(result, dim); contradicts(found, expected))
      return op->emitOpError("expected result dimension ")
             << dim << " of " << expected << ", found " << found;
  return success();
}

void attn::replaceSizes(RewriterBase &rewriter, Value tensor, const ResultSizes &sizes) {
  for (Operation *user : llvm::make_early_inc_range(tensor.getUsers())) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
    if (!index || *index < 0 || *index >= int64_t(sizes.size()))
      continue;
    rewriter.setInsertionPoint(dim);
    OpFoldResult size = sizes[*index].reify(rewriter, dim.getLoc());
    rewriter.replaceOp(dim, getValueOrCreateConstantIndexOp(rewriter, dim.getLoc(), size));
  }
}

void attn::replaceSizes(RewriterBase &rewriter, Value tensor, Value other) {
  int64_t last = rankOf(tensor) - 1;
  for (Operation *user : llvm::make_early_inc_range(tensor.getUsers()))
    if (auto dim = dyn_cast<tensor::DimOp>(user);
        dim && dim.getConstantIndex().value_or(last) < last)
      rewriter.modifyOpInPlace(dim, [&] { dim.getSourceMutable().set(other); });
}
