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

/// Writes a file beside `path` and renames it to `path`; `-` is standard output. On a full disk no
/// partial file remains. Devices and pipes are written directly.
std::error_code writeWholeFile(llvm::StringRef path,
                               llvm::function_ref<void(llvm::raw_ostream &)> write);

/// The same, readable by the user alone and synced before the rename: a crash of the machine leaves
/// no partial file.
std::error_code writeDurableFile(llvm::StringRef path,
                                 llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Syncs a folder's entries to disk.
std::error_code syncFolder(llvm::StringRef path);

} // namespace mlir::attn

#endif // ATTNC_FILES_WHOLEFILE_H
