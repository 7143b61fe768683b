//===- Schedule.h - rules of whole schedules --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_HALIDE_SCHEDULE_H
#define ATTNC_LIB_DIALECT_HALIDE_SCHEDULE_H

#include "mlir/IR/Block.h"

namespace mlir::halide {

/// What was split, fused or moved is not used again.
LogicalResult verifyLoopUses(Block &block);

/// Vectors and unrolled loops don't make more code of one stage than a compiler can bear.
LogicalResult verifyCopies(Block &block);

} // namespace mlir::halide

#endif // ATTNC_LIB_DIALECT_HALIDE_SCHEDULE_H
