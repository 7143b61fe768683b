//===- Float8.h - f8E4M3FN as expressions -----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide has no floats of 8 bits: their elements are integers of 8 bits, which casts alone convert.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_FLOAT8_H
#define ATTNC_LIB_TARGET_HALIDE_FLOAT8_H

#include "Halide.h"

#include "mlir/IR/Operation.h"

namespace mlir::halide {

bool isFloat8(Type type);
/// Whether `op` computes with elements of 8 bits, which it must not.
bool computesFloat8(Operation *op);

/// The f32 that bits stand for.
::Halide::Expr widenFloat8(::Halide::Expr bits);
/// The bits of an f32, rounded to even; those of NaN from 464 on.
::Halide::Expr narrowToFloat8(::Halide::Expr e);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_FLOAT8_H
