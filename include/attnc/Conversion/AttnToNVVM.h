//===- AttnToNVVM.h - kernels for tensor cores ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_H
#define ATTNC_CONVERSION_ATTNTONVVM_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::attn {

/// Makes `#attn.mma` and `#attn.mma_linear` build `cuda.kernel` ops.
void registerCudaKernelBuilders(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTONVVM_H
