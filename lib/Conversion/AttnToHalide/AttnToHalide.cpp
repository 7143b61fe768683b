//===- AttnToHalide.cpp - attn to halide
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir {
#define GEN_PASS_DEF_CONVERTATTNTOHALIDE
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

using namespace mlir;

namespace {
struct ConvertAttnToHalidePass : mlir::impl::ConvertAttnToHalideBase<ConvertAttnToHalidePass> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
