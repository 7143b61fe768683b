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

/// Verifies that loops are not used after they were split, fused or moved.
LogicalResult verifyLoopUses(Block &block);

/// Verifies a limit on the points of each stage's vectorized and unrolled loops, which bounds its
/// code size.
LogicalResult verifyCopies(Block &block);

} // namespace mlir::halide

#endif // ATTNC_LIB_DIALECT_HALIDE_SCHEDULE_H
