//===- Elements.cpp - scalars of tensors inside a region ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Elements.h"

#include "SizeTerms.h"

#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isElementwiseOnTensors(Operation *op) {
  if (isa_and_nonnull<MapOp>(op))
    return true;
  if (auto generate = dyn_cast_or_null<tensor::GenerateOp>(op))
    return llvm::all_of(generate.getBody().front(),
                        [](Operation &scalar) { return scalar.getNumRegions() == 0; });
  return op && OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
         op->getNumRegions() == 0 && isa<RankedTensorType>(op->getResult(0).getType());
}

bool attn::isMove(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp, TransposeOp>(op);
}

bool attn::isWeight(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return true;
    if (!isMove(op))
      return false;
    tensor = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(tensor);
  auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), kWeightAttr);
}

bool attn::isMoveOrSlice(Operation *op) {
  auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op);
  return slice ? slice.getType().getRank() == slice.getSourceType().getRank() : isMove(op);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static OpFoldResult multiply(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  auto left = getConstantIntValue(x), right = getConstantIntValue(y);
  if (left && right)
    return b.getIndexAttr(*left * *right);
  if (left == 1 || right == 1)
    return left == 1 ? y : x;
  return b.createOrFold<arith::MulIOp>(loc, getValueOrCreateConstantIndexOp(b, loc, x),
                                       getValueOrCreateConstantIndexOp(b, loc, y));
}

static SmallVector<OpFoldResult> getGivenSizes(OpBuilder &b, Location loc, Value tensor,
                                               int steps) {
  Operation *op = tensor.getDefiningOp();
  if (auto generate = dyn_cast_or_null<tensor::GenerateOp>(op))
    return getMixedValues(generate.getType().getShape(), generate.getDynamicExtents(), b);
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return expand.getMixedOutputShape();
  if (!isMoveOrSlice(op) || steps == 0)
    return tensor::getMixedSizes(b, loc, tensor);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getMixedSizes();
  auto source = getGivenSizes(b, loc, op->getOperand(0), steps - 1);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return llvm::map_to_vector(transpose.getPermutation(),
                               [&](int64_t dim) { return source[dim]; });
  SmallVector<OpFoldResult> sizes;
  for (const ReassociationIndices &group :
       cast<tensor::CollapseShapeOp>(op).getReassociationIndices()) {
    sizes.push_back(b.getIndexAttr(1));
    for (int64_t dim : group)
      sizes.back() = multiply(b, loc, sizes.back(), source[dim]);
  }
  return sizes;
}

SmallVector<OpFoldResult> attn::getGivenSizes(OpBuilder &b, Location loc, Value tensor) {
  constexpr int mostSteps = 64;
  return ::getGivenSizes(b, loc, tensor, mostSteps);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Constants are made anew at every use; two that are equal are the same place. Along a size of 1
/// there is no other.
static bool isSamePlace(ArrayRef<int64_t> shape, ArrayRef<Value> a, ArrayRef<Value> b) {
  return llvm::all_of_zip(shape, a, b, [](int64_t size, Value x, Value y) {
    return size == 1 || x == y || isEqualConstantIntOrValue(x, y);
  });
}

Value Elements::toIndex(OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return value;
  return index(*getConstantIntValue(size));
}

/// The places of sizes other than 1, along which the index is 0.
static SmallVector<int64_t> getWideDims(ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> wide;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (getConstantIntValue(size) != 1)
      wide.push_back(dim);
  return wide;
}

/// Whether indices into dimensions of `a` are those into `b`: how large the first is doesn't
/// matter.
static bool haveSameIndices(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
  return a.size() == b.size() &&
         llvm::all_of_zip(a.drop_front(), b.drop_front(), isEqualConstantIntOrValue);
}

Value Elements::flatten(ArrayRef<Value> indices, ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> wideIndices;
  SmallVector<OpFoldResult> wideSizes;
  for (int64_t dim : getWideDims(sizes)) {
    wideIndices.push_back(indices[dim]);
    wideSizes.push_back(sizes[dim]);
  }
  for (auto &[flat, parts] : unflattened)
    if (parts.first == wideIndices && haveSameIndices(parts.second, wideSizes))
      return flat;
  // Along a size of 1 the index is 0.
  bool isUnit = sizes.size() > 1 && getConstantIntValue(sizes.front()) == 1;
  Value flat = isUnit ? index(0) : indices.front();
  for (auto [next, size] : llvm::zip_equal(indices.drop_front(), sizes.drop_front())) {
    if (getConstantIntValue(size) == 1)
      continue;
    if (getConstantIntValue(flat) == 0) {
      flat = next;
      continue;
    }
    Value rows = b.createOrFold<arith::MulIOp>(loc, flat, toIndex(size));
    flat = b.createOrFold<arith::AddIOp>(loc, rows, next);
  }
  if (!llvm::is_contained(indices, flat))
    flattened.try_emplace(flat, Place(indices), SmallVector<OpFoldResult>(sizes));
  return flat;
}

SmallVector<Value> Elements::unflatten(Value flat, ArrayRef<OpFoldResult> sizes) {
  auto made = flattened.find(flat);
  if (made != flattened.end() && haveSameIndices(made->second.second, sizes))
    return made->second.first;
  SmallVector<Value> indices(sizes.size());
  SmallVector<int64_t> wide = getWideDims(sizes);
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (getConstantIntValue(size) == 1)
      indices[dim] = index(0);
  if (wide.empty())
    return indices;
  Value rest = flat; // for the first
  for (int64_t dim : llvm::reverse(ArrayRef(wide).drop_front())) {
    Value size = toIndex(sizes[dim]);
    indices[dim] = b.createOrFold<arith::RemUIOp>(loc, rest, size);
    // No index is negative, and signed divisions have bounds that Halide sees.
    rest = b.createOrFold<arith::FloorDivSIOp>(loc, rest, size);
  }
  indices[wide.front()] = rest;
  auto &[place, ofWide] = unflattened.emplace_back(flat, Parts()).second;
  for (int64_t dim : wide) {
    place.push_back(indices[dim]);
    ofWide.push_back(sizes[dim]);
  }
  return indices;
}

SmallVector<Value> Elements::split(ArrayRef<ReassociationIndices> groups,
                                   ArrayRef<OpFoldResult> sizes, ArrayRef<Value> indices) {
  SmallVector<Value> all;
  if (groups.empty()) // a scalar has sizes of 1 alone
    all.assign(sizes.size(), sizes.empty() ? Value() : index(0));
  for (auto [group, flat] : llvm::zip_equal(groups, indices))
    llvm::append_range(all, unflatten(flat, sizes.slice(group.front(), group.size())));
  return all;
}

SmallVector<Value> Elements::join(ArrayRef<ReassociationIndices> groups,
                                  ArrayRef<OpFoldResult> sizes, ArrayRef<Value> indices) {
  SmallVector<Value> all;
  for (const ReassociationIndices &group : groups)
    all.push_back(flatten(indices.slice(group.front(), group.size()),
                          sizes.slice(group.front(), group.size())));
  return all;
}

SmallVector<Value> Elements::getSource(Operation *move, ArrayRef<Value> indices) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(move))
    return join(expand.getReassociationIndices(), expand.getMixedOutputShape(), indices);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(move))
    return split(collapse.getReassociationIndices(), getGivenSizes(b, loc, collapse.getSrc()),
                 indices);
  Place own(indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(move)) {
    for (auto [index, offset, step] :
         llvm::zip_equal(own, slice.getMixedOffsets(), slice.getMixedStrides())) {
      index = b.createOrFold<arith::MulIOp>(loc, index, toIndex(step));
      index = b.createOrFold<arith::AddIOp>(loc, toIndex(offset), index);
    }
    return own;
  }
  for (auto [index, from] : llvm::zip(indices, cast<TransposeOp>(move).getPermutation()))
    own[from] = index;
  return own;
}

SmallVector<Value> Elements::getResult(Operation *move, ArrayRef<Value> indices) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(move))
    return split(expand.getReassociationIndices(), expand.getMixedOutputShape(), indices);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(move))
    return join(collapse.getReassociationIndices(), getGivenSizes(b, loc, collapse.getSrc()),
                indices);
  return llvm::map_to_vector(cast<TransposeOp>(move).getPermutation(),
                             [&](int64_t dim) { return indices[dim]; });
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void Elements::remember(Value tensor, ArrayRef<Value> indices, Value scalar) {
  known[tensor].push_back({Place(indices), scalar});
}

Value Elements::lookup(Value tensor, ArrayRef<Value> indices) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  for (auto &[place, scalar] : known.lookup(tensor))
    if (isSamePlace(shape, place, indices))
      return scalar;
  return nullptr;
}

bool attn::isCheap(Block &body) {
  constexpr int64_t most = 32;
  int64_t count = 0;
  return llvm::all_of(body, [&](Operation &scalar) {
    return ++count <= most && scalar.getNumRegions() == 0 &&
           isa<arith::ArithDialect, AttnDialect, tensor::TensorDialect>(scalar.getDialect());
  });
}

bool attn::isCheapToInline(Operation *op) {
  return isMove(op) || isa<tensor::SplatOp>(op) ||
         (isa<tensor::GenerateOp, MapOp>(op) && isCheap(op->getRegion(0).front()));
}

void Elements::setStage(Value tensor, ArrayRef<Value> place) {
  stage = tensor;
  stagePlace.assign(place.begin(), place.end());
}

/// Whether every place of the region is one of the generated tensor, if that is to be checked.
bool Elements::isWithin(tensor::GenerateOp op, ArrayRef<Value> indices) {
  if (!stage)
    return true;
  OpBuilder outside(op);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (op.getType().getDimSize(dim) == 1)
      continue;
    auto *coordinate = llvm::find(stagePlace, index);
    if (coordinate == stagePlace.end() ||
        !(SizeTerms::of(outside, op.getResult(), dim) ==
          SizeTerms::of(outside, stage, coordinate - stagePlace.begin())))
      return false;
  }
  return true;
}

Value Elements::readThrough(Value tensor, ArrayRef<Value> indices, bool isWhole) {
  Operation *op = tensor.getDefiningOp();
  if (!op || !mayInline(op))
    return nullptr;
  if (isMoveOrSlice(op))
    return budget-- > 0 ? read(op->getOperand(0), getSource(op, indices), isWhole) : Value();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return splat.getInput();
  auto generate = dyn_cast<tensor::GenerateOp>(op);
  if ((budget -= llvm::range_size(op->getRegion(0).front())) < 0 ||
      (generate && !isWithin(generate, indices)))
    return nullptr;
  return compute(op, indices);
}

Value Elements::read(Value tensor, ArrayRef<Value> indices, bool isWhole) {
  if (!isa<RankedTensorType>(tensor.getType()))
    return tensor;
  SplatElementsAttr splat;
  if (matchPattern(tensor, m_Constant(&splat)))
    return arith::ConstantOp::create(b, loc, splat.getSplatValue<TypedAttr>());
  if (Value scalar = lookup(tensor, indices))
    return scalar;
  Value scalar = readThrough(tensor, indices, isWhole);
  if (!scalar) {
    scalar = tensor::ExtractOp::create(b, loc, tensor, indices);
    if (isWhole && stage)
      scalar.getDefiningOp()->setAttr(kSameSizeAttr, b.getUnitAttr());
  }
  remember(tensor, indices, scalar);
  return scalar;
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

Value Elements::computeMap(MapOp op, ArrayRef<Value> indices) {
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip_equal(op.getInputs(), op.getBody().getArguments())) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
    Place own(indices.take_back(shape.size()));
    for (auto [size, place] : llvm::zip_equal(shape, own))
      place = size == 1 ? index(0) : place;
    mapping.map(argument, read(input, own, /*isWhole=*/true));
  }
  return computeBody(op.getBody().front(), mapping);
}

void Elements::cloneFolded(Operation &scalar, IRMapping &mapping) {
  Operation *clone = b.clone(scalar, mapping);
  SmallVector<Value> folded;
  if (clone->getNumResults() != 1 || failed(b.tryFold(clone, folded)) || folded.empty())
    return;
  mapping.map(scalar.getResult(0), folded.front());
  clone->erase();
}

Value Elements::computeBody(Block &body, IRMapping &mapping) {
  auto isKnown = [&](Value operand) { return mapping.lookupOrDefault(operand); };
  for (Operation &scalar : body.without_terminator()) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(scalar))
      mapping.map(extract.getResult(),
                  read(extract.getTensor(), llvm::map_to_vector(extract.getIndices(), isKnown),
                       extract->hasAttr(kSameSizeAttr)));
    else
      cloneFolded(scalar, mapping);
  }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Value Elements::compute(Operation *op, ArrayRef<Value> indices) {
  if (auto map = dyn_cast<MapOp>(op))
    return computeMap(map, indices);
  if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    IRMapping mapping;
    mapping.map(generate.getBody().getArguments(), indices);
    return computeBody(generate.getBody().front(), mapping);
  }
  auto operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return read(operand, indices, /*isWhole=*/true); });
  OperationState state(op->getLoc(), op->getName(), operands,
                       getElementTypeOrSelf(op->getResult(0)), op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b.create(state)->getResult(0);
}
