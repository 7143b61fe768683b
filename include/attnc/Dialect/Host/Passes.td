//===- Passes.td - passes on the host dialect -------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HOST_PASSES_TD
#define ATTNC_DIALECT_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def HostPlanWorkspace : Pass<"host-plan-workspace", "::mlir::ModuleOp"> {
  let summary = "Place a host function's temporaries in one workspace";
  let description = [{
    Takes host functions of one block, whose temporaries are `memref.alloc` ops. Each alloc
    becomes a `memref.view` of one workspace, a `memref<?xi8>` that is appended to the
    arguments. Temporaries with disjoint lifetimes, uses through views included, share bytes if
    their sizes differ at most by a constant factor. For every host function `@f` a function
    `@f_workspace` of the same arguments without the workspace returns the bytes needed, 0 without
    temporaries. Views are aligned to `alignment` bytes within the workspace.

    A size that does not follow from the arguments alone is an error.

    ```mlir
    // before
    func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
      %n = memref.dim %x, %c0 : memref<?xf32>
      %t = memref.alloc(%n) : memref<?x64xf32>
      ...
    // after
    func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %workspace: memref<?xi8>) {
      %n = memref.dim %x, %c0 : memref<?xf32>
      %t = memref.view %workspace[%c0][%n] : memref<?xi8> to memref<?x64xf32>
      ...
    func.func private @f_workspace(%x: memref<?xf32>, %y: memref<?xf32>) -> index
    ```
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "alignment of views in bytes">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
      "::mlir::func::FuncDialect"];
}

#endif // ATTNC_DIALECT_HOST_PASSES_TD
