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

namespace {
/// A row that a map adds to a product before all else.
struct BiasAdd {
  arith::AddFOp add;
  unsigned product, row;
};
} // namespace

static std::optional<BiasAdd> findBias(LinearOp linear, MapOp map) {
  auto isProduct = [&](Value input) { return input == linear.getResult(); };
  if (!map || map.getType() != linear.getType() || llvm::count_if(map.getInputs(), isProduct) != 1)
    return std::nullopt;
  unsigned product = llvm::find_if(map.getInputs(), isProduct) - map.getInputs().begin();
  BlockArgument element = map.getBody().getArgument(product);
  auto add = element.hasOneUse() ? dyn_cast<arith::AddFOp>(*element.user_begin()) : arith::AddFOp();
  if (!add)
    return std::nullopt;
  auto other = dyn_cast<BlockArgument>(add.getLhs() == element ? add.getRhs() : add.getLhs());
  if (!other || other.getOwner() != &map.getBody().front())
    return std::nullopt;
  Value row = map.getInputs()[other.getArgNumber()];
  if (rankOf(row) != 1 || ShapedType::isDynamic(sizeOf(row, 0)) ||
      sizeOf(row, 0) != sizeOf(linear.getWeight(), 0))
    return std::nullopt;
  return BiasAdd{add, product, other.getArgNumber()};
}

/// The layer with the row as its bias; the map goes where it did no more than to add it.
static void takeBias(RewriterBase &rewriter, LinearOp linear, MapOp map, BiasAdd bias) {
  rewriter.setInsertionPoint(map);
  Value biased = LinearOp::create(rewriter, linear.getLoc(), linear.getType(), linear.getInput(),
                                  linear.getWeight(), map.getInputs()[bias.row]);
  if (yieldedValue(map.getBody()) == bias.add.getResult()) {
    rewriter.replaceOp(map, biased);
  } else {
    rewriter.replaceOp(bias.add, map.getBody().getArgument(bias.product));
    map.getInputsMutable().slice(bias.product, 1).assign(biased);
    if (map.getBody().getArgument(bias.row).use_empty()) {
      map.getBody().eraseArgument(bias.row);
      map.getInputsMutable().erase(bias.row);
    }
  }
  rewriter.eraseOp(linear);
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
  if (std::optional<BiasAdd> bias = findBias(linear, map))
    takeBias(rewriter, linear, map, *bias);
}

void attn::raiseLinears(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<MatmulOp> products;
  function.walk([&](MatmulOp op) { products.push_back(op); });
  for (MatmulOp op : products)
    raiseLinear(rewriter, op);
}
