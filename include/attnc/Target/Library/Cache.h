//===- Cache.h - the folder of compiled kernels -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry is a file KEY.kernel: a line with the length and the hash of what follows. What
// is not as it was written, or not by the user, is as good as none.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_LIBRARY_CACHE_H
#define ATTNC_TARGET_LIBRARY_CACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::attn {

/// The key of what is compiled from `parts`, which may hold any bytes, by this build of attnc
/// and the libraries of Halide, LLVM and MLIR that it runs with.
std::string getCacheKey(llvm::ArrayRef<llvm::StringRef> parts);

std::string getCacheEntryPath(llvm::StringRef folder, llvm::StringRef key);

/// Whether a file of the folder is an entry.
bool isCacheEntry(llvm::StringRef path);

/// The bytes of the entry at `path`. The error says what is wrong with it.
llvm::Expected<std::string> readCacheEntry(llvm::StringRef path);

/// Keeps `bytes`: readers see all of them or nothing, also after a crash of the machine.
std::error_code writeCacheEntry(llvm::StringRef folder, llvm::StringRef key, llvm::StringRef bytes);

} // namespace mlir::attn

#endif // ATTNC_TARGET_LIBRARY_CACHE_H
