//===- Cuda.h - the cuda dialect --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_CUDA_CUDA_H
#define ATTNC_DIALECT_CUDA_CUDA_H

#include "attnc/Interfaces/KernelOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attnc/Dialect/Cuda/CudaDialect.h.inc"
#define GET_OP_CLASSES
#include "attnc/Dialect/Cuda/CudaOps.h.inc"

namespace mlir::cuda {

/// The types of the arguments of a kernel's body for a buffer.
SmallVector<Type> getArgumentTypes(MemRefType buffer);

/// The type of the arguments of a kernel's body for its tensor maps: a generic pointer.
Type getMapType(MLIRContext *context);

} // namespace mlir::cuda

#endif // ATTNC_DIALECT_CUDA_CUDA_H
