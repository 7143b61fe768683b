//===- WholeFile.h - files that appear whole or not at all ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_FILES_WHOLEFILE_H
#define ATTNC_FILES_WHOLEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <system_error>

namespace mlir::attn {

/// Writes to a file beside `path` and moves it there; `-` is standard output. Where a disk is
/// full, nothing of it stays. Devices and pipes are written to as they are.
std::error_code writeWholeFile(llvm::StringRef path,
                               llvm::function_ref<void(llvm::raw_ostream &)> write);

/// The same for the user alone, with its bytes on disk before it has its name: a crash of the
/// machine leaves no part of it.
std::error_code writeDurableFile(llvm::StringRef path,
                                 llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Puts the names of a folder's files on disk.
std::error_code syncFolder(llvm::StringRef path);

} // namespace mlir::attn

#endif // ATTNC_FILES_WHOLEFILE_H
