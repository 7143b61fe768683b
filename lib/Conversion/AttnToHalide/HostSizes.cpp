//===- HostSizes.cpp - sizes that the host function computes and checks ---===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFunction.h"

#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Sizes are computed from the arguments: an intermediate tensor's sizes from those of its
/// operands.
Value HostFunction::getSize(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, type.getDimSize(dim));
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    if (Value outside = getSizedLike(argument))
      return getSize(outside, dim);
    return memref::DimOp::create(builder, getBuffer(tensor), dim);
  }
  Operation *op = tensor.getDefiningOp();
  if (isa<PlacesOp>(op))
    return memref::DimOp::create(builder, getBuffer(tensor), dim);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return getIndex(expand.getMixedOutputShape()[dim]);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return getSum(concat, dim);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return getProduct(collapse.getSrc(), collapse.getReassociationIndices()[dim]);
  OpBuilder before(op);
  ReifiedRankedShapedTypeDims sizes;
  if (succeeded(reifyResultShapes(before, op, sizes)))
    return getIndex(sizes[cast<OpResult>(tensor).getResultNumber()][dim]);
  return getSize(op->getOperand(0), dim); // an elementwise op
}

Value HostFunction::toValue(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(builder, builder.getLoc(), size);
}

Value HostFunction::getSum(tensor::ConcatOp op, int64_t dim) {
  Value sum = getSize(op.getInputs().front(), dim);
  if (dim == int64_t(op.getDim()))
    for (Value input : op.getInputs().drop_front())
      sum = arith::AddIOp::create(builder, sum, getSize(input, dim));
  return sum;
}

OpFoldResult HostFunction::getMixedSize(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.isDynamicDim(dim))
    return getSize(tensor, dim);
  return builder.getIndexAttr(type.getDimSize(dim));
}

Value HostFunction::getProduct(Value tensor, ArrayRef<int64_t> dims) {
  Value product = getSize(tensor, dims.front());
  for (int64_t dim : dims.drop_front())
    product = arith::MulIOp::create(builder, product, getSize(tensor, dim));
  return product;
}

OpFoldResult HostFunction::getMixedIndex(OpFoldResult index) {
  return isa<Attribute>(index) ? index : getIndex(cast<Value>(index));
}

Value HostFunction::getIndex(OpFoldResult index) { return toValue(getMixedIndex(index)); }

Value HostFunction::getIndex(Value index) {
  if (Value known = indices.lookupOrNull(index))
    return known;
  Operation *op = index.getDefiningOp();
  if (auto dim = dyn_cast_or_null<tensor::DimOp>(op))
    return getSize(dim.getSource(), *dim.getConstantIndex());
  if (auto read = dyn_cast_or_null<tensor::ExtractOp>(op))
    return getElement(read);
  for (Value operand : op->getOperands())
    indices.map(operand, getIndex(operand));
  Value divisor = isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                      arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op)
                      ? requireDivisor(op)
                      : Value();
  Operation *copy = builder.clone(*op, indices);
  if (divisor)
    copy->setOperand(1, divisor);
  return copy->getResult(cast<OpResult>(index).getResultNumber());
}

Value HostFunction::getElement(tensor::ExtractOp read) {
  Value buffer = getBuffer(read.getTensor());
  SmallVector<Value> at;
  for (auto [dim, coord] : llvm::enumerate(read.getIndices())) {
    at.push_back(getIndex(coord));
    requireWithin(
        read.getLoc(), at.back(), builder.getIndexAttr(1), getMixedSize(read.getTensor(), dim),
        "expected tensor.extract to stay within its tensor", describeOrigin(read.getTensor(), dim));
  }
  return host::LoadOp::create(builder, cast<MemRefType>(buffer.getType()).getElementType(), buffer,
                              at);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Value HostFunction::requireDivisor(Operation *division) {
  Value dividend = indices.lookup(division->getOperand(0)),
        divisor = indices.lookup(division->getOperand(1));
  if (auto known = getConstantIntValue(divisor); known && *known != 0 && *known != -1)
    return divisor;
  auto constant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, builder.getIntegerAttr(divisor.getType(), value));
  };
  auto differs = [&](Value x, const APInt &from) -> Value {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, x, constant(from));
  };
  unsigned width = divisor.getType().isIndex() ? 64 : divisor.getType().getIntOrFloatBitWidth();
  Value isFit = differs(divisor, APInt::getZero(width));
  if (!isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(division)) {
    Value fits = arith::OrIOp::create(builder, differs(divisor, APInt::getAllOnes(width)),
                                      differs(dividend, APInt::getSignedMinValue(width)));
    isFit = arith::AndIOp::create(builder, isFit, fits);
  }
  host::RequireOp::create(
      builder, division->getLoc(), isFit,
      builder.getStringAttr("expected no division by zero or overflow in a size computation"));
  // The workspace function computes sizes before any check.
  return arith::SelectOp::create(builder, isFit, divisor, constant(APInt(width, 1)));
}

void HostFunction::requireWithin(Location loc, OpFoldResult offset, OpFoldResult size,
                                 OpFoldResult whole, const Twine &message, StringRef origin) {
  bool startsWithin = isConstantIntValue(offset, 0);
  if (startsWithin && isEqualConstantIntOrValue(size, whole))
    return;
  auto value = [&](OpFoldResult x) { return toValue(x); };
  // Compared as unsigned, so that negative values are too large; neither side can overflow.
  Value rest = arith::SubIOp::create(builder, loc, value(whole), value(offset));
  auto fits = [&](Value x, Value limit) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, x, limit);
  };
  Value isWithin = arith::AndIOp::create(builder, loc, fits(value(offset), value(whole)),
                                         fits(value(size), rest));
  host::RequireOp::create(
      builder, loc, isWithin,
      builder.getStringAttr(message + ", found offset {} and size {}, of {}" + origin),
      ValueRange{value(offset), value(size), value(whole)});
}

void HostFunction::requireProduct(Location loc, Value tensor, int64_t dim,
                                  ArrayRef<OpFoldResult> sizes, const Twine &message) {
  if (!cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim) &&
      llvm::all_of(sizes, [](OpFoldResult size) { return isa<Attribute>(size); }))
    return;
  Value product = arith::ConstantIndexOp::create(builder, 1);
  for (OpFoldResult size : sizes)
    product = arith::MulIOp::create(builder, product, toValue(size));
  Value same =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, product, getSize(tensor, dim));
  host::RequireOp::create(builder, loc, same, builder.getStringAttr(message));
}

/// Whether the sizes are compared at run time: not both are static.
static bool isOpen(Value a, int64_t dimOfA, Value b, int64_t dimOfB) {
  return cast<RankedTensorType>(a.getType()).isDynamicDim(dimOfA) ||
         cast<RankedTensorType>(b.getType()).isDynamicDim(dimOfB);
}

void HostFunction::requireSame(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                               const Twine &message, int64_t extra) {
  if (!isOpen(a, dimOfA, b, dimOfB))
    return;
  Value own = getSize(a, dimOfA), size = own;
  if (extra != 0)
    size = arith::AddIOp::create(builder, loc, own, arith::ConstantIndexOp::create(builder, extra));
  Value other = getSize(b, dimOfB);
  Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, size, other);
  host::RequireOp::create(builder, loc, same,
                          builder.getStringAttr(message + ", found {}" + describeOrigin(a, dimOfA) +
                                                " and {}" + describeOrigin(b, dimOfB)),
                          ValueRange{own, other});
}

std::string HostFunction::describeOrigin(Value tensor, int64_t dim) {
  std::optional<Size> size = tracer.trace(tensor, dim);
  if (!size || size->isConstant())
    return "";
  return " (dim " + std::to_string(size->dim) + " of " + getArgumentName(source, size->argument) +
         ")";
}

void HostFunction::requireNotEmpty(Location loc, Value tensor, int64_t dim, const Twine &message) {
  if (cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim))
    host::RequireOp::create(builder, loc, isNot(isEmpty(tensor, dim)),
                            builder.getStringAttr(message));
}

void HostFunction::requireMultiple(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                                   const Twine &message) {
  if (!isOpen(a, dimOfA, b, dimOfB))
    return;
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(builder, loc, predicate, x, y).getResult();
  };
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  Value divisor = getSize(b, dimOfB);
  Value atLeastOne = arith::MaxUIOp::create(builder, loc, divisor, one);
  Value rest = arith::RemUIOp::create(builder, loc, getSize(a, dimOfA), atLeastOne);
  Value isMultiple =
      arith::AndIOp::create(builder, loc, compare(arith::CmpIPredicate::eq, rest, zero),
                            compare(arith::CmpIPredicate::ne, divisor, zero));
  host::RequireOp::create(builder, loc, isMultiple, builder.getStringAttr(message));
}

/// A divisor of 0, of an empty tensor without wrong elements, is replaced.
void HostFunction::requireNoneWrong(Location loc, Value buffer, Value tensor,
                                    const Twine &message) {
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value found = host::LoadOp::create(builder, loc, element, buffer, zero);
  Value left = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), found);
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  Value count = rank == 0 ? one : getProduct(tensor, llvm::to_vector(llvm::seq(rank)));
  Value place = arith::SubIOp::create(builder, loc, count, left);
  SmallVector<Value> indices(rank);
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    Value size = arith::MaxUIOp::create(builder, loc, getSize(tensor, dim), one);
    indices[dim] = arith::RemUIOp::create(builder, loc, place, size);
    place = arith::DivUIOp::create(builder, loc, place, size);
  }
  Value isNone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, left, zero);
  host::RequireOp::create(builder, loc, isNone, builder.getStringAttr(message), indices);
}

void HostFunction::requireIndexable(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                                    const Twine &message) {
  Value product = arith::MulIOp::create(builder, loc, getSize(a, dimOfA), getSize(b, dimOfB));
  Value most = arith::ConstantIndexOp::create(builder, halide::kMaxSize);
  Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, product, most);
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value isAbove =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, getSize(a, dimOfA), zero);
  host::RequireOp::create(builder, loc, arith::AndIOp::create(builder, loc, isAbove, fits),
                          builder.getStringAttr(message));
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Value HostFunction::isEmpty(Value tensor, int64_t dim) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, getSize(tensor, dim),
                               arith::ConstantIndexOp::create(builder, 0));
}

/// Buffers that may be the same have the same descriptor then: see attnc_check_overlap.h.
Value HostFunction::isElsewhere(Value buffer, Value other) {
  auto getAddress = [&](Value memref) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  };
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, getAddress(buffer),
                               getAddress(other));
}

Value HostFunction::isWithin(Value tensor, ArrayRef<int64_t> dims, int64_t above, int64_t limit) {
  Value size = getProduct(tensor, dims);
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) -> Value {
    return arith::CmpIOp::create(builder, predicate, size,
                                 arith::ConstantIndexOp::create(builder, bound));
  };
  Value isAbove = compare(arith::CmpIPredicate::sgt, above);
  if (limit == 0)
    return isAbove;
  Value isBelow = compare(arith::CmpIPredicate::sle, limit);
  return arith::AndIOp::create(builder, isAbove, isBelow);
}

Value HostFunction::isAboveZero(Location loc, Value buffer, int64_t index) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value at = arith::ConstantIndexOp::create(builder, index),
        zero = arith::ConstantIntOp::create(builder, element, 0);
  Value found = host::LoadOp::create(builder, loc, element, buffer, at);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, found, zero);
}

Value HostFunction::isShort(Value tensor, int64_t dim, int64_t limit) {
  Value isLess = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, getSize(tensor, dim),
                                       getSize(tensor, dim - 1));
  return areBoth(isLess, isWithin(tensor, {dim}, /*above=*/0, limit));
}

Value HostFunction::isNot(Value condition) {
  return arith::XOrIOp::create(builder, condition,
                               arith::ConstantIntOp::create(builder, builder.getI1Type(), 1));
}

Value HostFunction::areBoth(Value first, Value second) {
  return arith::AndIOp::create(builder, first, second);
}
