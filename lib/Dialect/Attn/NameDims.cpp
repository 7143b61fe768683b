//===- NameDims.cpp - name dynamic sizes of arguments and results ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNNAMEDIMS
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
class DimNamer {
public:
  explicit DimNamer(func::FuncOp function) : function(function), builder(function.getContext()) {}

  void nameArguments();
  LogicalResult nameResults();

private:
  void nameArgument(unsigned index);
  StringAttr makeSymbol(unsigned index, unsigned dim);
  LogicalResult nameResult(unsigned index, Value value, SizeTracer &tracer);
  LogicalResult checkResult(unsigned index, ArrayRef<Attribute> given, ArrayRef<Attribute> traced);

  func::FuncOp function;
  Builder builder;
  llvm::StringSet<> symbols;
};
} // namespace

void DimNamer::nameArguments() {
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(index, kDimsAttr))
      for (auto symbol : dims.getAsRange<Attribute>())
        if (auto text = dyn_cast<StringAttr>(symbol))
          symbols.insert(text);
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    nameArgument(index);
}

void DimNamer::nameArgument(unsigned index) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!type || type.hasStaticShape() || function.getArgAttr(index, kDimsAttr))
    return;
  SmallVector<Attribute> dims;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    dims.push_back(ShapedType::isDynamic(size) ? Attribute(makeSymbol(index, dim))
                                               : builder.getI64IntegerAttr(size));
  function.setArgAttr(index, kDimsAttr, builder.getArrayAttr(dims));
}

/// `query_dim2`, or a longer name if that is taken.
StringAttr DimNamer::makeSymbol(unsigned index, unsigned dim) {
  auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr);
  std::string symbol = name ? name.str() : "arg" + std::to_string(index);
  symbol += "_dim" + std::to_string(dim);
  while (!symbols.insert(symbol).second)
    symbol += "_";
  return builder.getStringAttr(symbol);
}

LogicalResult DimNamer::nameResults() {
  if (!function.getBody().hasOneBlock())
    return success();
  auto values = function.getBody().front().getTerminator()->getOperands();
  SizeTracer tracer(function);
  for (auto [index, value] : llvm::enumerate(values))
    if (isa<RankedTensorType>(value.getType()) && failed(nameResult(index, value, tracer)))
      return failure();
  return success();
}

LogicalResult DimNamer::nameResult(unsigned index, Value value, SizeTracer &tracer) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Attribute> traced;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<Size> size = tracer.trace(value, dim);
    StringAttr symbol = size ? tracer.getSymbol(*size) : StringAttr();
    // A dynamic dimension has a symbol, also one whose size turns out to be known.
    if (size && size->isConstant() && !type.isDynamicDim(dim))
      traced.push_back(builder.getI64IntegerAttr(size->constant));
    else
      traced.push_back(symbol);
  }
  if (auto given = function.getResultAttrOfType<ArrayAttr>(index, kDimsAttr))
    return checkResult(index, given.getValue(), traced);
  if (!type.hasStaticShape() && llvm::all_of(traced, [](Attribute dim) { return bool(dim); }))
    function.setResultAttr(index, kDimsAttr, builder.getArrayAttr(traced));
  return success();
}

LogicalResult DimNamer::checkResult(unsigned index, ArrayRef<Attribute> given,
                                    ArrayRef<Attribute> traced) {
  for (auto [dim, symbol] : llvm::enumerate(given)) {
    auto text = dyn_cast<StringAttr>(symbol);
    if (!text || symbols.contains(text) || dim >= traced.size())
      continue;
    InFlightDiagnostic error = function.emitError("expected dimension ")
                               << dim << " of result " << index << " to be named as in an argument";
    if (traced[dim])
      error << ", " << traced[dim];
    return error << ", found " << text;
  }
  return success();
}

namespace {
struct AttnNameDimsPass : mlir::attn::impl::AttnNameDimsBase<AttnNameDimsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    DimNamer namer(getOperation());
    namer.nameArguments();
    if (failed(verifyDims(getOperation())) || failed(namer.nameResults()))
      signalPassFailure();
  }
};
} // namespace
