//===- SizeChecks.h - run-time checks of sizes ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_SIZECHECKS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_SIZECHECKS_H

#include "HostFunction.h"

namespace mlir::attn {

/// Emits checks of `op`'s size constraints for sizes that are dynamic in the types.
void requireSizes(HostFunction &host, Operation &op);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_SIZECHECKS_H
