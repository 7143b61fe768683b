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

/// The folder, created and marked as ours, or empty with `--no-cache`, or where the user has no
/// folder for caches. Refused are relative paths, folders that others could write to, and those
/// that hold other files: `attnc cache --clear` deletes what they hold.
mlir::FailureOr<std::string> openCache();

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_CACHE_H
