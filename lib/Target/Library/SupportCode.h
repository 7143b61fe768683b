//===- SupportCode.h - the C part of libraries, as bitcode ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_SUPPORTCODE_H
#define ATTNC_LIB_TARGET_LIBRARY_SUPPORTCODE_H

#include "Signature.h"

#include "attnc/Machine/GpuInfo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir::attn {

/// The modules of attnc_*.c for a library.
SmallVector<ArrayRef<unsigned char>> getSupport(const llvm::Triple &triple,
                                                const std::optional<GpuInfo> &gpu,
                                                const Signature &signature, bool withRuntime);

/// attnc's own part of the runtime.
ArrayRef<unsigned char> getRuntimeSupport();

/// One of these modules, for any target of its word size.
std::unique_ptr<llvm::Module> loadSupport(ArrayRef<unsigned char> bitcode,
                                          llvm::LLVMContext &context);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_SUPPORTCODE_H
