//===- CacheFolder.h - the folder of compiled kernels ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_CACHEFOLDER_H
#define ATTNC_LIB_DRIVER_CACHEFOLDER_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace attnc {

/// Marks a folder as a cache, also for backup tools (bford.info/cachedir).
constexpr llvm::StringLiteral kCacheTag = "CACHEDIR.TAG";

/// ATTNC_CACHE, else attnc in the user's cache folder; empty if the user has none.
mlir::FailureOr<std::string> getCacheDir();

/// The folder, created and marked as ours; empty unless `isUsed`, or if the user has no folder for
/// caches. Relative paths, folders that others could write to, and folders with other files are
/// refused: `attnc cache --clear` deletes files.
mlir::FailureOr<std::string> openCache(bool isUsed = true);

/// Fails if the folder exists and is not ours.
llvm::LogicalResult checkIsCache(llvm::StringRef dir);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_CACHEFOLDER_H
