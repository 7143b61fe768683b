//===- AttnOpInterface.h - interface of the attn ops ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ATTNOPINTERFACE_H
#define ATTNC_DIALECT_ATTN_ATTNOPINTERFACE_H

#include "attnc/Dialect/Attn/FormulaWriter.h"
#include "attnc/Dialect/Attn/OpSizes.h"

#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "attnc/Dialect/Attn/AttnOpInterface.h.inc"

namespace mlir::attn {

/// The sizes of all results. A static size of a result's type takes precedence over one inferred
/// from operands.
LogicalResult reifyResultSizes(OpBuilder &builder, AttnOpInterface op,
                               ReifiedRankedShapedTypeDims &shapes);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ATTNOPINTERFACE_H
