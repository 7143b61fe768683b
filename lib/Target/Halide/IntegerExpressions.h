//===- IntegerExpressions.h - integer ops as expressions --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_INTEGEREXPRESSIONS_H
#define ATTNC_LIB_TARGET_HALIDE_INTEGEREXPRESSIONS_H

#include "Halide.h"

#include "mlir/IR/Operation.h"

namespace mlir::halide {

::Halide::Expr toUnsigned(::Halide::Expr e);
::Halide::Expr toSigned(::Halide::Expr e);
/// Converts an i1 to the signed number that it is: true is -1.
::Halide::Expr boolToSigned(::Halide::Expr e, ::Halide::Type type);

/// Translates an op from integers to integers; undefined for other ops. `nowrap` promises that
/// nothing overflows.
::Halide::Expr translateInteger(Operation *op, ArrayRef<::Halide::Expr> in, bool nowrap,
                                const ::Halide::Target &target);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_INTEGEREXPRESSIONS_H
