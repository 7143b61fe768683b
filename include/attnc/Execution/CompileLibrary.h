//===- CompileLibrary.h - a library of a spec --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_COMPILELIBRARY_H
#define ATTNC_EXECUTION_COMPILELIBRARY_H

#include "attnc/Target/Library/Library.h"

namespace attnc {

/// The name of a spec's library: `given`, a C identifier, or the function's where that is empty.
/// Errors are at `--name`.
mlir::FailureOr<std::string> getLibraryName(std::optional<llvm::StringRef> given,
                                            llvm::StringRef function);

/// An error where `main` or a function of the C library has this name: a library's function would
/// take its place for everyone in the program.
llvm::LogicalResult checkSymbolIsFree(llvm::StringRef name);

/// Compiles one spec, scheduled for each target, and shows on a terminal that it lasts.
mlir::FailureOr<mlir::attn::Library>
compileLibrary(llvm::ArrayRef<mlir::attn::LibrarySource> sources,
               const mlir::attn::LibraryOptions &options);

} // namespace attnc

#endif // ATTNC_EXECUTION_COMPILELIBRARY_H
