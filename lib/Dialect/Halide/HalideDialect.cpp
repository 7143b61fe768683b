//===- HalideDialect.cpp - the halide dialect: registration
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::halide;

#include "attnc/Dialect/Halide/HalideDialect.cpp.inc"
#include "attnc/Dialect/Halide/HalideEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Halide/HalideAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "attnc/Dialect/Halide/HalideTypes.cpp.inc"

void HalideDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attnc/Dialect/Halide/HalideAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "attnc/Dialect/Halide/HalideTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Halide/HalideOps.cpp.inc"
      >();
}
