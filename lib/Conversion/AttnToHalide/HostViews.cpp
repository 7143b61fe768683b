//===- HostViews.cpp - views of the host function's buffers ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFunction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

Value HostFunction::viewPermuted(Value buffer, ArrayRef<int64_t> order) {
  auto map = AffineMap::getPermutationMap(order, builder.getContext());
  return memref::TransposeOp::create(builder, buffer, AffineMapAttr::get(map));
}

/// By memref.expand_shape if each group has at most one dynamic size.
Value HostFunction::expandBuffer(Value buffer, ArrayRef<OpFoldResult> sizes,
                                 ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> shape) {
  bool oneOpen = llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t dim) { return ShapedType::isDynamic(shape[dim]); }) <
           2;
  });
  if (oneOpen)
    return memref::ExpandShapeOp::create(builder, shape, buffer, groups, sizes);
  auto source = cast<MemRefType>(buffer.getType());
  MemRefType type = *memref::ExpandShapeOp::computeExpandedType(source, shape, groups);
  auto [typeStrides, typeOffset] = type.getStridesAndOffset();
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  auto known = [&](int64_t size, Value otherwise) {
    return ShapedType::isDynamic(size) ? OpFoldResult(otherwise)
                                       : OpFoldResult(builder.getIndexAttr(size));
  };
  SmallVector<OpFoldResult> strides(shape.size());
  for (auto [group, stride] : llvm::zip_equal(groups, metadata.getStrides())) {
    Value running = stride;
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = known(typeStrides[dim], running);
      running = arith::MulIOp::create(builder, running, toValue(sizes[dim]));
    }
  }
  return memref::ReinterpretCastOp::create(builder, type, metadata.getBaseBuffer(),
                                           known(typeOffset, metadata.getOffset()), sizes, strides);
}

Value HostFunction::viewAsHeads(Value buffer, OpFoldResult heads, Layout layout) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, builder.getLoc(), buffer);
  SmallVector<int64_t> shape(type.getShape());
  auto known = getConstantIntValue(heads), width = getConstantIntValue(sizes[2]);
  if (known && width) {
    shape[2] = *known;
    shape.push_back(*width / *known);
    sizes.push_back(builder.getIndexAttr(shape[3]));
  } else {
    shape[2] = ShapedType::kDynamic;
    buffer = memref::CastOp::create(builder, MemRefType(MemRefType::Builder(type).setShape(shape)),
                                    buffer);
    // The number of heads may be 0.
    Value one = arith::ConstantIndexOp::create(builder, 1);
    Value divisor = arith::MaxUIOp::create(builder, toValue(heads), one);
    Value width = toValue(sizes[2]);
    sizes.push_back(arith::DivUIOp::create(builder, width, divisor).getResult());
    shape[2] = known.value_or(ShapedType::kDynamic);
    shape.push_back(ShapedType::kDynamic);
  }
  sizes[2] = heads;
  Value split = expandBuffer(buffer, sizes, {{0}, {1}, {2, 3}}, shape);
  return viewPermuted(split, layout == Layout::batch_first ? ArrayRef<int64_t>{0, 2, 1, 3}
                                                           : ArrayRef<int64_t>{1, 2, 0, 3});
}

/// The collapsed dimensions but one are 1, so that the view has the sizes of `op`'s source.
static bool addsOnesAlone(tensor::CollapseShapeOp op) {
  return llvm::all_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group,
                          [&](int64_t dim) { return op.getSrcType().getDimSize(dim) != 1; }) <= 1;
  });
}

Value HostFunction::castBuffer(Value buffer, Type tensor) {
  auto from = cast<MemRefType>(buffer.getType());
  auto to = MemRefType::get(cast<RankedTensorType>(tensor).getShape(), from.getElementType(),
                            from.getLayout());
  return memref::CastOp::create(builder, to, buffer);
}

Value HostFunction::viewInReader(Value tensor, Operation *reader) {
  if (auto merge = dyn_cast<MergeHeadsOp>(reader)) {
    int64_t heads = merge.getInput().getType().getDimSize(1);
    return heads > 0 ? viewAsHeads(getDestination(merge.getResult()), builder.getIndexAttr(heads),
                                   merge.getLayout())
                     : Value();
  }
  if (auto transpose = dyn_cast<TransposeOp>(reader);
      transpose && transpose.keepsRows() && !transpose.getPermutation().empty()) {
    SmallVector<int64_t> inverse = invertPermutationVector(transpose.getPermutation());
    return viewPermuted(getDestination(transpose.getResult()), inverse);
  }
  // Of a cast that adds static sizes, these are checked before its source is read.
  if (auto cast = dyn_cast<tensor::CastOp>(reader);
      cast && tensor::preservesStaticInformation(cast.getType(), tensor.getType()))
    return castBuffer(getDestination(cast.getResult()), tensor.getType());
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(reader);
  if (!collapse || !addsOnesAlone(collapse) || collapse.getReassociationIndices().empty())
    return {};
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < collapse.getSrcType().getRank(); ++dim)
    sizes.push_back(getMixedSize(tensor, dim));
  return expandBuffer(getDestination(collapse.getResult()), sizes,
                      collapse.getReassociationIndices(), collapse.getSrcType().getShape());
}

void HostFunction::viewTransposed(TransposeOp op) {
  if (op.getPermutation().empty()) // which is no permutation map
    return setBuffer(op.getResult(), getBuffer(op.getInput()));
  setBuffer(op.getResult(), viewPermuted(getBuffer(op.getInput()), op.getPermutation()));
}

Value HostFunction::viewSlice(OffsetSizeAndStrideOpInterface slice, Value buffer, Value whole,
                              ArrayRef<int64_t> shape, const Twine &message) {
  auto known = [&](ArrayRef<OpFoldResult> mixed) {
    return llvm::map_to_vector(mixed, [&](OpFoldResult index) { return getMixedIndex(index); });
  };
  SmallVector<OpFoldResult> offsets = known(slice.getMixedOffsets()),
                            sizes = known(slice.getMixedSizes()), strides = slice.getMixedStrides();
  for (auto [dim, offset, size] : llvm::enumerate(offsets, sizes))
    requireWithin(slice.getLoc(), offset, size, getMixedSize(whole, dim), message,
                  describeOrigin(whole, dim));
  auto type = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(builder, cast<MemRefType>(type), buffer, offsets, sizes,
                                   strides);
}

void HostFunction::viewSlice(tensor::ExtractSliceOp op) {
  setBuffer(op.getResult(),
            viewSlice(op, getBuffer(op.getSource()), op.getSource(), op.getType().getShape(),
                      "expected tensor.extract_slice to stay within its source"));
}

Value HostFunction::viewPlace(tensor::InsertSliceOp op, Value buffer) {
  for (auto [dim, size] : llvm::enumerate(op.getMixedSizes()))
    requireProduct(op.getLoc(), op.getSource(), dim, getMixedIndex(size),
                   "expected the sizes of tensor.insert_slice to match its source");
  return viewSlice(op, buffer, op.getDest(), op.getSourceType().getShape(),
                   "expected tensor.insert_slice to stay within its destination");
}

SmallVector<Value> HostFunction::viewOperands(tensor::ConcatOp op, Value buffer) {
  int64_t rank = op.getRank(), along = op.getDim();
  SmallVector<Value> views;
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)),
      strides(rank, builder.getIndexAttr(1));
  Value end = arith::ConstantIndexOp::create(builder, 0);
  for (Value input : op.getInputs()) {
    SmallVector<OpFoldResult> sizes;
    if (llvm::is_contained(cast<RankedTensorType>(input.getType()).getShape(), 0)) {
      views.push_back(Value());
      continue;
    }
    for (int64_t dim = 0; dim < rank; ++dim)
      sizes.push_back(getMixedSize(input, dim));
    offsets[along] = end;
    views.push_back(memref::SubViewOp::create(builder, buffer, offsets, sizes, strides));
    end = arith::AddIOp::create(builder, end, getSize(input, along));
  }
  return views;
}

void HostFunction::viewCast(tensor::CastOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!type.isDynamicDim(dim))
      requireSame(op.getLoc(), op.getSource(), dim, op.getResult(), dim,
                  "expected the sizes of tensor.cast's result");
  setBuffer(op.getResult(), castBuffer(getBuffer(op.getSource()), type));
}

void HostFunction::viewExpanded(tensor::ExpandShapeOp op) {
  SmallVector<OpFoldResult> sizes;
  for (OpFoldResult size : op.getMixedOutputShape())
    sizes.push_back(getMixedIndex(size));
  SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
  for (auto [dim, group] : llvm::enumerate(groups))
    requireProduct(op.getLoc(), op.getSrc(), dim,
                   llvm::map_to_vector(group, [&](int64_t part) { return sizes[part]; }),
                   "expected the sizes of tensor.expand_shape to multiply to its source's");
  setBuffer(op.getResult(),
            expandBuffer(getBuffer(op.getSrc()), sizes, groups, op.getResultType().getShape()));
}

void HostFunction::viewCollapsed(tensor::CollapseShapeOp op, Value compact) {
  setBuffer(op.getResult(),
            memref::CollapseShapeOp::create(builder, compact, op.getReassociationIndices()));
}
