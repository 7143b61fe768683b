//===- Cache.h - the folder of compiled kernels -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry is a file KEY.kernel: a line with the length and the hash of the bytes that follow.
// Entries that are damaged or that others could have written are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_LIBRARY_CACHE_H
#define ATTNC_TARGET_LIBRARY_CACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::attn {

/// Hashes `parts`, which may hold any bytes, together with this build of attnc and its libraries of
/// Halide, LLVM and MLIR.
std::string getCacheKey(llvm::ArrayRef<llvm::StringRef> parts);

std::string getCacheEntryPath(llvm::StringRef folder, llvm::StringRef key);

/// The bytes of the entry at `path`, or an error that says why it is invalid.
llvm::Expected<std::string> readCacheEntry(llvm::StringRef path);

/// Stores `bytes` atomically, even if the machine crashes.
std::error_code writeCacheEntry(llvm::StringRef folder, llvm::StringRef key, llvm::StringRef bytes);

} // namespace mlir::attn

#endif // ATTNC_TARGET_LIBRARY_CACHE_H
