//===- Kernel.h - a compiled library, loaded --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_KERNEL_H
#define ATTNC_TOOLS_ATTNC_KERNEL_H

#include "Tensor.h"

#include "mlir/Support/LLVM.h"

namespace attnc {

/// Loads the shared library at `path` and calls its function `name` as a C program
/// would: on DLTensors, inputs first. Its message is the error.
llvm::LogicalResult callKernel(llvm::StringRef path, llvm::StringRef name,
                               llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> outputs);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_KERNEL_H
