//===- Constants.cpp - constants of a spec as later passes take them ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

static LogicalResult checkLength(Operation *op, DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  Type element = resource.getElementType();
  if (!blob)
    return op->emitError("expected a resource '")
           << resource.getRawHandle().getKey() << "', found none";
  if (!element.isIntOrFloat())
    return success(); // refused as the element of a tensor
  uint64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), expected = bytes;
  for (int64_t size : resource.getType().getShape())
    expected = llvm::SaturatingMultiply(expected, uint64_t(size));
  if (blob->getData().size() == expected)
    return success();
  return op->emitError("expected ")
         << expected << " bytes in resource '" << resource.getRawHandle().getKey() << "' of "
         << resource.getType() << ", found " << blob->getData().size();
}

static void writeOut(arith::ConstantOp constant, DenseResourceElementsAttr resource) {
  ShapedType type = resource.getType();
  ArrayRef<char> bytes = resource.getRawHandle().getBlob()->getData();
  if (type.getNumElements() == 0)
    constant.setValueAttr(DenseElementsAttr::get(type, ArrayRef<Attribute>()));
  else if (type.getElementType().isInteger(1))
    constant.setValueAttr(DenseElementsAttr::get(
        type, llvm::map_to_vector(bytes, [](char byte) { return byte != 0; })));
}

LogicalResult attnc::checkConstants(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    for (NamedAttribute each : op->getAttrDictionary())
      if (auto resource = dyn_cast<DenseResourceElementsAttr>(each.getValue()))
        if (failed(checkLength(op, resource)))
          return WalkResult::interrupt();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
        writeOut(constant, resource);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
