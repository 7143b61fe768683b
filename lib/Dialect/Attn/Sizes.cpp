//===- Sizes.cpp - where the sizes of a graph come from -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Sizes.h"

#include "SizeTerms.h"

#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

std::string SizeSum::str() const {
  SmallVector<std::string> parts(symbols.begin(), symbols.end());
  if (constant != 0 || parts.empty())
    parts.push_back(std::to_string(constant));
  std::string sum = llvm::join(parts, " + ");
  return parts.size() == 1 ? sum : "(" + sum + ")";
}

std::optional<int64_t>
SizeSum::evaluate(function_ref<std::optional<int64_t>(StringRef)> getSize) const {
  int64_t sum = constant;
  for (StringRef symbol : symbols) {
    std::optional<int64_t> size = getSize(symbol);
    if (!size || llvm::AddOverflow(sum, *size, sum))
      return std::nullopt;
  }
  return sum;
}

LogicalResult attn::verifyDims(func::FuncOp function) {
  WalkResult result = function.walk([](tensor::DimOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (type && dim && *dim >= 0 && *dim < type.getRank())
      return WalkResult::advance();
    InFlightDiagnostic error = op.emitOpError("expected a constant dimension of ")
                               << op.getSource().getType() << ", found ";
    return WalkResult(dim ? error << *dim : error << "a computed one");
  });
  return failure(result.wasInterrupted());
}

SizeTracer::SizeTracer(func::FuncOp function)
    : function(function), scratch(cast<func::FuncOp>(function->clone(mapping))) {}

SizeTracer::~SizeTracer() = default;

std::optional<Size> SizeTracer::trace(Value tensor, int64_t dim) {
  return traceScratch(mapping.lookup(tensor), dim);
}

/// The dimension that becomes `dim` beside ones.
static std::optional<int64_t> getOnlyDim(tensor::CollapseShapeOp op, int64_t dim) {
  ReassociationIndices group = op.getReassociationIndices()[dim];
  llvm::erase_if(group, [&](int64_t source) { return op.getSrcType().getDimSize(source) == 1; });
  return group.size() == 1 ? std::optional(group.front()) : std::nullopt;
}

std::optional<Size> SizeTracer::traceScratch(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return Size{type.getDimSize(dim)};
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    if (Value outside = getSizedLike(argument))
      return traceScratch(outside, dim);
    if (argument.getOwner() != &scratch->getBody().front())
      return std::nullopt;
    return Size{ShapedType::kDynamic, argument.getArgNumber(), static_cast<unsigned>(dim)};
  }
  // All tensors of an elementwise op have the same shape.
  if (OpTrait::hasElementwiseMappableTraits(tensor.getDefiningOp())) {
    for (Value operand : tensor.getDefiningOp()->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return traceScratch(operand, dim);
    return std::nullopt;
  }
  if (auto collapse = tensor.getDefiningOp<tensor::CollapseShapeOp>()) {
    std::optional<int64_t> source = getOnlyDim(collapse, dim);
    return source ? traceScratch(collapse.getSrc(), *source) : std::nullopt;
  }
  OpBuilder builder(tensor.getDefiningOp());
  FailureOr<SmallVector<OpFoldResult>> sizes;
  // Reified sizes of an expand_shape are quotients, which lead to no argument; its operands do.
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    sizes = expand.getMixedOutputShape();
  else
    sizes = reifyShapeOfResult(builder, tensor.getDefiningOp(),
                               cast<OpResult>(tensor).getResultNumber());
  if (failed(sizes))
    return std::nullopt;
  if (std::optional<int64_t> constant = getConstantIntValue((*sizes)[dim]))
    return Size{*constant};
  auto source = cast<Value>((*sizes)[dim]).getDefiningOp<tensor::DimOp>();
  std::optional<int64_t> index = source ? source.getConstantIndex() : std::nullopt;
  return index ? traceScratch(source.getSource(), *index) : std::nullopt;
}

StringAttr SizeTracer::getSymbol(const Size &size) {
  if (size.isConstant())
    return {};
  auto dims = function.getArgAttrOfType<ArrayAttr>(size.argument, kDimsAttr);
  if (!dims || size.dim >= dims.size())
    return {};
  return dyn_cast<StringAttr>(dims[size.dim]);
}

SizeSum SizeTracer::sum(Value tensor, int64_t dim) {
  OpBuilder builder(scratch->getContext());
  SizeTerms terms = SizeTerms::of(builder, mapping.lookup(tensor), dim);
  if (std::optional<SizeSum> sum = terms.inSymbols())
    return *sum;
  auto same = llvm::find(unnamed, terms);
  if (same == unnamed.end())
    same = unnamed.insert(same, terms);
  return {{"?" + std::to_string(same - unnamed.begin() + 1)}};
}
