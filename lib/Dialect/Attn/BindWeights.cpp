//===- BindWeights.cpp - bind arguments to tensors of files ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"

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

  SmallVector<Safetensors> opened; // of `files`
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
  const Safetensors *weights = nullptr;
  StringRef file;
  for (auto [each, path] : llvm::zip(opened, files)) {
    if (!each.find(name))
      continue;
    if (weights)
      return error() << " in one file, found it in " << file << " and " << path;
    weights = &each;
    file = path;
  }
  if (!weights)
    return error() << " in " << llvm::join(files, " or ") << ", found no tensor of that name";
  const Safetensors::Entry *entry = weights->find(name);
  if (!entry->type)
    return error() << " to be " << type << ", found elements " << entry->dtype << " in " << file;
  if (entry->type != type)
    return error() << " to be " << type << ", found " << entry->type << " in " << file;
  ElementsAttr &constant = bound[name];
  if (!constant)
    constant = weights->getAttr(name, *entry);
  return constant;
}

/// Schedules that read weights in place were chosen for weights that a call passes.
static void removeInPlaceSchedules(LinearOp op) {
  auto isInPlace = [](Attribute schedule) {
    auto linear = dyn_cast<LinearAttr>(schedule);
    return linear && !linear.getPacked();
  };
  if (op.getSchedule() && hasConstantWeight(op) && llvm::any_of(*op.getSchedule(), isInPlace))
    op.removeScheduleAttr();
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
  function.walk(removeInPlaceSchedules);
  return function.eraseArguments(isBound);
}

void AttnBindWeightsPass::runOnOperation() {
  if (files.empty()) {
    getOperation().emitError("expected the option files=FILE.safetensors, found none");
    return signalPassFailure();
  }
  opened.clear();
  for (StringRef path : files) {
    FailureOr<Safetensors> file = Safetensors::open(path, getOperation().getLoc());
    if (failed(file))
      return signalPassFailure();
    opened.push_back(std::move(*file));
  }
  bound.clear();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && failed(bind(function)))
      return signalPassFailure();
}
