//===- Expressions.h - scalar ops as Halide expressions ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Target/Halide: no other code sees Halide types.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_EXPRESSIONS_H
#define ATTNC_LIB_TARGET_HALIDE_EXPRESSIONS_H

#include "Halide.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::halide {

/// Halide's type for a scalar type; signless integers are signed, i1 is bool.
std::optional<::Halide::Type> getHalideType(Type type);

/// The result of an `arith`, `math` or expression op of the dialect on `in`; undefined if Halide
/// can't express the op. `nowrap` promises that integer arithmetic does not overflow, which lets
/// Halide reason about bounds.
::Halide::Expr translateScalarOp(Operation *op, ArrayRef<::Halide::Expr> in, bool nowrap,
                                 const ::Halide::Target &target);

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_EXPRESSIONS_H
