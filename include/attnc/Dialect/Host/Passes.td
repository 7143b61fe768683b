//===- Passes.td - passes on the host dialect -------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HOST_PASSES_TD
#define ATTNC_DIALECT_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def HostCheckFirst : Pass<"host-check-first", "::mlir::ModuleOp"> {
  let summary = "Refuse a call before anything of the caller's is written";
  let description = [{
    In host functions of one block, moves each `host.require`, and what it depends on, ahead of the
    first kernel that writes a buffer of the caller's or that no requirement depends on. One that
    depends on what such a kernel writes stays where it is.

    ```mlir
    // before
    host.call @append(%rows, %cache) : memref<?xf32>, memref<?xf32>
    host.call @wrong_ids(%ids, %count) : memref<?xi64>, memref<1xi32>
    %found = host.load %count[%c0] : memref<1xi32>
    %isNone = arith.cmpi eq, %found, %zero : i32
    host.require %isNone, "expected ids in the table"
    // after
    host.call @wrong_ids(%ids, %count) : memref<?xi64>, memref<1xi32>
    %found = host.load %count[%c0] : memref<1xi32>
    %isNone = arith.cmpi eq, %found, %zero : i32
    host.require %isNone, "expected ids in the table"
    host.call @append(%rows, %cache) : memref<?xf32>, memref<?xf32>
    ```
  }];
}

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
