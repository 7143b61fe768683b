//===- StoredTensors.cpp - keys and values as they are stored -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move rows between the widening and the attention move the stored rows instead.
//
//===----------------------------------------------------------------------===//

#include "StoredTensors.h"

#include "Shapes.h"

#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Rows, and their scales or null.
struct StoredRows {
  Value rows, scales;
};
} // namespace

//===----------------------------------------------------------------------===//
// Widening ops
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value tensor) {
  return dyn_cast<RankedTensorType>(tensor.getType());
}

/// Whether kernels widen the stored elements to those of `wide`.
static bool isStored(Value stored, RankedTensorType wide) {
  RankedTensorType type = typeOf(stored);
  Type element = type.getElementType();
  return type.getShape() == wide.getShape() && isNarrower(element, wide.getElementType()) &&
         (element.isInteger(8) || isa<Float8E4M3FNType>(element) || element.isF16() ||
          element.isBF16() || element.isF32());
}

/// Whether `scales` holds one scale for each row of `wide`.
static bool areScales(Value scales, RankedTensorType wide) {
  RankedTensorType type = typeOf(scales);
  Type element = type.getElementType();
  return type.getRank() == 4 && wide.getRank() == 4 && type.getDimSize(3) == 1 &&
         type.getShape().drop_back() == wide.getShape().drop_back() &&
         (element.isF16() || element.isBF16() || element.isF32());
}

/// The argument of the region that `x` converts to its type; null if it is none.
static BlockArgument getConverted(Value x) {
  if (auto extended = x.getDefiningOp<arith::ExtFOp>())
    return dyn_cast<BlockArgument>(extended.getIn());
  if (auto converted = x.getDefiningOp<arith::SIToFPOp>())
    return dyn_cast<BlockArgument>(converted.getIn());
  return dyn_cast<BlockArgument>(x);
}

/// Of a region that converts its argument, and may multiply it with a scale.
static std::optional<StoredRows> matchMap(MapOp map) {
  auto wide = cast<RankedTensorType>(map.getType());
  Value yielded = map.getBody().front().getTerminator()->getOperand(0);
  auto inputOf = [&](BlockArgument argument) -> Value {
    bool isOwn = argument && argument.getOwner() == &map.getBody().front();
    return isOwn ? map.getInputs()[argument.getArgNumber()] : Value();
  };
  if (auto product = yielded.getDefiningOp<arith::MulFOp>()) {
    Value left = inputOf(getConverted(product.getLhs())),
          right = inputOf(getConverted(product.getRhs()));
    if (left && right && !isStored(left, wide))
      std::swap(left, right);
    if (left && right && isStored(left, wide) && areScales(right, wide))
      return StoredRows{left, right};
    return std::nullopt;
  }
  Value stored = inputOf(getConverted(yielded));
  if (stored && map.getInputs().size() == 1 && isStored(stored, wide))
    return StoredRows{stored, Value()};
  return std::nullopt;
}

/// What `tensor` widens, if its op does nothing else.
static std::optional<StoredRows> matchWidening(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto dequantize = dyn_cast_or_null<DequantizeOp>(op))
    return StoredRows{dequantize.getInput(), dequantize.getScales()};
  if (auto map = dyn_cast_or_null<MapOp>(op))
    return matchMap(map);
  if (isa_and_nonnull<arith::ExtFOp, arith::SIToFPOp>(op) &&
      isStored(op->getOperand(0), typeOf(tensor)))
    return StoredRows{op->getOperand(0), Value()};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Whether `move` can move stored rows, which have that element type, and their scales.
static bool canMove(Operation *move, Type element, bool hasScales) {
  if (isa_and_nonnull<GatherPagesOp>(move))
    return true;
  if (auto transpose = dyn_cast_or_null<TransposeOp>(move))
    return !hasScales || transpose.keepsRows();
  return isa_and_nonnull<SplitHeadsOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(move) &&
         isa<FloatType>(element) && !hasScales;
}

/// A copy of `move` for `source`, whose rows may be narrower and of another width.
static Value moveRows(RewriterBase &rewriter, Operation *move, Value source, int64_t width) {
  rewriter.setInsertionPoint(move);
  Operation *copy = rewriter.clone(*move);
  copy->setOperand(0, source);
  SmallVector<int64_t> shape(typeOf(move->getResult(0)).getShape());
  shape.back() = width;
  copy->getResult(0).setType(RankedTensorType::get(shape, getElementTypeOrSelf(source)));
  return copy->getResult(0);
}

static std::optional<StoredRows> findStored(RewriterBase &rewriter, Value tensor) {
  if (std::optional<StoredRows> found = matchWidening(tensor))
    return found;
  Operation *move = tensor.getDefiningOp();
  if (!canMove(move, Float32Type::get(rewriter.getContext()), /*hasScales=*/false))
    return std::nullopt;
  std::optional<StoredRows> found = findStored(rewriter, move->getOperand(0));
  if (!found || !canMove(move, getElementTypeOrSelf(found->rows), bool(found->scales)))
    return std::nullopt;
  int64_t width = typeOf(tensor).getShape().back();
  StoredRows moved = {moveRows(rewriter, move, found->rows, width), Value()};
  if (found->scales)
    moved.scales = moveRows(rewriter, move, found->scales, typeOf(found->scales).getShape().back());
  return moved;
}

//===----------------------------------------------------------------------===//
// The fused op
//===----------------------------------------------------------------------===//

/// Whether the slice has all of its source but some of the dims of its rows.
static bool takesWholeRows(tensor::ExtractSliceOp slice) {
  int64_t last = slice.getType().getRank() - 1;
  if (slice.getSourceType().getRank() != last + 1 || slice.isDynamicSize(last) ||
      slice.isDynamicOffset(last) || !llvm::all_of(slice.getMixedStrides(), isOneInteger) ||
      !llvm::all_of(ArrayRef(slice.getMixedOffsets()).take_front(last), isZeroInteger))
    return false;
  std::optional<SizeTracer> sizes;
  return llvm::all_of(llvm::seq(last), [&](int64_t dim) {
    if (!slice.getType().isDynamicDim(dim) || !slice.getSourceType().isDynamicDim(dim))
      return slice.getType().getDimSize(dim) == slice.getSourceType().getDimSize(dim);
    if (!sizes)
      sizes.emplace(slice->getParentOfType<func::FuncOp>());
    return sizes->sum(slice, dim).str() == sizes->sum(slice.getSource(), dim).str();
  });
}

tensor::ExtractSliceOp attn::getSliceOfRows(Value tensor) {
  auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && takesWholeRows(slice) ? slice : tensor::ExtractSliceOp();
}

Value attn::sliceRows(RewriterBase &rewriter, tensor::ExtractSliceOp slice, Value rows) {
  rewriter.setInsertionPointAfter(slice);
  Location loc = slice.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, rows);
  sizes.back() = slice.getMixedSizes().back();
  return tensor::ExtractSliceOp::create(rewriter, loc, rows, slice.getMixedOffsets(), sizes,
                                        slice.getMixedStrides());
}

void attn::eraseDead(RewriterBase &rewriter, Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  rewriter.eraseOp(op);
  for (Value operand : operands)
    eraseDead(rewriter, operand);
}

/// One scale for all dims of a row is that of any of them.
static void takeStored(RewriterBase &rewriter, OpOperand &wide, MutableOperandRange scales) {
  Value before = wide.get();
  tensor::ExtractSliceOp slice = getSliceOfRows(before);
  std::optional<StoredRows> stored = findStored(rewriter, slice ? slice.getSource() : before);
  if (!stored || (slice && stored->scales && typeOf(stored->scales).getShape().back() != 1))
    return;
  wide.set(slice ? sliceRows(rewriter, slice, stored->rows) : stored->rows);
  if (stored->scales)
    scales.assign(stored->scales);
  // Questions for its sizes keep a tensor from being dead.
  replaceSizes(rewriter, slice ? slice.getSource() : before, stored->rows);
  eraseDead(rewriter, before);
}

void attn::takeStored(RewriterBase &rewriter, AttentionOp op) {
  ::takeStored(rewriter, op.getKeyMutable(), op.getKeyScalesMutable());
  ::takeStored(rewriter, op.getValueMutable(), op.getValueScalesMutable());
}
