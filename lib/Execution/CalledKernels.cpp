//===- CalledKernels.cpp - kernels run by a call --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the sizes of arguments as constants, the host function's call conditions fold to constants.
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/CalledKernels.h"

#include "attnc/Dialect/Host/Host.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace attnc;

/// Replaces each size of an argument by a constant.
static void bindSizes(func::FuncOp function, ArrayRef<ArrayRef<int64_t>> arguments) {
  function.walk([&](memref::DimOp dim) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!argument || argument.getOwner() != &function.front() || !index)
      return;
    OpBuilder builder(dim);
    int64_t size = arguments[argument.getArgNumber()][*index];
    dim.replaceAllUsesWith(arith::ConstantIndexOp::create(builder, dim.getLoc(), size).getResult());
    dim.erase();
  });
}

/// Whether an element of an argument has a part in it.
static bool dependsOnElements(Value condition) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(condition, &slice, options);
  return llvm::any_of(slice, llvm::IsaPred<host::LoadOp>);
}

SmallVector<CalledKernel> attnc::getCalledKernels(func::FuncOp function,
                                                  ArrayRef<ArrayRef<int64_t>> arguments) {
  auto module = function->getParentOfType<ModuleOp>();
  OwningOpRef<func::FuncOp> copy(cast<func::FuncOp>(function->clone()));
  bindSizes(*copy, arguments);
  // Conditions that do not converge stay unknown.
  (void)applyPatternsGreedily(*copy, RewritePatternSet(function.getContext()));
  SmallVector<CalledKernel> called;
  copy->walk([&](host::CallOp call) {
    Value condition = call.getCondition();
    if (!condition || matchPattern(condition, m_One()) || dependsOnElements(condition))
      called.push_back({module.lookupSymbol<mlir::attn::KernelOpInterface>(call.getCallee()),
                        /*isChosen=*/condition != nullptr});
  });
  return called;
}
