//===- FloatExpressions.h - float ops as expressions ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_FLOATEXPRESSIONS_H
#define ATTNC_LIB_TARGET_HALIDE_FLOATEXPRESSIONS_H

#include "Halide.h"

#include "mlir/IR/Operation.h"

namespace mlir::halide {

/// Widens f16 and bf16 to f32 for computing; leaves other types alone.
::Halide::Expr widenHalf(::Halide::Expr e);
/// Whether the op's flags promise that there is no NaN.
bool assumesNoNaN(Operation *op);
/// Converts f32 or f64 to another float type. Halide's own conversions to 16 bits turn some NaN
/// into infinities or zeros, and all of them promise LLVM that there are no NaN or infinities, so
/// that it folds tests for them: `isTested` keeps those.
::Halide::Expr convertFloat(::Halide::Type type, ::Halide::Expr e, bool isTested = true);

/// Translates an op on floats; undefined for other ops. A GPU has its own functions.
::Halide::Expr translateFloat(Operation *op, ArrayRef<::Halide::Expr> in,
                              const ::Halide::Target &target);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_FLOATEXPRESSIONS_H
