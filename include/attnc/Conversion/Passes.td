//===- Passes.td - conversions between dialects -----------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_PASSES_TD
#define ATTNC_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToHalide : Pass<"convert-attn-to-halide", "::mlir::ModuleOp"> {
  let summary = "Convert attn ops to halide pipelines and a host function";
  let description = [{
    Every op, fused or not, becomes a `halide.pipeline` with its schedule, named `FUNCTION_OP_N`;
    equal pipelines are shared. The function becomes its own host function on memrefs: arguments
    keep their attributes, results become further arguments (with their attributes and
    `attn.result`), temporaries are `memref.alloc`, and `host.call` runs the pipelines in order.
    Reshapes, split_heads and merge_heads become views where possible.

    Takes functions of one block on attn ops, `tensor` reshapes and constants, after
    `attn-decompose`. An op it can't convert is an error at that op.
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"",
      "Halide target of the unfused ops' schedules">];
  let dependentDialects = ["::mlir::halide::HalideDialect", "::mlir::host::HostDialect", "::mlir::memref::MemRefDialect",
      "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect",
      "::mlir::scf::SCFDialect"];
}

def ConvertHostToLLVM : Pass<"convert-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert host functions to the LLVM dialect";
  let description = [{
    Takes host functions after `host-plan-workspace`. A user context becomes their first argument
    and an i32 status their result. A `host.call` builds Halide's buffers from the memref
    descriptors and returns the status if it is not 0. Kernels, which have been compiled already,
    are replaced by declarations of their functions: `i32 @kernel(ptr user_context, ptr buffer, …)`.

    With `on-device`, a kernel's `KERNEL_argv` is called through
    `attnc_device_call(user_context, kernel, buffers, count)`, which maps the buffers to device memory, and `host.load` copies its
    element by `attnc_device_read(user_context, to, from, bytes)`. `memref.load` and `memref.store`
    are then errors: buffers may have no memory on the host.

    Ops that exchange data become calls of `attnc_exchange_rank`, `_agree`, `_pass`, `_trade` and `_wait`.

    Host functions become internal; beside each `@f` come the packed entry points
    `@f_host(ptr user_context, ptr descriptors) -> i32` and
    `@f_workspace_host(ptr descriptors) -> i64`. `descriptors` points to one pointer
    to a memref descriptor for each argument of `@f`, the workspace last; the
    second reads all but the last.
  }];
  let options = [Option<"onDevice", "on-device", "bool", "false",
      "run kernels on tensors of a GPU, through attnc_device_call">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::affine::AffineDialect",
      "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect"];
}

#endif // ATTNC_CONVERSION_PASSES_TD
