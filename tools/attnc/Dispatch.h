//===- Dispatch.h - which kernels a call runs -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_DISPATCH_H
#define ATTNC_TOOLS_ATTNC_DISPATCH_H

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attnc {

/// One pipeline that a call runs.
struct CalledPipeline {
  mlir::halide::PipelineOp pipeline;
  /// Whether sizes chose it: other sizes run another, or none.
  bool isChosen;
};

/// What a scheduled function calls on arguments of these shapes, in order. Pipelines that
/// depend on more than the shapes are left out.
llvm::SmallVector<CalledPipeline>
getCalledPipelines(mlir::func::FuncOp function, llvm::ArrayRef<llvm::ArrayRef<int64_t>> arguments);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_DISPATCH_H
