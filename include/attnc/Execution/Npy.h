//===- Npy.h - numpy's files ------------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_NPY_H
#define ATTNC_EXECUTION_NPY_H

#include "attnc/Execution/Tensor.h"

#include "mlir/Support/LLVM.h"

namespace attnc {

/// Reads an array of `elementType`, of version 1 to 3, in C or Fortran order.
/// Errors are reported at `name`, the input that is read.
mlir::FailureOr<Tensor> readNpy(llvm::StringRef path, llvm::StringRef name, mlir::Type elementType);

/// The array as a file of version 1; the element type has a dtype.
std::string writeNpy(const Tensor &tensor);

/// Whether numpy has a dtype for this type: it has none for bf16.
bool hasDtype(mlir::Type elementType);

} // namespace attnc

#endif // ATTNC_EXECUTION_NPY_H
