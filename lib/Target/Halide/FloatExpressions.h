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

/// f16 and bf16 as f32, which they are computed in; others as they are.
::Halide::Expr widenHalf(::Halide::Expr e);
/// f32 or f64 as `type`. Halide's own conversions make infinities or zeros of some NaN.
::Halide::Expr narrow(::Halide::Type type, ::Halide::Expr e);

/// An op on floats; undefined where it is another.
::Halide::Expr translateFloat(Operation *op, ArrayRef<::Halide::Expr> in);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_FLOATEXPRESSIONS_H
