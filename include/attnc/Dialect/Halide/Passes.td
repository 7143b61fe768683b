//===- Passes.td - passes on the halide dialect -----------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HALIDE_PASSES_TD
#define ATTNC_DIALECT_HALIDE_PASSES_TD

include "mlir/Pass/PassBase.td"

def HalidePlanWorkspace : Pass<"halide-plan-workspace", "::mlir::ModuleOp"> {
  let summary = "Place a host function's temporaries in one workspace";
  let description = [{
    Takes host functions, which hold `halide.call` ops and allocate their temporaries with
    `memref.alloc` in the entry block. Each alloc becomes a `memref.view` of one workspace, a
    `memref<?xi8>` that is appended to the arguments; temporaries whose uses do
    not overlap share bytes where their types are equal. Beside every host function
    `@f` a function `@f_workspace` of the same arguments gives the bytes needed, 0
    where there are none. Views are aligned to 64 bytes.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
      "::mlir::func::FuncDialect"];
}

#endif // ATTNC_DIALECT_HALIDE_PASSES_TD
