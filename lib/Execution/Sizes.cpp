//===- Sizes.cpp - sizes of symbols ---------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/Sizes.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Execution/Tensor.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;

void Sizes::set(StringRef symbol, int64_t size, StringRef source) {
  sizes[symbol] = {size, source.str()};
}

std::optional<int64_t> Sizes::get(StringRef symbol) const {
  auto known = sizes.find(symbol);
  return known == sizes.end() ? std::nullopt : std::optional(known->second.size);
}

LogicalResult Sizes::bind(const Parameter &parameter, ArrayRef<int64_t> shape, StringRef option) {
  auto wrong = [&](const Twine &expected) {
    return reportError(option,
                       parameter.name + ": expected " + expected + ", found " + describe(shape));
  };
  if (shape.size() != parameter.shape.size())
    return wrong("rank " + Twine(parameter.shape.size()) + " as in " + describe(parameter));
  for (auto [index, size] : llvm::enumerate(shape)) {
    int64_t wanted = parameter.shape[index];
    if (!ShapedType::isDynamic(wanted) && wanted != size)
      return wrong("dimension " + Twine(index) + " to be " + Twine(wanted) + " as in " +
                   describe(parameter));
    StringRef symbol = parameter.symbols[index];
    if (symbol.empty())
      continue;
    auto [known, isNew] = sizes.try_emplace(symbol, Size{size, parameter.name});
    if (known->second.size != size)
      return wrong("dimension " + Twine(index) + ", " + symbol + ", to be " +
                   Twine(known->second.size) + " as in " + known->second.source);
  }
  return success();
}

std::optional<SmallVector<int64_t>> Sizes::getShape(const Parameter &parameter) const {
  SmallVector<int64_t> shape = parameter.shape;
  for (auto [size, symbol] : llvm::zip(shape, parameter.symbols)) {
    if (!ShapedType::isDynamic(size))
      continue;
    std::optional<int64_t> known = get(symbol);
    if (!known)
      return std::nullopt;
    size = *known;
  }
  return shape;
}

Sizes attnc::makeSizes(const Dims &dims, StringRef source) {
  Sizes sizes;
  for (auto [symbol, size] : dims)
    sizes.set(symbol, size, source);
  return sizes;
}

SmallVector<Symbol> attnc::getSymbols(const Signature &signature) {
  llvm::MapVector<StringRef, bool> found;
  for (const Parameter &input : signature.inputs)
    for (auto [dim, symbol] : llvm::enumerate(input.symbols))
      if (!symbol.empty() && ShapedType::isDynamic(input.shape[dim]))
        found.insert({symbol, true}).first->second &= dim == 0 || symbol == "batch";
  return llvm::map_to_vector(found, [](auto entry) { return Symbol{entry.first, entry.second}; });
}

LogicalResult attnc::checkSizes(ArrayRef<SizeList> lists, ArrayRef<Symbol> symbols) {
  auto names = llvm::map_range(symbols, [](const Symbol &symbol) { return symbol.name; });
  for (const SizeList &list : lists)
    if (!llvm::is_contained(names, list.symbol))
      return reportError("--size", "expected " +
                                       (symbols.empty() ? "no sizes, as all are fixed"
                                                        : "one of " + llvm::join(names, ", ")) +
                                       ", found '" + list.symbol + "'");
  return success();
}

std::vector<Dims> attnc::combine(ArrayRef<SizeList> lists) {
  std::vector<Dims> all(1);
  for (const SizeList &list : lists) {
    std::vector<Dims> longer;
    for (const Dims &dims : all)
      for (int64_t size : list.sizes) {
        longer.push_back(dims);
        longer.back()[list.symbol] = size;
      }
    all = std::move(longer);
  }
  return all;
}

bool attnc::hasDims(func::FuncOp function) {
  return llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned arg) {
    return function.getArgAttr(arg, mlir::attn::kDimsAttr);
  });
}

std::optional<int64_t>
attnc::traceSize(Value tensor, int64_t dim, mlir::attn::SizeTracer &tracer,
                 llvm::function_ref<std::optional<int64_t>(StringRef)> getSymbolSize) {
  std::optional<mlir::attn::Size> size = tracer.trace(tensor, dim);
  if (!size)
    return std::nullopt;
  if (size->isConstant())
    return size->constant;
  StringAttr symbol = tracer.getSymbol(*size);
  return symbol ? getSymbolSize(symbol) : std::nullopt;
}

std::optional<int64_t> attnc::traceSize(Value tensor, int64_t dim, mlir::attn::SizeTracer &tracer,
                                        const Sizes &sizes) {
  return traceSize(tensor, dim, tracer, [&](StringRef symbol) { return sizes.get(symbol); });
}

int64_t attnc::countPages(int64_t rows, int64_t pageSize) {
  return rows == 0 || pageSize == 0 ? 0 : llvm::divideCeil(rows - 1, pageSize) + 1;
}
