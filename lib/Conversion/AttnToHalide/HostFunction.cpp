//===- HostFunction.cpp - builds the host function ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFunction.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

HostFunction::HostFunction(func::FuncOp source)
    : source(source), builder(source.getLoc(), source.getContext()) {}

/// A caller's buffer: unit innermost stride, any other strides.
static MemRefType callerType(RankedTensorType type) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = 1;
  auto layout = StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

LogicalResult HostFunction::create() {
  SmallVector<Type> types;
  for (Type type : llvm::concat<const Type>(source.getArgumentTypes(), source.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return source.emitError("expected ranked tensors as arguments and results, found ") << type;
    if (!halide::isBufferElementType(tensor.getElementType()))
      return source.emitError("expected ")
             << halide::kBufferElementTypes << " as elements of arguments and results, found "
             << tensor.getElementType();
    types.push_back(callerType(tensor));
  }
  builder.setInsertionPointAfter(source);
  host = func::FuncOp::create(builder, source.getName(), builder.getFunctionType(types, {}));
  builder.setInsertionPointToStart(host.addEntryBlock());

  int64_t numArgs = source.getNumArguments();
  for (BlockArgument arg : source.getArguments()) {
    buffers[arg] = host.getArgument(arg.getArgNumber());
    host.setArgAttrs(arg.getArgNumber(), source.getArgAttrDict(arg.getArgNumber()));
  }
  OperandRange results = source.getBody().front().getTerminator()->getOperands();
  for (unsigned n = 0; n < source.getNumResults(); ++n) {
    host.setArgAttrs(numArgs + n, source.getResultAttrDict(n));
    host.setArgAttr(numArgs + n, kResultAttr, builder.getUnitAttr());
    bool isFirst = !llvm::is_contained(results.take_front(n), results[n]);
    if (auto argument = getArgumentInPlace(results[n].getDefiningOp()); argument && isFirst)
      host.setArgAttr(numArgs + n, kInPlaceAttr,
                      builder.getI64IntegerAttr(argument.getArgNumber()));
  }
  return success();
}

void HostFunction::finish() {
  func::ReturnOp::create(builder);
  source.erase();
}

Value HostFunction::getResultBuffer(int64_t n) {
  return host.getArgument(source.getNumArguments() + n);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value HostFunction::getBuffer(Value tensor) {
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  if (constant && !hasBuffer(tensor))
    setBuffer(tensor, buildBeforeLoop([&] { return addConstant(constant); }));
  return buffers.lookup(tensor);
}

Value HostFunction::getDestination(Value tensor) {
  if (Value known = buffers.lookup(tensor))
    return known;
  Value buffer;
  auto results = source.getBody().front().getTerminator()->getOperands();
  if (llvm::is_contained(results, tensor))
    buffer = getResultBuffer(llvm::find(results, tensor) - results.begin());
  if (!buffer && tensor.hasOneUse())
    buffer = viewInReader(tensor, *tensor.user_begin());
  if (!buffer)
    buffer = allocate(tensor);
  return buffers[tensor] = buffer;
}

Value HostFunction::allocate(Value tensor) {
  if (loop)
    return buildBeforeLoop([&] { return allocate(tensor); });
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> dynamic;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      dynamic.push_back(getSize(tensor, dim));
  return allocate(MemRefType::get(type.getShape(), type.getElementType()), dynamic);
}

Value HostFunction::allocate(MemRefType type, ValueRange dynamicSizes) {
  if (loop && dynamicSizes.empty())
    return buildBeforeLoop([&] { return allocate(type); });
  return memref::AllocOp::create(builder, type, dynamicSizes);
}

bool HostFunction::isCompact(Value tensor) {
  return cast<MemRefType>(getBuffer(tensor).getType()).getLayout().isIdentity();
}

static Value toValue(ImplicitLocOpBuilder &builder, OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(builder, builder.getLoc(), size);
}

/// A view with these sizes: memref.expand_shape if each group has at most one dynamic size.
static Value expandBuffer(ImplicitLocOpBuilder &builder, Value buffer, ArrayRef<OpFoldResult> sizes,
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
      running = arith::MulIOp::create(builder, running, toValue(builder, sizes[dim]));
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
    Value divisor = arith::MaxUIOp::create(builder, toValue(builder, heads), one);
    Value width = toValue(builder, sizes[2]);
    sizes.push_back(arith::DivUIOp::create(builder, width, divisor).getResult());
    shape[2] = known.value_or(ShapedType::kDynamic);
    shape.push_back(ShapedType::kDynamic);
  }
  sizes[2] = heads;
  Value split = expandBuffer(builder, buffer, sizes, {{0}, {1}, {2, 3}}, shape);
  SmallVector<unsigned> order = layout == Layout::batch_first ? SmallVector<unsigned>{0, 2, 1, 3}
                                                              : SmallVector<unsigned>{1, 2, 0, 3};
  auto map = AffineMap::getPermutationMap(order, builder.getContext());
  return memref::TransposeOp::create(builder, split, AffineMapAttr::get(map));
}

/// The collapsed dimensions but one are 1, so that the view has the sizes of `op`'s source.
static bool addsOnesAlone(tensor::CollapseShapeOp op) {
  return llvm::all_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group,
                          [&](int64_t dim) { return op.getSrcType().getDimSize(dim) != 1; }) <= 1;
  });
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
    SmallVector<unsigned> order(transpose.getPermutation());
    auto map = inversePermutation(AffineMap::getPermutationMap(order, builder.getContext()));
    return memref::TransposeOp::create(builder, getDestination(transpose.getResult()),
                                       AffineMapAttr::get(map));
  }
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(reader);
  if (!collapse || !addsOnesAlone(collapse) || collapse.getReassociationIndices().empty())
    return {};
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < collapse.getSrcType().getRank(); ++dim)
    sizes.push_back(getMixedSize(tensor, dim));
  return expandBuffer(builder, getDestination(collapse.getResult()), sizes,
                      collapse.getReassociationIndices(), collapse.getSrcType().getShape());
}

void HostFunction::viewTransposed(TransposeOp op) {
  if (op.getPermutation().empty()) // which is no permutation map
    return setBuffer(op.getResult(), getBuffer(op.getInput()));
  SmallVector<unsigned> order(op.getPermutation());
  auto map = AffineMap::getPermutationMap(order, builder.getContext());
  setBuffer(op.getResult(), memref::TransposeOp::create(builder, getBuffer(op.getInput()),
                                                        AffineMapAttr::get(map)));
}

Value HostFunction::viewSlice(OffsetSizeAndStrideOpInterface slice, Value buffer,
                              ArrayRef<OpFoldResult> whole, ArrayRef<int64_t> shape,
                              const Twine &message) {
  auto known = [&](ArrayRef<OpFoldResult> mixed) {
    return llvm::map_to_vector(mixed, [&](OpFoldResult index) { return getMixedIndex(index); });
  };
  SmallVector<OpFoldResult> offsets = known(slice.getMixedOffsets()),
                            sizes = known(slice.getMixedSizes()), strides = slice.getMixedStrides();
  for (auto [offset, size, limit] : llvm::zip_equal(offsets, sizes, whole))
    requireWithin(slice.getLoc(), offset, size, limit, message);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(builder, cast<MemRefType>(type), buffer, offsets, sizes,
                                   strides);
}

void HostFunction::viewSlice(tensor::ExtractSliceOp op) {
  SmallVector<OpFoldResult> whole;
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim)
    whole.push_back(getMixedSize(op.getSource(), dim));
  setBuffer(op.getResult(), viewSlice(op, getBuffer(op.getSource()), whole, op.getType().getShape(),
                                      "expected tensor.extract_slice to stay within its source"));
}

Value HostFunction::viewPlace(tensor::InsertSliceOp op, Value buffer) {
  SmallVector<OpFoldResult> whole;
  for (auto [dim, size] : llvm::enumerate(op.getMixedSizes())) {
    whole.push_back(getMixedSize(op.getDest(), dim));
    requireProduct(op.getLoc(), op.getSource(), dim, getMixedIndex(size),
                   "expected the sizes of tensor.insert_slice to match its source");
  }
  return viewSlice(op, buffer, whole, op.getSourceType().getShape(),
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
  Value buffer = getBuffer(op.getSource());
  auto from = cast<MemRefType>(buffer.getType());
  auto to = MemRefType::get(type.getShape(), type.getElementType(), from.getLayout());
  buffers[op.getResult()] = memref::CastOp::create(builder, to, buffer);
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
  setBuffer(op.getResult(), expandBuffer(builder, getBuffer(op.getSrc()), sizes, groups,
                                         op.getResultType().getShape()));
}

void HostFunction::viewCollapsed(tensor::CollapseShapeOp op, Value compact) {
  setBuffer(op.getResult(),
            memref::CollapseShapeOp::create(builder, compact, op.getReassociationIndices()));
}

Value HostFunction::addConstant(arith::ConstantOp op) {
  std::string name = (source.getName() + "_constant_" + Twine(numConstants++)).str();
  auto type = cast<RankedTensorType>(op.getType());
  auto memref = MemRefType::get(type.getShape(), type.getElementType());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(source);
    memref::GlobalOp::create(builder, name, builder.getStringAttr("private"), memref, op.getValue(),
                             /*constant=*/true,
                             /*alignment=*/builder.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(builder, memref, name);
}

//===----------------------------------------------------------------------===//
// Exchange between processes
//===----------------------------------------------------------------------===//

Value HostFunction::buildBeforeLoop(function_ref<Value()> build) {
  if (!loop)
    return build();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  scf::ForOp inner = std::exchange(loop, {});
  std::swap(indices, indicesBeforeLoop);
  Value built = build();
  std::swap(indices, indicesBeforeLoop);
  loop = inner;
  return built;
}

Value HostFunction::beginLoop(Value count) {
  assert(!loop && "loops don't nest");
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  indicesBeforeLoop = indices;
  loop = scf::ForOp::create(builder, zero, count, one);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  return loop.getInductionVar();
}

void HostFunction::endLoop() {
  builder.setInsertionPointAfter(loop);
  indices = std::move(indicesBeforeLoop);
  loop = {};
}

LogicalResult HostFunction::buildIf(Value condition, function_ref<LogicalResult()> build) {
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  IRMapping known = indices;
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  LogicalResult result = build();
  indices = std::move(known);
  builder.setInsertionPointAfter(branch);
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes and calls
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

Value HostFunction::getIndex(OpFoldResult index) { return toValue(builder, getMixedIndex(index)); }

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
    requireWithin(read.getLoc(), at.back(), builder.getIndexAttr(1),
                  getMixedSize(read.getTensor(), dim),
                  "expected tensor.extract to stay within its tensor");
  }
  return host::LoadOp::create(builder, cast<MemRefType>(buffer.getType()).getElementType(), buffer,
                              at);
}

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
                                 OpFoldResult whole, const Twine &message) {
  bool startsWithin = isConstantIntValue(offset, 0);
  if (startsWithin && isEqualConstantIntOrValue(size, whole))
    return;
  auto value = [&](OpFoldResult x) { return toValue(builder, x); };
  // Compared as unsigned, so that negative values are too large; neither side can overflow.
  Value rest = arith::SubIOp::create(builder, loc, value(whole), value(offset));
  auto fits = [&](Value x, Value limit) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, x, limit);
  };
  Value isWithin = arith::AndIOp::create(builder, loc, fits(value(offset), value(whole)),
                                         fits(value(size), rest));
  host::RequireOp::create(builder, loc, isWithin, builder.getStringAttr(message));
}

void HostFunction::requireProduct(Location loc, Value tensor, int64_t dim,
                                  ArrayRef<OpFoldResult> sizes, const Twine &message) {
  if (!cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim) &&
      llvm::all_of(sizes, [](OpFoldResult size) { return isa<Attribute>(size); }))
    return;
  Value product = arith::ConstantIndexOp::create(builder, 1);
  for (OpFoldResult size : sizes)
    product = arith::MulIOp::create(builder, product, toValue(builder, size));
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
  Value size = getSize(a, dimOfA);
  if (extra != 0)
    size =
        arith::AddIOp::create(builder, loc, size, arith::ConstantIndexOp::create(builder, extra));
  Value same =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, size, getSize(b, dimOfB));
  host::RequireOp::create(builder, loc, same, builder.getStringAttr(message));
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

void HostFunction::call(Location loc, KernelOpInterface kernel, ArrayRef<Value> inputs,
                        ArrayRef<Value> destinations, Value condition) {
  SmallVector<Value> operands =
      llvm::map_to_vector(inputs, [&](Value tensor) { return getBuffer(tensor); });
  llvm::append_range(operands, destinations);
  host::CallOp::create(builder, loc, kernel.getName(), operands, condition);
}
