//===- StrictFloat.h - float ops that stay as written -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_STRICTFLOAT_H
#define ATTNC_LIB_TARGET_HALIDE_STRICTFLOAT_H

#include "Halide.h"

#include <functional>

namespace mlir::halide {

/// Halide's strict_float, in time linear in the expression: Halide's own visits a shared
/// subexpression once for each path to it, and copies it.
::Halide::Expr strictFloat(const ::Halide::Expr &e);

/// `function` of `x`, in which strictFloat leaves all as it is: multiplications and additions fuse.
/// It may promise LLVM that no NaN or infinity is met.
::Halide::Expr keepFast(::Halide::Expr x,
                        const std::function<::Halide::Expr(::Halide::Expr)> &function);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_STRICTFLOAT_H
