//===- Shapes.cpp - sizes of tensors, compared and computed ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// What the verifiers share
//===----------------------------------------------------------------------===//

int64_t attn::rankOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); }

int64_t attn::sizeOf(Value tensor, int64_t dim) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
}

bool attn::bothStatic(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b);
}

int64_t attn::eitherSize(Value a, Value b, int64_t dim) {
  return ShapedType::isDynamic(sizeOf(a, dim)) ? sizeOf(b, dim) : sizeOf(a, dim);
}

LogicalResult attn::verifySize(Operation *op, StringRef what, int64_t found, StringRef where,
                               int64_t expected) {
  if (!bothStatic(found, expected) || found == expected)
    return success();
  return op->emitOpError("expected ")
         << what << " " << expected << " to match " << where << ", found " << found;
}

LogicalResult attn::verifyElement(Operation *op, StringRef what, Value value, StringRef where,
                                  Value reference) {
  Type found = getElementTypeOrSelf(value), expected = getElementTypeOrSelf(reference);
  if (found == expected)
    return success();
  return op->emitOpError("expected ")
         << what << " elements " << expected << " to match " << where << ", found " << found;
}

LogicalResult attn::verifyShape(Operation *op, StringRef what, Value result,
                                ArrayRef<StringRef> names, ArrayRef<int64_t> expected) {
  for (auto [dim, name] : llvm::enumerate(names)) {
    int64_t found = sizeOf(result, dim);
    if (bothStatic(found, expected[dim]) && found != expected[dim])
      return op->emitOpError("expected ")
             << what << " " << name << " " << expected[dim] << ", found " << found;
  }
  return success();
}

LogicalResult attn::verifyRank(Operation *op, StringRef what, Value value, int64_t expected) {
  int64_t found = rankOf(value);
  if (found == expected)
    return success();
  return op->emitOpError("expected ") << what << " of rank " << expected << ", found " << found;
}

LogicalResult attn::verifyResultShape(Operation *op, Value result, ArrayRef<int64_t> expected) {
  if (failed(verifyRank(op, "a result", result, expected.size())))
    return failure();
  for (auto [dim, size] : llvm::enumerate(expected))
    if (int64_t found = sizeOf(result, dim); bothStatic(found, size) && found != size)
      return op->emitOpError("expected result dimension ")
             << dim << " of " << size << ", found " << found;
  return success();
}

std::optional<int64_t> attn::broadcastInto(SmallVectorImpl<int64_t> &sizes,
                                           ArrayRef<int64_t> input) {
  if (input.size() > sizes.size())
    sizes.insert(sizes.begin(), input.size() - sizes.size(), 1);
  int64_t leading = sizes.size() - input.size();
  for (auto [dim, size] : llvm::enumerate(input)) {
    int64_t &known = sizes[leading + dim];
    if (size == 1 || size == known)
      continue;
    if (known != 1 && bothStatic(known, size))
      return leading + dim;
    if (known == 1 || ShapedType::isDynamic(known))
      known = size;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What the size functions share
//===----------------------------------------------------------------------===//

OpFoldResult attn::resultSize(OpBuilder &builder, Location loc, Value result, int64_t dim,
                              Value source, int64_t sourceDim) {
  int64_t size = sizeOf(result, dim);
  if (!ShapedType::isDynamic(size))
    return builder.getIndexAttr(size);
  return tensor::getMixedSize(builder, loc, source, sourceDim);
}

SmallVector<OpFoldResult> attn::resultSizes(OpBuilder &builder, Location loc, Value result,
                                            ArrayRef<std::pair<Value, int64_t>> sources) {
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, source] : llvm::enumerate(sources))
    sizes.push_back(resultSize(builder, loc, result, dim, source.first, source.second));
  return sizes;
}

LogicalResult attn::reifyLike(OpBuilder &builder, Operation *op, Value source,
                              ReifiedRankedShapedTypeDims &shapes) {
  shapes = {tensor::getMixedSizes(builder, op->getLoc(), source)};
  return success();
}
