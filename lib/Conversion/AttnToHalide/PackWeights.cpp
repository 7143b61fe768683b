//===- PackWeights.cpp - lay constant weights out for kernels -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackWeights.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A matrix of elements of `size` bytes.
struct Matrix {
  ArrayRef<char> bytes;
  int64_t rows, columns, size;

  bool isSplat() const { return bytes.size() == static_cast<size_t>(size); }
  const char *at(int64_t row, int64_t column) const {
    return bytes.data() + (isSplat() ? 0 : (row * columns + column) * size);
  }
};
} // namespace

/// Transposes a panel at a time, whose columns have `group` neighbouring elements of a row side by
/// side; columns are filled up with zeros.
static void pack(const Matrix &weight, RankedTensorType type, int64_t group,
                 MutableArrayRef<char> panels) {
  std::fill(panels.begin(), panels.end(), 0);
  int64_t depth = type.getDimSize(1) * group, panelColumns = type.getDimSize(2);
  for (int64_t n = 0; n < weight.rows; ++n) {
    int64_t panel = n / panelColumns, column = n % panelColumns;
    char *to = panels.data() + (panel * depth * panelColumns + column * group) * weight.size;
    for (int64_t k = 0; k < weight.columns; ++k) {
      int64_t place = k / group * group * panelColumns + k % group;
      std::memcpy(to + place * weight.size, weight.at(n, k), weight.size);
    }
  }
}

/// Keeps the weight's name, if it has one.
static std::string getName(arith::ConstantOp constant) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
  return resource ? (resource.getRawHandle().getKey() + ".panels").str() : "panels";
}

int64_t attn::getGroupSize(Type element, Products products) {
  if (element.isInteger(8))
    return 4;
  return products == Products::f32 ? 1 : 2;
}

int64_t attn::countGroups(int64_t depth, int64_t groupSize, Products products) {
  constexpr int64_t kTilePairs = 16;
  int64_t groups = llvm::divideCeilSigned(depth, groupSize);
  return products == Products::bf16_tiles ? llvm::alignTo(groups, kTilePairs) : groups;
}

Value attn::packPanels(OpBuilder &builder, Value weight, int64_t columns, Products products) {
  auto constant = weight.getDefiningOp<arith::ConstantOp>();
  ArrayRef<char> bytes = constant ? getConstantBytes(constant.getValue()) : ArrayRef<char>();
  if (bytes.empty())
    return {};
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t size = type.getElementTypeBitWidth() / 8;
  Matrix matrix{bytes, type.getDimSize(0), type.getDimSize(1), size};
  int64_t group = getGroupSize(type.getElementType(), products);
  auto packed = RankedTensorType::get({llvm::divideCeilSigned(matrix.rows, columns),
                                       countGroups(matrix.columns, group, products), columns},
                                      group == 1 ? type.getElementType() : builder.getI32Type());
  auto blob = HeapAsmResourceBlob::allocate(packed.getNumElements() * size * group, size * group);
  pack(matrix, packed, group, blob.getMutableData());
  auto value = DenseResourceElementsAttr::get(packed, getName(constant), std::move(blob));
  return arith::ConstantOp::create(builder, weight.getLoc(), cast<TypedAttr>(value));
}
