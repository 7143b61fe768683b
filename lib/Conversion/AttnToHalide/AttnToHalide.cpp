//===- AttnToHalide.cpp - attn graphs to pipelines and a host function ----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Sizes.h"
#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir {
#define GEN_PASS_DEF_CONVERTATTNTOHALIDE
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

using namespace mlir;
using namespace mlir::attn;

Lowerings Lowerings::collect() {
  Lowerings lowerings;
  for (auto add : kAddLowerings)
    add(lowerings);
  return lowerings;
}

namespace {
struct ConvertAttnToHalidePass : impl::ConvertAttnToHalideBase<ConvertAttnToHalidePass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override { return verifyTarget(context, target); }
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    bool onGpu = GpuInfo::fromTarget(target).has_value();
    const Lowerings lowerings = Lowerings::collect();
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal() || host::isHostFunction(function))
        continue;
      if (failed(verifyDims(function)))
        return signalPassFailure();
      if (failed(FunctionConverter(function, cpu, onGpu).convert(lowerings)))
        return signalPassFailure();
    }
  }
};
} // namespace
