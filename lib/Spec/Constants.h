//===- Constants.h - constants of a spec as later passes take them -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_SPEC_CONSTANTS_H
#define ATTNC_LIB_SPEC_CONSTANTS_H

#include "mlir/IR/BuiltinOps.h"

namespace attnc {

/// Refuses resources that are not as long as their type says, which MLIR doesn't compare. Those of
/// i1, and those without elements, become inline `dense` attributes.
llvm::LogicalResult checkConstants(mlir::ModuleOp module);

} // namespace attnc

#endif // ATTNC_LIB_SPEC_CONSTANTS_H
