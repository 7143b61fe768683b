//===- BindWeights.cpp - bind arguments to tensors of a file --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNBINDWEIGHTS
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct AttnBindWeightsPass : mlir::attn::impl::AttnBindWeightsBase<AttnBindWeightsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  /// The constant that replaces argument `index` of `function`.
  FailureOr<ElementsAttr> findWeight(func::FuncOp function, unsigned index);
  LogicalResult bind(func::FuncOp function);

  std::optional<Safetensors> weights;
  /// Several arguments may name one tensor.
  llvm::StringMap<ElementsAttr> bound;
};
} // namespace

/// `'query_weight'`, or its number where the argument has no name.
static std::string describeArgument(func::FuncOp function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr))
    return ("'" + name.getValue() + "'").str();
  return std::to_string(index);
}

FailureOr<ElementsAttr> AttnBindWeightsPass::findWeight(func::FuncOp function, unsigned index) {
  StringRef name = function.getArgAttrOfType<StringAttr>(index, kWeightAttr).getValue();
  Type type = function.getArgumentTypes()[index];
  auto error = [&] {
    InFlightDiagnostic diagnostic = emitError(function.getArgument(index).getLoc());
    diagnostic << "expected weight '" << name << "' of argument "
               << describeArgument(function, index);
    return diagnostic;
  };
  const Safetensors::Entry *entry = weights->find(name);
  if (!entry)
    return error() << " in " << file << ", found no tensor of that name";
  if (!entry->type)
    return error() << " to be " << type << ", found elements " << entry->dtype << " in " << file;
  if (entry->type != type)
    return error() << " to be " << type << ", found " << entry->type << " in " << file;
  ElementsAttr &constant = bound[name];
  if (!constant)
    constant = weights->getAttr(name, *entry);
  return constant;
}

LogicalResult AttnBindWeightsPass::bind(func::FuncOp function) {
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  llvm::BitVector isBound(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (!function.getArgAttr(index, kWeightAttr))
      continue;
    FailureOr<ElementsAttr> weight = findWeight(function, index);
    if (failed(weight))
      return failure();
    argument.replaceAllUsesWith(
        arith::ConstantOp::create(builder, argument.getLoc(), cast<TypedAttr>(*weight)));
    isBound.set(index);
    ++numBound;
  }
  return function.eraseArguments(isBound);
}

void AttnBindWeightsPass::runOnOperation() {
  if (file.empty()) {
    getOperation().emitError("expected the option file=FILE.safetensors, found none");
    return signalPassFailure();
  }
  FailureOr<Safetensors> opened = Safetensors::open(file, getOperation().getLoc());
  if (failed(opened))
    return signalPassFailure();
  weights = std::move(*opened);
  bound.clear();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && failed(bind(function)))
      return signalPassFailure();
}
