//===- RaiseLinear.cpp - products with a matrix are linear layers ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Bodies.h"
#include "../Shapes.h"
#include "Batches.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

/// Writes the elements of a matrix, each of `width` bytes, column by column.
static void transposeBytes(ArrayRef<char> from, MutableArrayRef<char> to, ShapedType matrix,
                           int64_t width) {
  int64_t rows = matrix.getDimSize(0), columns = matrix.getDimSize(1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      std::copy_n(from.data() + (row * columns + column) * width, width,
                  to.data() + (column * rows + row) * width);
}

/// The transpose of a constant matrix, computed here; null where its bytes are not at hand.
static ElementsAttr transposeConstant(ElementsAttr matrix) {
  auto shape = matrix.getShapedType();
  auto type =
      RankedTensorType::get({shape.getDimSize(1), shape.getDimSize(0)}, shape.getElementType());
  if (matrix.isSplat())
    return cast<DenseElementsAttr>(matrix).reshape(type);
  int64_t width = type.getElementTypeBitWidth() / 8;
  ArrayRef<char> from = getConstantBytes(matrix);
  if (int64_t(from.size()) != type.getNumElements() * width)
    return nullptr;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(matrix)) {
    auto blob = HeapAsmResourceBlob::allocate(from.size(), width);
    transposeBytes(from, blob.getMutableData(), shape, width);
    return DenseResourceElementsAttr::get(type, resource.getRawHandle().getKey(), std::move(blob));
  }
  std::vector<char> to(from.size());
  transposeBytes(from, to, shape, width);
  return DenseElementsAttr::getFromRawBuffer(type, to);
}

/// A matrix as attn.linear wants it, [out_features, in_features].
static Value getWeight(RewriterBase &rewriter, Location loc, Value matrix) {
  auto transpose = matrix.getDefiningOp<TransposeOp>();
  if (transpose && transpose.getPermutation()[0] == 1)
    return transpose.getInput();
  ElementsAttr constant;
  if (matchPattern(matrix, m_Constant(&constant)))
    if (ElementsAttr transposed = transposeConstant(constant))
      return arith::ConstantOp::create(rewriter, loc, cast<TypedAttr>(transposed));
  return swapLast(rewriter, loc, matrix);
}

/// Whether a map adds its two operands, and no more.
static bool addsOperands(MapOp map) {
  auto add = yieldedValue(map.getBody()).getDefiningOp<arith::AddFOp>();
  if (!add || map.getInputs().size() != 2)
    return false;
  Value first = map.getBody().getArgument(0), second = map.getBody().getArgument(1);
  return (add.getLhs() == first && add.getRhs() == second) ||
         (add.getLhs() == second && add.getRhs() == first);
}

/// The row that `map` adds to a product, which nothing else reads.
static Value findBias(LinearOp product, MapOp map) {
  if (!map || !addsOperands(map) || map.getType() != product.getType())
    return nullptr;
  Value row = map.getInputs()[map.getInputs()[0] == product.getResult() ? 1 : 0];
  bool isRow = rankOf(row) == 1 && !ShapedType::isDynamic(sizeOf(row, 0)) &&
               sizeOf(row, 0) == sizeOf(product.getWeight(), 0) &&
               getElementTypeOrSelf(row) == getElementTypeOrSelf(product.getResult());
  return isRow ? row : Value();
}

static void raiseLinear(RewriterBase &rewriter, MatmulOp op) {
  if (rankOf(op.getRight()) != 2)
    return;
  rewriter.setInsertionPoint(op);
  Value weight = getWeight(rewriter, op.getLoc(), op.getRight());
  auto linear = LinearOp::create(rewriter, op.getLoc(), op.getType(), op.getLeft(), weight,
                                 /*bias=*/Value());
  rewriter.replaceOp(op, linear);
  if (!linear->hasOneUse())
    return;
  auto map = dyn_cast<MapOp>(*linear->user_begin());
  if (Value bias = findBias(linear, map)) {
    rewriter.setInsertionPoint(map);
    rewriter.replaceOpWithNewOp<LinearOp>(map, map.getType(), linear.getInput(), weight, bias);
    rewriter.eraseOp(linear);
  }
}

void attn::raiseLinears(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<MatmulOp> products;
  function.walk([&](MatmulOp op) { products.push_back(op); });
  for (MatmulOp op : products)
    raiseLinear(rewriter, op);
}
