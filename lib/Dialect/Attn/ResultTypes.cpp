//===- ResultTypes.cpp - optional result types in specs -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

using namespace mlir;
using namespace mlir::attn;

ParseResult attn::parseOrInfer(OpAsmParser &parser, Type &result,
                               llvm::function_ref<Type()> infer) {
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(result);
  if ((result = infer()))
    return success();
  return parser.emitError(
      parser.getNameLoc(),
      "expected '->' and a result type, as none can be inferred from the operands");
}

/// Null if the region, which is not verified yet, yields no valid element type.
static Type getYielded(Region &body) {
  if (body.empty() || body.front().empty())
    return {};
  auto yield = dyn_cast<YieldOp>(body.front().back());
  Type element = yield && yield->getNumOperands() == 1 ? yield.getValue().getType() : Type();
  return element && RankedTensorType::isValidElementType(element) ? element : Type();
}

ParseResult attn::parseMapType(OpAsmParser &parser, Type &result, ArrayRef<Type> inputs,
                               Region &body) {
  return parseOrInfer(parser, result, [&]() -> Type {
    SmallVector<SizedTensor> tensors(inputs.begin(), inputs.end());
    auto isRanked = [](const SizedTensor &tensor) { return tensor.hasRankAtLeast(0); };
    Type element = getYielded(body);
    if (inputs.empty() || !element || !llvm::all_of(tensors, isRanked))
      return {};
    return RankedTensorType::get(getStaticSizes(broadcastSizes(tensors)), element);
  });
}

void attn::printMapType(OpAsmPrinter &printer, Operation *, Type result, TypeRange, Region &) {
  printer << "-> " << result;
}

ParseResult attn::parseReduceAxes(OpAsmParser &parser, DenseI64ArrayAttr &axes,
                                  UnitAttr &keepDims) {
  axes = dyn_cast_or_null<DenseI64ArrayAttr>(DenseI64ArrayAttr::parse(parser, Type()));
  if (axes && succeeded(parser.parseOptionalKeyword("keep_dims")))
    keepDims = parser.getBuilder().getUnitAttr();
  return success(axes != nullptr);
}

void attn::printReduceAxes(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr axes,
                           UnitAttr keepDims) {
  axes.print(printer);
  if (keepDims)
    printer << " keep_dims";
}
