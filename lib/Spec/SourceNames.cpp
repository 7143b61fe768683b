//===- SourceNames.cpp - names from a spec's text -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceNames.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attnc;

/// The name of `%name` or `%name:2`.
static StringRef getText(SMRange range) {
  StringRef text(range.Start.getPointer(), range.End.getPointer() - range.Start.getPointer());
  text.consume_front("%");
  return text.take_until([](char c) { return c == ':'; });
}

/// The SSA name of `value` in the text; empty if unknown.
static StringRef getSourceName(Value value, const AsmParserState &source) {
  auto result = dyn_cast<OpResult>(value);
  if (!result) {
    auto argument = cast<BlockArgument>(value);
    const auto *block = source.getBlockDef(argument.getOwner());
    if (!block || argument.getArgNumber() >= block->arguments.size())
      return "";
    return getText(block->arguments[argument.getArgNumber()].loc);
  }
  if (const auto *op = source.getOpDef(result.getOwner()))
    for (const auto &group : op->resultGroups)
      if (group.startIndex == result.getResultNumber())
        return getText(group.definition.loc);
  return "";
}

static void nameFromSource(func::FuncOp function, const AsmParserState &source) {
  llvm::StringSet<> taken;
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (auto name = function.getArgAttrOfType<StringAttr>(index, mlir::attn::kNameAttr))
      taken.insert(name);
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto name = function.getResultAttrOfType<StringAttr>(index, mlir::attn::kNameAttr))
      taken.insert(name);
  // The name for `value`, if it is free.
  auto getName = [&](Value value) {
    StringRef name = getSourceName(value, source);
    bool usable = isa<TensorType>(value.getType()) && mlir::attn::isCIdentifier(name) &&
                  taken.insert(name).second;
    return usable ? StringAttr::get(function.getContext(), name) : StringAttr();
  };
  for (BlockArgument argument : function.getArguments())
    if (!function.getArgAttr(argument.getArgNumber(), mlir::attn::kNameAttr))
      if (StringAttr name = getName(argument))
        function.setArgAttr(argument.getArgNumber(), mlir::attn::kNameAttr, name);
  for (auto [index, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
    if (!function.getResultAttr(index, mlir::attn::kNameAttr))
      if (StringAttr name = getName(value))
        function.setResultAttr(index, mlir::attn::kNameAttr, name);
}

void attnc::nameFromSource(ModuleOp module, const AsmParserState &source) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.getBody().hasOneBlock())
      ::nameFromSource(function, source);
}
