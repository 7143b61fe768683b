//===- HostObject.h - the host function as an object ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_HOSTOBJECT_H
#define ATTNC_LIB_TARGET_LIBRARY_HOSTOBJECT_H

#include "Variants.h"

#include "attnc/Machine/GpuInfo.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {

/// attnc's own part of the runtime, as an object with references to Halide's part.
FailureOr<std::string> compileRuntimeSupport(StringRef triple, Location loc);

/// Compiles the host function `function` of each variant and its constants, together with the
/// support code, with the code that moves tensors to and from a `gpu`, and with `withRuntime`
/// attnc's own part of the runtime. kConstantsName gets a section of `constantBytes` bytes that the
/// object does not store. The variants' modules are consumed. Returns the bytes of a relocatable
/// object that references pipelines and the C library; or, if pipelines and Halide's runtime are in
/// the files `bitcode`, the C library alone.
FailureOr<std::string> compileHost(MutableArrayRef<Variant> variants, StringRef function,
                                   const Signature &signature, StringRef metadata, StringRef triple,
                                   const std::optional<GpuInfo> &gpu, bool withRuntime,
                                   uint64_t constantBytes, ArrayRef<std::string> bitcode = {});

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_HOSTOBJECT_H
