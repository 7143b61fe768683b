//===- Cache.h - the folder of compiled kernels -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_CACHE_H
#define ATTNC_TOOLS_ATTNC_CACHE_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace attnc {

/// ATTNC_CACHE, else attnc in the user's cache folder; empty where there is none.
std::string getCacheDir();

/// The folder, created and marked as ours, or empty with `--no-cache`. A folder that
/// holds other files is refused: `attnc cache --clear` deletes what it holds.
mlir::FailureOr<std::string> openCache();

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_CACHE_H
