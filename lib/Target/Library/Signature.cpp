//===- Signature.cpp - a host function's arguments as a C interface
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::attn;

std::string CParameter::shape() const {
  std::vector<std::string> words;
  for (const Dim &dim : dims)
    words.push_back(dim.extent >= 0      ? std::to_string(dim.extent)
                    : dim.symbol.empty() ? "?"
                                         : dim.symbol);
  return "[" + llvm::join(words, ", ") + "]";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::vector<std::string> Signature::parameters() const {
  llvm::StringSet<> taken;
  std::vector<std::string> names;
  for (const CParameter &tensor : tensors) {
    std::string name = tensor.name;
    for (char &c : name)
      c = llvm::isAlnum(c) ? c : '_';
    if (name.empty() || llvm::isDigit(name.front()))
      name = "_" + name;
    // Names besides tensors' in the same scope: the parameter `options`, and the tensor type.
    while (!isCIdentifier(name) || name == "options" || name == "DLTensor" ||
           !taken.insert(name).second)
      name += "_";
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> Signature::symbols() const {
  std::vector<std::string> symbols{name,
                                   name + "_ex",
                                   name + "_call",
                                   name + "_workspace",
                                   name + "_last_error",
                                   name + "_target",
                                   name + "_describe"};
  if (onDevice)
    symbols.push_back(name + "_release");
  if (isProfiled)
    symbols.push_back(getProfileSymbol());
  if (weights)
    symbols.insert(symbols.end(), {name + "_load", name + "_load_unchecked", name + "_unload"});
  return symbols;
}

//===----------------------------------------------------------------------===//
// From the function
//===----------------------------------------------------------------------===//

/// Callers pass any outer strides, so the function must take them.
static bool takesAnyStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  if (!strides.empty() && strides.pop_back_val() != 1)
    return false;
  return (offset == 0 || ShapedType::isDynamic(offset)) &&
         llvm::all_of(strides, ShapedType::isDynamic);
}

static std::vector<Dim> readDims(MemRefType type, ArrayAttr dims) {
  std::vector<Dim> result;
  for (auto [index, extent] : llvm::enumerate(type.getShape())) {
    Dim dim{ShapedType::isDynamic(extent) ? -1 : extent, ""};
    if (dims && index < dims.size())
      if (auto symbol = dyn_cast<StringAttr>(dims[index]))
        dim.symbol = symbol.str();
    result.push_back(dim);
  }
  return result;
}

static FailureOr<CParameter> readTensor(func::FuncOp host, unsigned index, unsigned nth) {
  auto type = dyn_cast<MemRefType>(host.getArgument(index).getType());
  auto refuse = [&](const Twine &what) -> LogicalResult {
    return host.emitOpError("expected argument ")
           << index << " to be " << what << ", found " << host.getArgument(index).getType();
  };
  if (!type)
    return refuse("a memref");
  std::optional<DLDataType> dtype = getDLDataType(type.getElementType());
  if (!dtype)
    return refuse("of a DLPack type");
  if (!takesAnyStrides(type))
    return refuse("of unit innermost stride and any outer strides");
  CParameter tensor;
  tensor.isOutput = host.getArgAttr(index, kResultAttr) != nullptr;
  if (auto number = host.getArgAttrOfType<IntegerAttr>(index, kInPlaceAttr))
    tensor.inPlaceOf = number.getInt();
  tensor.dtype = *dtype;
  tensor.dims = readDims(type, host.getArgAttrOfType<ArrayAttr>(index, kDimsAttr));
  auto name = host.getArgAttrOfType<StringAttr>(index, kNameAttr);
  tensor.name = name ? name.str() : ((tensor.isOutput ? "out" : "arg") + Twine(nth)).str();
  return tensor;
}

FailureOr<Signature> attn::readSignature(func::FuncOp host, StringRef name) {
  Signature signature;
  signature.name = name.str();
  if (!isCIdentifier(name))
    return host.emitOpError("expected a C identifier, found '") << name << "'";
  unsigned inputs = 0, outputs = 0;
  for (unsigned index = 0; index < host.getNumArguments(); ++index) {
    bool isOutput = host.getArgAttr(index, kResultAttr) != nullptr;
    FailureOr<CParameter> tensor = readTensor(host, index, isOutput ? outputs : inputs);
    if (failed(tensor))
      return failure();
    ++(isOutput ? outputs : inputs);
    if (!isOutput && outputs)
      return host.emitOpError("expected inputs before results");
    signature.tensors.push_back(std::move(*tensor));
  }
  return signature;
}
