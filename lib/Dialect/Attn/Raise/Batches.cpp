//===- Batches.cpp - batch and heads of a product -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention ops have two dimensions in front of their matrices, products any number. Of none or
// one, sizes of 1 are added, or the one is taken apart; of more, the last is the heads', or
// the last two where the right side lacks the last.
//
//===----------------------------------------------------------------------===//

#include "Batches.h"
#include "../Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

static bool isOne(OpFoldResult size) { return getConstantIntValue(size) == 1; }

Value attn::swapLast(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape()), order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(shape[rank - 2], shape[rank - 1]);
  std::swap(order[rank - 2], order[rank - 1]);
  return TransposeOp::create(builder, loc, type.clone(shape), tensor, order);
}

static ArrayRef<int64_t> getFront(Value matrices) {
  return cast<RankedTensorType>(matrices.getType()).getShape().drop_back(2);
}

bool attn::hasOwnHeads(MatmulOp op) {
  ArrayRef<int64_t> left = getFront(op.getLeft()), right = getFront(op.getRight());
  return left.size() == right.size() &&
         llvm::all_of_zip(left, right, [](int64_t a, int64_t b) { return (a == 1) == (b == 1); });
}

bool attn::haveKnownFront(MatmulOp op) {
  ArrayRef<int64_t> left = getFront(op.getLeft()), right = getFront(op.getRight());
  return left.size() != 1 || right.size() != 1 || left[0] == 1 || right[0] == 1 ||
         ShapedType::isDynamic(left[0]) == ShapedType::isDynamic(right[0]);
}

//===----------------------------------------------------------------------===//
// Batch dimensions
//===----------------------------------------------------------------------===//

/// The two sizes that dimension `dim` is made of, behind transposes and maps of one operand.
static std::optional<std::pair<OpFoldResult, OpFoldResult>> findParts(OpBuilder &b, Location loc,
                                                                      Value tensor, int64_t dim) {
  constexpr int mostSteps = 16;
  for (int step = 0; step < mostSteps; ++step) {
    Operation *op = tensor.getDefiningOp();
    auto map = dyn_cast_or_null<MapOp>(op);
    if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
      dim = transpose.getPermutation()[dim];
    } else if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
      ReassociationIndices group = collapse.getReassociationIndices()[dim];
      Value whole = collapse.getSrc();
      if (group.size() == 2)
        return std::pair(tensor::getMixedSize(b, loc, whole, group[0]),
                         tensor::getMixedSize(b, loc, whole, group[1]));
      if (group.size() > 2)
        return std::nullopt;
      dim = group[0];
    } else if (!map || map.getInputs().size() != 1 ||
               map.getInputs()[0].getType() != tensor.getType()) {
      return std::nullopt;
    }
    tensor = op->getOperand(0);
  }
  return std::nullopt;
}

/// The size of a dimension in front of the product, from an operand that isn't repeated there.
static OpFoldResult getFrontSize(OpBuilder &b, MatmulOp op, int64_t dim, int64_t numFront) {
  for (Value operand : {op.getLeft(), op.getRight()}) {
    int64_t own = dim - (numFront - int64_t(getFront(operand).size()));
    if (own >= 0 && getFront(operand)[own] != 1)
      return tensor::getMixedSize(b, op.getLoc(), operand, own);
  }
  return b.getIndexAttr(1);
}

/// Whether reshapes of the operands and the product to the two sizes are ones that the types allow.
static bool areParts(MatmulOp op, const std::pair<OpFoldResult, OpFoldResult> &parts) {
  bool isDynamic = !getConstantIntValue(parts.first) || !getConstantIntValue(parts.second);
  for (Value matrices : {op.getLeft(), op.getRight(), op.getResult()})
    if (!getFront(matrices).empty() && getFront(matrices)[0] != 1 &&
        ShapedType::isDynamic(getFront(matrices)[0]) != isDynamic)
      return false;
  return true;
}

Batches::Batches(RewriterBase &rewriter, MatmulOp op,
                 std::optional<std::pair<OpFoldResult, OpFoldResult>> parts)
    : rewriter(rewriter), op(op) {
  int64_t numFront = rankOf(op.getResult()) - 2;
  ArrayRef<int64_t> right = getFront(op.getRight());
  for (int64_t dim = 0; dim < numFront; ++dim)
    front.push_back(getFrontSize(rewriter, op, dim, numFront));
  if (numFront == 1 && !parts && hasOwnHeads(op)) {
    parts = findParts(rewriter, op.getLoc(), op.getLeft(), 0);
    if (!parts)
      parts = findParts(rewriter, op.getLoc(), op.getRight(), 0);
  }
  if (numFront == 1 && parts && areParts(op, *parts))
    front = {parts->first, parts->second};
  front.insert(front.begin(), std::max<int64_t>(2 - int64_t(front.size()), 0),
               rewriter.getIndexAttr(1));
  isGrouped = numFront > 2 && !isOne(front.back()) && (right.empty() || right.back() == 1);
}

SmallVector<ReassociationIndices> Batches::getGroups() const {
  int64_t numBatch = front.size() - (isGrouped ? 2 : 1), rank = front.size() + 2;
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    groups[dim < numBatch ? 0 : 1].push_back(dim);
  groups.push_back({rank - 2});
  groups.push_back({rank - 1});
  return groups;
}

RankedTensorType Batches::getStageType() const {
  MatmulOp product = op;
  auto type = cast<RankedTensorType>(product.getType());
  if (type.getRank() > 4)
    return tensor::CollapseShapeOp::inferCollapsedType(type, getGroups());
  SmallVector<int64_t> shape = decomposeMixedValues(front).first;
  if (type.getRank() == 4)
    shape.assign(type.getShape().begin(), type.getShape().end() - 2);
  llvm::append_range(shape, type.getShape().take_back(2));
  return type.clone(shape);
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// As many dimensions in front as `front` has: of one, the parts that it is made of.
Value Batches::addUnits(Value operand) {
  int64_t rank = front.size() + 2, own = rankOf(operand);
  if (own == rank)
    return operand;
  bool isApart = own == 3 && rankOf(op.getResult()) == 3 && getFront(operand)[0] != 1;
  SmallVector<OpFoldResult> sizes(rank - own, rewriter.getIndexAttr(1));
  llvm::append_range(sizes, tensor::getMixedSizes(rewriter, op.getLoc(), operand));
  if (isApart)
    llvm::copy(front, sizes.begin());
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t dim = 0; dim < rank; ++dim) {
    groups.back().push_back(dim);
    if (dim >= rank - own && dim + 1 < rank)
      groups.emplace_back();
  }
  SmallVector<int64_t> shape = decomposeMixedValues(sizes).first;
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(operand));
  return tensor::ExpandShapeOp::create(rewriter, op.getLoc(), type, operand, groups, sizes);
}

/// Repeats dimensions that broadcast, but for a key head shared by all query heads.
Value Batches::repeat(Value operand, Side side) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, op.getLoc(), operand);
  SmallVector<bool> isRepeated(sizes.size(), false);
  for (auto [dim, wanted] : llvm::enumerate(front)) {
    bool isShared = side == Keys && dim + 1 == front.size() && (isGrouped || front.size() == 2);
    isRepeated[dim] = isOne(sizes[dim]) && !isOne(wanted) && !isShared;
    if (isRepeated[dim])
      sizes[dim] = wanted;
  }
  if (!llvm::is_contained(isRepeated, true))
    return operand;
  auto [shape, dynamic] = decomposeMixedValues(sizes);
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(operand));
  return tensor::GenerateOp::create(
      rewriter, op.getLoc(), type, dynamic, [&](OpBuilder &b, Location loc, ValueRange place) {
        SmallVector<Value> own(place);
        for (auto [index, repeated] : llvm::zip_equal(own, isRepeated))
          if (repeated)
            index = arith::ConstantIndexOp::create(b, loc, 0);
        tensor::YieldOp::create(b, loc, tensor::ExtractOp::create(b, loc, operand, own));
      });
}

Value Batches::raise(Value operand, Side side) {
  Value wide = repeat(addUnits(operand), side);
  if (front.size() == 2)
    return wide;
  return tensor::CollapseShapeOp::create(rewriter, op.getLoc(), wide, getGroups());
}

void Batches::addMoves(Stage &stage) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  Value shown = stage.show(rewriter);
  if (type.getRank() < 4) {
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}, {3}};
    if (type.getRank() == 2)
      groups = {{0, 1, 2}, {3}};
    stage.push(tensor::CollapseShapeOp::create(rewriter, loc, type, shown, groups));
  } else if (type.getRank() > 4) {
    SmallVector<OpFoldResult> sizes(front), matrix = tensor::getMixedSizes(rewriter, loc, shown);
    sizes.append(matrix.end() - 2, matrix.end());
    stage.push(tensor::ExpandShapeOp::create(rewriter, loc, type, shown, getGroups(), sizes));
  }
}
