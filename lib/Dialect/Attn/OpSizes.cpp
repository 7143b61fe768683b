//===- OpSizes.cpp - size constraints, result sizes and FLOPs -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/AttnOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

#include "attnc/Dialect/Attn/AttnOpInterface.cpp.inc"

static int64_t getStaticSize(TensorDim dim) { return dim.getStaticSize(); }

//===----------------------------------------------------------------------===//
// Result sizes
//===----------------------------------------------------------------------===//

int64_t ResultSize::evaluate(GetSize getSize) const {
  SmallVector<int64_t, 2> sizes = llvm::map_to_vector<2>(dims, getSize);
  int64_t product = 1;
  switch (kind) {
  case Kind::number:
    return count;
  case Kind::equal: {
    auto known = llvm::find_if_not(sizes, ShapedType::isDynamic);
    return known == sizes.end() ? ShapedType::kDynamic : *known;
  }
  case Kind::quotient:
    return ShapedType::isDynamic(sizes[0]) ? ShapedType::kDynamic : sizes[0] / count;
  case Kind::difference:
    return ShapedType::isDynamic(sizes[0]) ? ShapedType::kDynamic
                                           : std::max<int64_t>(sizes[0] - count, 0);
  case Kind::product:
    bool isKnown = llvm::none_of(sizes, ShapedType::isDynamic) &&
                   !llvm::MulOverflow(sizes[0], sizes[1], product);
    return isKnown ? product : ShapedType::kDynamic;
  }
  llvm_unreachable("unknown kind of size");
}

int64_t ResultSize::getStatic() const { return evaluate(getStaticSize); }

OpFoldResult ResultSize::reify(OpBuilder &builder, Location loc) const {
  if (kind == Kind::number)
    return builder.getIndexAttr(count);
  auto getMixed = [&](TensorDim dim) {
    return tensor::getMixedSize(builder, loc, dim.tensor.value, dim.dim);
  };
  OpFoldResult size = getMixed(dims[0]);
  if (kind == Kind::equal)
    return size;
  auto toValue = [&](OpFoldResult x) { return getValueOrCreateConstantIndexOp(builder, loc, x); };
  if (kind == Kind::quotient) {
    Value divisor = arith::ConstantIndexOp::create(builder, loc, count);
    return arith::DivUIOp::create(builder, loc, toValue(size), divisor).getResult();
  }
  if (kind == Kind::difference) {
    auto constant = [&](int64_t c) { return arith::ConstantIndexOp::create(builder, loc, c); };
    Value rest = arith::SubIOp::create(builder, loc, toValue(size), constant(count));
    return arith::MaxSIOp::create(builder, loc, rest, constant(0)).getResult();
  }
  Value first = toValue(size), second = toValue(getMixed(dims[1]));
  return arith::MulIOp::create(builder, loc, first, second).getResult();
}

void ResultSize::multiply(SizeProduct &product) const {
  if (kind == Kind::number)
    product.factor *= count;
  if (kind == Kind::quotient)
    product.factor /= count;
  llvm::append_range(product.sizes, kind == Kind::equal ? ArrayRef(dims).take_front() : dims);
}

ResultSizes attn::sizesLike(SizedTensor tensor) {
  ResultSizes sizes;
  for (int64_t dim = 0; dim < tensor.type.getRank(); ++dim)
    sizes.push_back(TensorDim{tensor, dim});
  return sizes;
}

SmallVector<int64_t> attn::evaluateSizes(const ResultSizes &sizes, GetSize getSize) {
  return llvm::map_to_vector(sizes, [&](const ResultSize &size) { return size.evaluate(getSize); });
}

SmallVector<int64_t> attn::getStaticSizes(const ResultSizes &sizes) {
  return evaluateSizes(sizes, getStaticSize);
}

LogicalResult attn::reifyResultSizes(OpBuilder &builder, AttnOpInterface op,
                                     ReifiedRankedShapedTypeDims &shapes) {
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    shapes.emplace_back();
    for (auto [dim, size] : llvm::enumerate(op.getResultSizes(result.getResultNumber())))
      shapes.back().push_back(type.isDynamicDim(dim)
                                  ? size.reify(builder, op.getLoc())
                                  : OpFoldResult(builder.getIndexAttr(type.getDimSize(dim))));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<TensorDim>> attn::alignDims(ArrayRef<SizedTensor> tensors, int64_t numOwn) {
  int64_t rank = 0;
  for (const SizedTensor &tensor : tensors)
    rank = std::max(rank, tensor.type.getRank() - numOwn);
  SmallVector<SmallVector<TensorDim>> aligned(rank);
  for (const SizedTensor &tensor : tensors)
    for (auto [dim, size] : llvm::enumerate(tensor.type.getShape().drop_back(numOwn)))
      if (size != 1)
        aligned[rank - (tensor.type.getRank() - numOwn) + dim].push_back({tensor, int64_t(dim)});
  return aligned;
}

ResultSizes attn::broadcastSizes(ArrayRef<SizedTensor> tensors, int64_t numOwn) {
  ResultSizes sizes;
  for (ArrayRef<TensorDim> dims : alignDims(tensors, numOwn))
    sizes.push_back(dims.empty() ? ResultSize(1) : ResultSize::anyOf(dims));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

SizeConstraint attn::multipleOf(SizeConstraint::Member first,
                                ArrayRef<SizeConstraint::Member> others) {
  SizeConstraint constraint{"", {first}};
  llvm::append_range(constraint.members, others);
  return constraint;
}

void attn::addBroadcast(SizeConstraints &constraints, ValueRange operands,
                        ArrayRef<std::string> names, int64_t numOwn) {
  SmallVector<SizedTensor> tensors(operands.begin(), operands.end());
  llvm::DenseMap<Value, StringRef> nameOf;
  for (auto [operand, name] : llvm::zip_equal(operands, names))
    nameOf.try_emplace(operand, name);
  for (auto [dim, dims] : llvm::enumerate(alignDims(tensors, numOwn))) {
    SizeConstraint constraint{"dim[" + std::to_string(dim) + "]", {}};
    for (const TensorDim &own : dims)
      constraint.members.push_back({nameOf[own.tensor.value].str(), own.tensor.value, own.dim});
    if (dims.size() > 1)
      constraints.push_back(std::move(constraint));
  }
}

std::string SizeConstraint::describe(Operation *op, const Member &first,
                                     const Member &other) const {
  std::string of = " of " + op->getName().getStringRef().str();
  if (isMultiple())
    return "expected " + first.name + of + " to be a multiple of " + other.name;
  return "expected " + name + " of " + first.name + " and " + other.name + of + " to match";
}

static std::string describeWith(const SizeConstraint &constraint,
                                const SizeConstraint::Member &first, int64_t size,
                                const SizeConstraint::Member &other, int64_t found) {
  std::string expected = std::to_string(size);
  std::string text =
      constraint.isMultiple()
          ? first.name + " " + expected + " to be a multiple of " + other.name
          : other.name + " " + constraint.name + " " + expected + " to match " + first.name;
  return "expected " + text + ", found " + std::to_string(found);
}

/// Compares sizes with the first known one, or, for a multiple, with the first.
static std::string findContradiction(const SizeConstraint &constraint, GetSize getSize) {
  const SizeConstraint::Member *first = nullptr;
  int64_t expected = ShapedType::kDynamic;
  for (const SizeConstraint::Member &member : constraint.members) {
    int64_t found = getSize(TensorDim{member.tensor, member.dim});
    if (!ShapedType::isDynamic(found))
      found -= member.extra;
    if (!first && (constraint.isMultiple() || !ShapedType::isDynamic(found))) {
      first = &member;
      expected = found;
    }
    if (&member == first || ShapedType::isDynamic(found) || ShapedType::isDynamic(expected))
      continue;
    if (constraint.isMultiple() ? found <= 0 || expected % found != 0 : expected != found)
      return describeWith(constraint, *first, expected, member, found);
  }
  return "";
}

std::string attn::findContradiction(const SizeConstraints &constraints, GetSize getSize) {
  for (const SizeConstraint &constraint : constraints)
    if (std::string text = ::findContradiction(constraint, getSize); !text.empty())
      return text;
  return "";
}

//===----------------------------------------------------------------------===//
// FLOPs
//===----------------------------------------------------------------------===//

SizeProduct attn::flopsOfProduct(Value result, const ResultSize &reduced) {
  SizeProduct product{2, {}};
  for (int64_t dim = 0; dim < cast<RankedTensorType>(result.getType()).getRank(); ++dim)
    product.sizes.push_back({result, dim});
  reduced.multiply(product);
  return product;
}
