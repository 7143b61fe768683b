//===- Reference.h - float64 reference in plain loops -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates functions of attn ops, each op as its description defines it: float64, no fusion, no
// Halide. Compiled kernels are compared with it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_REFERENCE_REFERENCE_H
#define ATTNC_REFERENCE_REFERENCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace mlir::attn::reference {

/// One element; its type says which member holds it. Floats of every width are
/// `real`. Integers and index are `integer`, sign-extended; an i1 is 0 or 1.
union Scalar {
  double real;
  int64_t integer;
};

/// A tensor of the reference, in C order: each element is 64 bits wide whatever its type, so that
/// results keep more digits than the type has (Execution/Tensor.h has the bytes that kernels read).
/// A scalar has rank 0.
struct Array {
  Array() = default;
  /// All zero.
  Array(Type elementType, ArrayRef<int64_t> shape);

  int64_t getRank() const { return shape.size(); }
  int64_t size() const { return values.size(); }
  bool isFloat() const { return isa<FloatType>(elementType); }

  Type elementType;
  SmallVector<int64_t> shape;
  std::vector<Scalar> values;
};

enum class Arithmetic {
  /// Everything in float64, whatever the types say.
  Exact,
  /// The straightforward computation: the result of every op, and of every op in a region, is
  /// rounded to its type; sums run in float32, long ones pairwise as in numpy and BLAS. f64 is
  /// treated as f32: nothing here is more exact than float64 to compare it with, but rounding
  /// errors can be measured at f32 scale.
  Plain,
  /// The same with products summed in reverse order: if results depend on rounding, as with large
  /// scores, one order may be right by chance. Denormals of f32 are 0: kernels need not keep them.
  PlainReversed,
  /// The same with the products of each half summed separately.
  PlainHalves,
  /// The same with products summed one by one.
  PlainInOrder,
  /// The same with eight interleaved sums, added in pairs, as of the lanes of a vector.
  PlainLanes,
  /// Plain with results of exp, log and similar functions 2 ulp above or below, as libraries differ
  /// by that much: a rounding to integer or a comparison after them may go either way.
  PlainAbove,
  PlainBelow,
};

/// Whether `function` rounds or compares floats that follow from exp, log and the like.
bool hasUnstableSteps(func::FuncOp function);

/// The nearest value of a float type, ties to even.
double roundTo(double value, FloatType type);

/// The results of `function` on `inputs`, one for every argument. Errors are diagnostics: an
/// unsupported op, contradicting sizes, an index out of bounds.
FailureOr<std::vector<Array>> evaluate(func::FuncOp function, ArrayRef<Array> inputs,
                                       Arithmetic arithmetic = Arithmetic::Exact);

} // namespace mlir::attn::reference

#endif // ATTNC_REFERENCE_REFERENCE_H
