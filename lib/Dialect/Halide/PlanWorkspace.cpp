//===- PlanWorkspace.cpp - place temporaries in one workspace
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Halide/Passes.h"
#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::halide {
#define GEN_PASS_DEF_HALIDEPLANWORKSPACE
#include "attnc/Dialect/Halide/Passes.h.inc"
} // namespace mlir::halide

using namespace mlir;

namespace {
struct HalidePlanWorkspacePass : mlir::halide::impl::HalidePlanWorkspaceBase<HalidePlanWorkspacePass> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
