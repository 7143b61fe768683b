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
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringExtras.h"
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
  /// A dimension of an argument.
  using Dim = std::pair<unsigned, unsigned>;

  void findEqualDims();
  void findEqualDims(const SizeConstraint &constraint, SizeTracer &tracer);
  void keepGivenSymbols();
  void compareSymbols(unsigned index, StringAttr symbol, StringAttr first);
  void nameArgument(unsigned index);
  StringAttr getSymbol(Dim dim);
  StringAttr makeSymbol(Dim dim);
  LogicalResult nameResult(unsigned index, Value value, SizeTracer &tracer);
  LogicalResult checkResult(unsigned index, ArrayRef<Attribute> given, ArrayRef<Attribute> traced);

  func::FuncOp function;
  Builder builder;
  llvm::StringSet<> symbols;
  /// Dimensions whose sizes the ops require to be equal.
  llvm::EquivalenceClasses<Dim> equalDims;
  /// By the leader of a class: what ops call its size, and its symbol.
  llvm::DenseMap<Dim, std::string> sizeNames;
  llvm::DenseMap<Dim, StringAttr> symbolOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// Equal sizes
//===----------------------------------------------------------------------===//

void DimNamer::findEqualDims(const SizeConstraint &constraint, SizeTracer &tracer) {
  std::optional<Dim> first;
  for (const SizeConstraint::Member &member : constraint.members) {
    std::optional<Size> size = tracer.trace(member.tensor, member.dim);
    if (!size || size->isConstant() || member.extra != 0)
      continue;
    Dim dim(size->argument, size->dim);
    first = first.value_or(dim);
    // The name of a class survives being united with another one.
    std::string name = sizeNames.lookup(equalDims.getOrInsertLeaderValue(*first));
    if (name.empty())
      name = sizeNames.lookup(equalDims.getOrInsertLeaderValue(dim));
    if (name.empty() &&
        llvm::all_of(constraint.name, [](char c) { return c == '_' || llvm::isAlnum(c); }))
      name = constraint.name;
    sizeNames[*equalDims.unionSets(*first, dim)] = name;
  }
}

void DimNamer::findEqualDims() {
  SizeTracer tracer(function);
  function.walk([&](AttnOpInterface op) {
    for (const SizeConstraint &constraint : op.getSizeConstraints())
      if (!constraint.isMultiple())
        findEqualDims(constraint, tracer);
  });
  // Elementwise ops don't broadcast.
  function.walk([&](Operation *op) {
    auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                         : RankedTensorType();
    if (!type || !OpTrait::hasElementwiseMappableTraits(op))
      return;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      SizeConstraint equal{"", {}};
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          equal.members.push_back({"operand", operand, dim});
      findEqualDims(equal, tracer);
    }
  });
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void DimNamer::keepGivenSymbols() {
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(index, kDimsAttr))
      for (auto [dim, symbol] : llvm::enumerate(dims))
        if (auto text = dyn_cast<StringAttr>(symbol)) {
          symbols.insert(text);
          compareSymbols(
              index, text,
              symbolOf.try_emplace(equalDims.getOrInsertLeaderValue(Dim(index, dim)), text)
                  .first->second);
        }
}

/// Models may name one size twice. Names that hardly differ are a slip.
void DimNamer::compareSymbols(unsigned index, StringAttr symbol, StringAttr first) {
  constexpr unsigned kSlip = 2;
  if (symbol == first || first.size() <= 2 * kSlip ||
      symbol.getValue().edit_distance(first.getValue(), /*AllowReplacements=*/true, kSlip) > kSlip)
    return;
  mlir::emitWarning(function.getArgument(index).getLoc())
      << "argument " << index << ": the ops need " << symbol << " to equal " << first
      << "; did you mean " << first << '?';
}

void DimNamer::nameArguments() {
  findEqualDims();
  keepGivenSymbols();
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    nameArgument(index);
}

void DimNamer::nameArgument(unsigned index) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!type || type.hasStaticShape() || function.getArgAttr(index, kDimsAttr))
    return;
  SmallVector<Attribute> dims;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    dims.push_back(ShapedType::isDynamic(size) ? Attribute(getSymbol(Dim(index, dim)))
                                               : builder.getI64IntegerAttr(size));
  function.setArgAttr(index, kDimsAttr, builder.getArrayAttr(dims));
}

StringAttr DimNamer::getSymbol(Dim dim) {
  StringAttr &symbol = symbolOf[equalDims.getOrInsertLeaderValue(dim)];
  if (!symbol)
    symbol = makeSymbol(dim);
  return symbol;
}

/// `kv_len` where ops name the size, else `query_dim2`; with a number behind it if that is taken.
StringAttr DimNamer::makeSymbol(Dim dim) {
  std::string base = sizeNames.lookup(equalDims.getOrInsertLeaderValue(dim));
  if (base.empty())
    base = getArgumentName(function, dim.first) + "_dim" + std::to_string(dim.second);
  std::string symbol = base;
  for (int number = 2; !symbols.insert(symbol).second; ++number)
    symbol = base + "_" + std::to_string(number);
  return builder.getStringAttr(symbol);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

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
    if (failed(verifyDims(getOperation())))
      return signalPassFailure();
    DimNamer namer(getOperation());
    namer.nameArguments();
    if (failed(namer.nameResults()))
      signalPassFailure();
  }
};
} // namespace
