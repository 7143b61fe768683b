//===- ArgumentName.h - what an argument is called --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_EXPLAIN_ARGUMENTNAME_H
#define ATTNC_LIB_EXPLAIN_ARGUMENTNAME_H

#include "mlir/IR/Value.h"

#include <string>

namespace attnc {

/// What callers call a function's argument: `arg2` if it has no name. Empty if the value is none.
std::string nameArgument(mlir::Value value);

} // namespace attnc

#endif // ATTNC_LIB_EXPLAIN_ARGUMENTNAME_H
