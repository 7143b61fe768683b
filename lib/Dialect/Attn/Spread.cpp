//===- Spread.cpp - which dimensions are spread ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spread.h"

#include "attnc/Dialect/Attn/Attributes.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult Spread::readLayouts(DictionaryAttr given) {
  for (NamedAttribute entry : given) {
    auto shard = dyn_cast<ShardAttr>(entry.getValue());
    if (!shard)
      return function.emitError("expected #attn.shard<...> for ")
             << entry.getName() << " in attn.shard, found " << entry.getValue();
    shards[entry.getName()] = shard;
    if (!findDim(entry.getName()).first)
      return function.emitError("expected a dynamic size of an argument that attn.dims calls ")
             << entry.getName() << ", found none";
  }
  for (BlockArgument argument : function.getArguments())
    trace(argument);
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      trace(result);
  return success();
}

std::pair<Value, int64_t> Spread::findDim(StringAttr size) {
  for (BlockArgument argument : function.getArguments()) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), kDimsAttr);
    for (auto [dim, symbol] : llvm::enumerate(dims ? dims.getValue() : ArrayRef<Attribute>()))
      if (symbol == size && cast<RankedTensorType>(argument.getType()).isDynamicDim(dim))
        return {argument, dim};
  }
  return {};
}

void Spread::trace(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    std::optional<Size> size = tracer.trace(value, dim);
    StringAttr symbol = size ? tracer.getSymbol(*size) : StringAttr();
    sizesOf[value].push_back(shards.contains(symbol) ? symbol : StringAttr());
  }
}

StringAttr Spread::get(Value tensor, int64_t dim) {
  auto sizes = sizesOf.find(tensor);
  return sizes == sizesOf.end() ? StringAttr() : sizes->second[dim];
}

void Spread::replace(Value other, Value tensor) {
  SmallVector<StringAttr, 4> sizes = sizesOf.lookup(other);
  sizesOf[tensor] = sizes;
  other.replaceAllUsesWith(tensor);
}

SmallVector<int64_t> Spread::getDims(Value value) {
  SmallVector<int64_t> dims;
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (get(value, dim))
        dims.push_back(dim);
  return dims;
}

LogicalResult Spread::verifySizes(Operation &op, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim) || get(value, dim))
      continue;
    SizeSum sum = tracer.sum(value, dim);
    for (const std::string &symbol : sum.symbols)
      if (shards.contains(StringAttr::get(op.getContext(), symbol)))
        return op.emitOpError("expected sizes that are spread as a whole, found ") << sum.str();
  }
  return success();
}
