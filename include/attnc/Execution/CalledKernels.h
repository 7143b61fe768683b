//===- CalledKernels.h - kernels run by a call ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_CALLEDKERNELS_H
#define ATTNC_EXECUTION_CALLEDKERNELS_H

#include "attnc/Interfaces/KernelOpInterface.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attnc {

/// One kernel that a call runs.
struct CalledKernel {
  mlir::attn::KernelOpInterface kernel;
  /// Whether the arguments selected it; others run another kernel, or none.
  bool isChosen;
};

/// The kernels that a scheduled function may call on arguments of these shapes, in order: offsets
/// of packed rows say which. Calls whose condition depends on addresses are left out.
llvm::SmallVector<CalledKernel> getCalledKernels(mlir::func::FuncOp function,
                                                 llvm::ArrayRef<llvm::ArrayRef<int64_t>> arguments);

} // namespace attnc

#endif // ATTNC_EXECUTION_CALLEDKERNELS_H
