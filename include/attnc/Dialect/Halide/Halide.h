//===- Halide.h - the halide dialect ----------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HALIDE_HALIDE_H
#define ATTNC_DIALECT_HALIDE_HALIDE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attnc/Dialect/Halide/HalideDialect.h.inc"
#include "attnc/Dialect/Halide/HalideEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Halide/HalideAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "attnc/Dialect/Halide/HalideTypes.h.inc"
#define GET_OP_CLASSES
#include "attnc/Dialect/Halide/HalideOps.h.inc"

#endif // ATTNC_DIALECT_HALIDE_HALIDE_H
