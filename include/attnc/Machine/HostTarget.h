//===- HostTarget.h - the target that `host` stands for ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_MACHINE_HOSTTARGET_H
#define ATTNC_MACHINE_HOSTTARGET_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::attn {

/// `target`, where `host` is replaced by what the environment variable ATTNC_HOST_TARGET names: a
/// Halide target without a GPU, such as x86-64-linux-avx2-fma. Without the variable `host` stays,
/// and means the machine that this runs on.
std::string resolveHost(llvm::StringRef target);

} // namespace mlir::attn

#endif // ATTNC_MACHINE_HOSTTARGET_H
