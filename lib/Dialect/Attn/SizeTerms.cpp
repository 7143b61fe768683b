//===- SizeTerms.cpp - sizes that are equal whatever the call -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeTerms.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

/// Limit of steps to a size: further operands are terms of their own.
static constexpr int kMostSteps = 64;

Value attn::getSizedLike(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  if (!isa_and_nonnull<RingOp, AllReduceOp>(op))
    return {};
  return op->getOperand(argument.getArgNumber() % op->getNumOperands());
}

/// Equal symbols are equal sizes, which the call checks.
void SizeTerms::addArgument(BlockArgument argument, int64_t dim) {
  auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto dims = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), kDimsAttr)
                       : ArrayAttr();
  auto symbol = dims && dim < int64_t(dims.size()) ? dyn_cast<StringAttr>(dims[dim]) : StringAttr();
  terms.push_back(symbol ? Term{nullptr, 0, symbol} : Term{argument, dim, nullptr});
}

/// The only source dimension of a collapsed one that is not 1; none if there are several.
static std::optional<int64_t> findOnly(tensor::CollapseShapeOp op, int64_t dim) {
  ReassociationIndices group = op.getReassociationIndices()[dim];
  std::optional<int64_t> only;
  for (int64_t part : group) {
    if (op.getSrcType().getDimSize(part) == 1)
      continue;
    if (only)
      return std::nullopt;
    only = part;
  }
  return only;
}

void SizeTerms::addDim(OpBuilder &builder, Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (dim < 0 || dim >= type.getRank())
    return terms.push_back({tensor, dim, nullptr});
  if (!type.isDynamicDim(dim)) {
    constant += type.getDimSize(dim);
    return;
  }
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    Value outside = getSizedLike(argument);
    return outside ? addDim(builder, outside, dim) : addArgument(argument, dim);
  }
  Operation *op = tensor.getDefiningOp();
  if (++steps > kMostSteps)
    return terms.push_back({tensor, dim, nullptr});
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return add(builder, expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    if (std::optional<int64_t> only = findOnly(collapse, dim))
      return addDim(builder, collapse.getSrc(), *only);
  if (OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return addDim(builder, operand, dim);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op); concat && int64_t(concat.getDim()) == dim) {
    for (Value input : concat.getInputs())
      addDim(builder, input, dim);
    return;
  }
  ReifiedRankedShapedTypeDims shapes;
  auto reified = dyn_cast<ReifyRankedShapedTypeOpInterface>(op);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(op);
  if (!reified || failed(reified.reifyResultShapes(builder, shapes)))
    return terms.push_back({tensor, dim, nullptr});
  OpFoldResult size = shapes[cast<OpResult>(tensor).getResultNumber()][dim];
  auto computed = dyn_cast<Value>(size);
  // Every time it is asked for, a product, quotient or difference is built anew.
  if (isa<AttnOpInterface>(op) && computed &&
      isa_and_nonnull<arith::MulIOp, arith::DivUIOp, arith::MaxSIOp>(computed.getDefiningOp()))
    return terms.push_back({tensor, dim, nullptr});
  add(builder, size);
}

/// `max(len)` or `sum(len)` for the most rows of a rank, or those of all, where each has `len`.
StringAttr SizeTerms::getNameOfPlaces(OpBuilder &builder, Value size) {
  auto cast = size.getDefiningOp<arith::IndexCastOp>();
  auto read = cast ? cast.getIn().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
  auto places = read ? read.getTensor().getDefiningOp<PlacesOp>() : PlacesOp();
  std::optional<int64_t> element =
      places ? getConstantIntValue(read.getIndices().front()) : std::nullopt;
  if (!element || (*element != kLongestPlace && *element != kWholePlace))
    return {};
  SizeTerms rows;
  rows.add(builder, places.getRows());
  std::optional<SizeSum> sum = rows.inSymbols();
  if (!sum)
    return {};
  return builder.getStringAttr((*element == kLongestPlace ? "max(" : "sum(") + sum->str() + ")");
}

void SizeTerms::add(OpBuilder &builder, OpFoldResult size) {
  if (std::optional<int64_t> known = getConstantIntValue(size)) {
    constant += *known;
    return;
  }
  auto value = cast<Value>(size);
  if (auto sum = value.getDefiningOp<arith::AddIOp>(); sum && ++steps <= kMostSteps) {
    add(builder, sum.getLhs());
    return add(builder, sum.getRhs());
  }
  if (StringAttr name = getNameOfPlaces(builder, value))
    return terms.push_back({nullptr, 0, name});
  auto dim = value.getDefiningOp<tensor::DimOp>();
  if (dim && dim.getConstantIndex() && isa<RankedTensorType>(dim.getSource().getType()) &&
      ++steps <= kMostSteps)
    return addDim(builder, dim.getSource(), *dim.getConstantIndex());
  terms.push_back({value, -1, nullptr});
}

SizeTerms SizeTerms::of(OpBuilder &builder, Value tensor, int64_t dim) {
  SizeTerms size;
  size.addDim(builder, tensor, dim);
  return size;
}

std::optional<SizeSum> SizeTerms::inSymbols() const {
  SizeSum sum{{}, constant};
  for (const Term &term : terms) {
    if (!term.symbol)
      return std::nullopt;
    sum.symbols.push_back(term.symbol.str());
  }
  llvm::sort(sum.symbols);
  return sum;
}

bool SizeTerms::operator==(const SizeTerms &other) const {
  return constant == other.constant && terms.size() == other.terms.size() &&
         std::is_permutation(terms.begin(), terms.end(), other.terms.begin());
}
