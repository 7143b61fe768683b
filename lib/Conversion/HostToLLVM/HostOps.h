//===- HostOps.h - ops of the host dialect to the LLVM dialect --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_CONVERSION_HOSTTOLLVM_HOSTOPS_H
#define ATTNC_LIB_CONVERSION_HOSTTOLLVM_HOSTOPS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::host {

/// On a host.call during lowering: the host function's argument that each buffer is or views, -1
/// for a constant.
constexpr StringLiteral kArgumentsAttr = "host.arguments";

/// Declares the functions that the patterns call, and replaces kernels by declarations.
void declareCallees(ModuleOp module, bool onDevice);

/// One pattern for each op of the dialect, inside host functions that are LLVM functions already:
/// the first argument is the user context, the result a status.
void populateHostToLLVMPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns,
                                bool onDevice);

} // namespace mlir::host

#endif // ATTNC_LIB_CONVERSION_HOSTTOLLVM_HOSTOPS_H
