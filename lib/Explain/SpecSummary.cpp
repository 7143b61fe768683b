//===- SpecSummary.cpp - a library's metadata about its spec --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Explain/SpecSummary.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Dialect/Attn/ConstantBytes.h"
#include "attnc/Explain/Formulas.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace attnc;

/// Constants are hashed as bytes: printing them is slow.
static std::string hash(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().elideLargeElementsAttrs(0).elideLargeResourceString(0));
  llvm::SHA256 state;
  state.update(text);
  module.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      state.update(llvm::toStringRef(attn::getConstantBytes(attribute.getValue())));
  });
  return llvm::toHex(state.final(), /*LowerCase=*/true);
}

LogicalResult attnc::describeSpec(Spec &spec, StringRef target,
                                  mlir::attn::LibraryOptions &options) {
  options.about["spec_hash"] = hash(spec.getModule());
  if (spec.getStage() == Stage::Scheduled)
    return success();
  OwningOpRef<ModuleOp> fused = spec.getLowered(Stage::Fused, target);
  if (!fused)
    return failure();
  auto function = fused->lookupSymbol<func::FuncOp>(spec.getFunction().getName());
  options.about["flops"] = countFlops(function).json();
  options.summary = summarizeFusion(function);
  options.formulas = writeFormulas(function);
  return success();
}
