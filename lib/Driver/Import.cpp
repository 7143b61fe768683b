//===- Import.cpp - attnc import ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/ConstantBytes.h"
#include "attnc/Driver/Driver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::NamedTensor;

namespace {
/// Makes arguments of a function's large constants.
class WeightTaker {
public:
  explicit WeightTaker(func::FuncOp function) : function(function) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (auto name = function.getArgAttrOfType<StringAttr>(index, mlir::attn::kNameAttr))
        names.insert(name);
  }
  std::vector<NamedTensor> take();

private:
  Value addArgument(RankedTensorType type, StringRef weight);

  func::FuncOp function;
  llvm::StringSet<> names;
};
} // namespace

Value WeightTaker::addArgument(RankedTensorType type, StringRef weight) {
  Builder builder(function.getContext());
  std::string name = mlir::attn::makeUnique(mlir::attn::toCIdentifier(weight, "weight"), names);
  NamedAttribute attributes[] = {{mlir::attn::kNameAttr, builder.getStringAttr(name)},
                                 {mlir::attn::kWeightAttr, builder.getStringAttr(weight)}};
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, builder.getDictionaryAttr(attributes),
                                function.getLoc());
  return function.getArgument(index);
}

/// The constants whose data the text holds apart, under the names of the model's initializers.
std::vector<NamedTensor> WeightTaker::take() {
  std::vector<NamedTensor> tensors;
  llvm::MapVector<DenseResourceElementsAttr, SmallVector<arith::ConstantOp>> constants;
  function.walk([&](arith::ConstantOp constant) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
    if (resource && !resource.getElementType().isInteger(1))
      constants[resource].push_back(constant);
  });
  for (auto &[resource, uses] : constants) {
    auto type = cast<RankedTensorType>(resource.getType());
    std::string name = llvm::json::fixUTF8(resource.getRawHandle().getKey());
    tensors.push_back({name, type.getElementType(), type.getShape(),
                       llvm::toStringRef(mlir::attn::getConstantBytes(resource))});
    Value argument = addArgument(type, name);
    for (arith::ConstantOp constant : uses) {
      constant.replaceAllUsesWith(argument);
      constant.erase();
    }
  }
  return tensors;
}

LogicalResult attnc::importModel(const ImportInvocation &invocation) {
  if (!isModel(invocation.spec.path))
    return reportUsage("attnc import",
                       "expected a file .onnx, found " + (invocation.spec.path.empty()
                                                              ? "none"
                                                              : "'" + invocation.spec.path + "'"));
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  if (!spec || failed(spec->simplify()))
    return failure();
  if (!invocation.weightsPath.empty() &&
      failed(writeTensors(invocation.weightsPath, WeightTaker(spec->getFunction()).take())))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  spec->getModule()->print(os); // unlike <<, with the constants' data
  os << '\n';
  if (invocation.outputPath != "-")
    return writeFile(invocation.outputPath, text);
  llvm::outs() << text;
  return success();
}
