//===- AttnDialect.cpp - the attn dialect: registration and argument attributes
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#include "attnc/Dialect/Attn/AttnDialect.cpp.inc"
#include "attnc/Dialect/Attn/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Attn/AttnAttrs.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attnc/Dialect/Attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
      >();
}

LogicalResult PrefillAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t, int64_t,
                                  int64_t, int64_t, int64_t, int64_t, int64_t) {
  return success();
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *, unsigned, unsigned, NamedAttribute) {
  return success();
}
LogicalResult AttnDialect::verifyRegionResultAttribute(Operation *, unsigned, unsigned, NamedAttribute) {
  return success();
}
