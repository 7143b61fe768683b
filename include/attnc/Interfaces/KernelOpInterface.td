//===- KernelOpInterface.td - ops that compile to a kernel ------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_INTERFACES_KERNELOPINTERFACE_TD
#define ATTNC_INTERFACES_KERNELOPINTERFACE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def KernelOpInterface : OpInterface<"KernelOpInterface", [Symbol]> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    A kernel: an op of a module that a `host.call` runs on buffers. Its symbol is a C identifier. It
    compiles to a function `int32_t SYMBOL(void *user_context, halide_buffer_t *, …)` of one buffer
    a parameter, which returns 0 or one of Halide's error codes; where kernels run on a GPU also to
    `int32_t SYMBOL_argv(void **)`. Its temporaries take at most `kMaxStackBytes` of the stack.

    The op's dialect implements this interface; the library that compiles it implements the
    `KernelTargetOpInterface`.
  }];
  let methods = [
    InterfaceMethod<"Lists the buffers that a call passes, in order.",
      "::llvm::SmallVector<::mlir::attn::KernelParameter>", "getParameters">,
    InterfaceMethod<"Summarises the schedule for `attnc explain`.",
      "::std::string", "describeSchedule">
  ];
  let extraClassDeclaration = [{
    /// Compiles to each file of `files` for a Halide target. Errors, including a missing
    /// `KernelTargetOpInterface`, are diagnostics at the op that caused them.
    ::llvm::LogicalResult compile(::llvm::StringRef target,
                                  const ::mlir::attn::ArtefactPaths &files);
  }];
}

def KernelTargetOpInterface : OpInterface<"KernelTargetOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    Compiles one kind of kernel. The library that links the kernel's compiler attaches it as an
    external model, so that dialects need not link that compiler.
  }];
  let methods = [
    InterfaceMethod<"Compiles the kernel to each file of `files`.",
      "::llvm::LogicalResult", "compileKernel",
      (ins "::llvm::StringRef":$target, "const ::mlir::attn::ArtefactPaths &":$files)>
  ];
}

#endif // ATTNC_INTERFACES_KERNELOPINTERFACE_TD
