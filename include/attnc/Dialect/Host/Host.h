//===- Host.h - the host dialect --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HOST_HOST_H
#define ATTNC_DIALECT_HOST_HOST_H

#include "attnc/Interfaces/KernelOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attnc/Dialect/Host/HostDialect.h.inc"
#define GET_OP_CLASSES
#include "attnc/Dialect/Host/HostOps.h.inc"

namespace mlir::host {

/// Whether a function is a host function: it has a body, at least one argument, only memrefs as
/// arguments, and no results.
bool isHostFunction(func::FuncOp function);

/// What `memref` is or views, through any number of views: an argument, or the result of what
/// allocates it or holds a constant.
Value getViewedBuffer(Value memref);

} // namespace mlir::host

#endif // ATTNC_DIALECT_HOST_HOST_H
