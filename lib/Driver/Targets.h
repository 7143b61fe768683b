//===- Targets.h - targets on the command line -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_TARGETS_H
#define ATTNC_LIB_DRIVER_TARGETS_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace attnc {

/// The targets of a comma-separated list, in full; an unknown one is an error at `--target`.
mlir::FailureOr<std::vector<std::string>> resolveTargets(llvm::StringRef list);

/// The same for one target; fails if there are more.
mlir::FailureOr<std::string> resolveTarget(llvm::StringRef target);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_TARGETS_H
