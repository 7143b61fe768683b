//===- MathFunctions.h - elementary functions as expressions ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic that vectorises for functions that Halide turns into one libm call per lane, or
// evaluates less accurately than f32 allows.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_MATHFUNCTIONS_H
#define ATTNC_LIB_TARGET_HALIDE_MATHFUNCTIONS_H

#include "Halide.h"

#include <functional>

namespace mlir::halide {

/// Comparisons that are false for NaN, whatever Halide assumes elsewhere.
::Halide::Expr strictLess(::Halide::Expr a, ::Halide::Expr b);
::Halide::Expr strictLessEqual(::Halide::Expr a, ::Halide::Expr b);
::Halide::Expr strictEqual(::Halide::Expr a, ::Halide::Expr b);

/// |e| of an f32 or f64 as an unsigned integer. NaN and infinities are tested in the bits: sums
/// promise LLVM that there are none, so a comparison of such a sum with itself would be folded away.
::Halide::Expr magnitude(::Halide::Expr e);
::Halide::Expr magnitudeOfInfinity(::Halide::Type type);
::Halide::Expr isNaN(::Halide::Expr e);
::Halide::Expr isFinite(::Halide::Expr e);

/// `function` of `x`, with `x` in the expression once however often `function` reads it: otherwise
/// Halide takes time exponential in the depth of nested functions.
::Halide::Expr readOnce(::Halide::Expr x,
                        const std::function<::Halide::Expr(::Halide::Expr)> &function);

/// condition ? yes : no, as arithmetic on bits.
::Halide::Expr blend(::Halide::Expr condition, ::Halide::Expr yes, ::Halide::Expr no);

/// The same of integers: a select, but a blend if `condition` reads a func.
::Halide::Expr choose(::Halide::Expr condition, ::Halide::Expr yes, ::Halide::Expr no);

/// 2^x of an f32: NaN stays NaN, -inf and all below -125.5 give 0. The clamp
/// is omitted if x is promised to be at least -126 or below 129.
::Halide::Expr exp2F32(::Halide::Expr x, bool clampLow, bool clampHigh);

/// The same with a relative error of at most 2^-13, for x of at least -126 and below 128.
::Halide::Expr exp2BF16(::Halide::Expr x);

/// log(x) of an f32 that is 0 or a positive normal number.
::Halide::Expr boundedLogF32(::Halide::Expr x);

/// The f32 functions below take any argument, NaN and infinities included.
::Halide::Expr expF32(::Halide::Expr x);
::Halide::Expr expM1F32(::Halide::Expr x);
::Halide::Expr logF32(::Halide::Expr x);
::Halide::Expr log2F32(::Halide::Expr x);
::Halide::Expr log10F32(::Halide::Expr x);
::Halide::Expr log1pF32(::Halide::Expr x);
::Halide::Expr tanhF32(::Halide::Expr x);
::Halide::Expr erfF32(::Halide::Expr x);
/// x^y, as C's pow.
::Halide::Expr powF32(::Halide::Expr x, ::Halide::Expr y);

/// sin and cos of an f64 below 2^30, as accurate as f32.
::Halide::Expr shortSinF64(::Halide::Expr x);
::Halide::Expr shortCosF64(::Halide::Expr x);

/// sin and cos of an f32 below 1e5; NaN for others.
::Halide::Expr shortSinF32(::Halide::Expr x);
::Halide::Expr shortCosF32(::Halide::Expr x);

/// Sets the sign of `magnitude`, any float type.
::Halide::Expr copySign(::Halide::Expr magnitude, ::Halide::Expr sign);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_MATHFUNCTIONS_H
