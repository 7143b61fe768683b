//===- HalideToLLVM.cpp - host functions to the LLVM dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir {
#define GEN_PASS_DEF_CONVERTHALIDETOLLVM
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

using namespace mlir;

namespace {
struct ConvertHalideToLLVMPass : mlir::impl::ConvertHalideToLLVMBase<ConvertHalideToLLVMPass> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
