//===- Signature.cpp - arguments and results of a spec --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Spec/Signature.h"

#include "attnc/Dialect/Attn/Attributes.h"

using namespace mlir;
using namespace attnc;

static Parameter getParameter(Type type, DictionaryAttr attributes, const Twine &defaultName) {
  auto shaped = cast<ShapedType>(type);
  Parameter parameter;
  parameter.elementType = shaped.getElementType();
  parameter.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
  parameter.symbols.resize(shaped.getRank());
  auto name = attributes ? attributes.getAs<StringAttr>(mlir::attn::kNameAttr) : StringAttr();
  parameter.name = name ? name.str() : defaultName.str();
  if (auto dims = attributes ? attributes.getAs<ArrayAttr>(mlir::attn::kDimsAttr) : ArrayAttr())
    for (auto [symbol, dim] : llvm::zip(parameter.symbols, dims))
      if (auto text = dyn_cast<StringAttr>(dim))
        symbol = text.str();
  return parameter;
}

Signature attnc::readSignature(func::FuncOp func) {
  Signature signature;
  auto addInput = [&](Type type, DictionaryAttr attributes) {
    signature.inputs.push_back(
        getParameter(type, attributes, "arg" + Twine(signature.inputs.size())));
  };
  auto addOutput = [&](Type type, DictionaryAttr attributes) {
    signature.outputs.push_back(
        getParameter(type, attributes, "out" + Twine(signature.outputs.size())));
  };
  // A host function's results are arguments.
  for (unsigned arg = 0; arg < func.getNumArguments(); ++arg)
    if (func.getArgAttr(arg, mlir::attn::kResultAttr))
      addOutput(func.getArgumentTypes()[arg], func.getArgAttrDict(arg));
    else
      addInput(func.getArgumentTypes()[arg], func.getArgAttrDict(arg));
  for (unsigned result = 0; result < func.getNumResults(); ++result)
    addOutput(func.getResultTypes()[result], func.getResultAttrDict(result));
  return signature;
}

std::string attnc::describe(const Parameter &parameter) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << parameter.elementType << '[';
  llvm::interleaveComma(llvm::zip(parameter.shape, parameter.symbols), os, [&](auto dim) {
    auto [size, symbol] = dim;
    if (!ShapedType::isDynamic(size))
      os << size;
    else
      os << (symbol.empty() ? "?" : symbol);
  });
  os << ']';
  return text;
}
