//===- CompileLibrary.h - compile a spec to a library ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_COMPILELIBRARY_H
#define ATTNC_EXECUTION_COMPILELIBRARY_H

#include "attnc/Target/Library/Library.h"

namespace attnc {

/// The name of a spec's library: `given`, a C identifier, else the function's name. Errors are at
/// `--name`.
mlir::FailureOr<std::string> getLibraryName(std::optional<llvm::StringRef> given,
                                            llvm::StringRef function);

/// Fails if `name` is `main` or a function of the C library, which the library's function would
/// replace in the whole program.
llvm::LogicalResult checkSymbolIsFree(llvm::StringRef name);

/// Compiles one spec, scheduled for each target, with progress on a terminal.
mlir::FailureOr<mlir::attn::Library>
compileLibrary(llvm::ArrayRef<mlir::attn::LibrarySource> sources,
               const mlir::attn::LibraryOptions &options);

} // namespace attnc

#endif // ATTNC_EXECUTION_COMPILELIBRARY_H
