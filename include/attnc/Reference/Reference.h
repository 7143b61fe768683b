//===- Reference.h - what a graph means, in plain loops ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates functions of attn ops, each op as its description says it: float64,
// no fusion, no Halide. Compiled kernels are held against it.
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

/// A tensor in C order; a scalar has rank 0.
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
  /// The straightforward computation: the result of every op, and of every op in a
  /// region, is rounded to its type; sums run in float32, long ones in halves as numpy and
  /// BLAS libraries have them. f64 is treated as f32: there is nothing more exact here to
  /// compare float64 with, but rounding errors measured at f32 scale.
  Plain,
  /// The same, but products are summed from the last to the first: where results hang on
  /// rounding, as with large scores, one order may be right by chance. What is less than
  /// f32's smallest normal number is 0: kernels need not keep it.
  PlainReversed,
  /// The same, but the products of each half are summed apart.
  PlainHalves,
  /// Plain, where the results of exp, log and the like are 2 ulp above or below: libraries differ
  /// by as much, and what rounds them to integers or compares them may take the other side.
  PlainAbove,
  PlainBelow,
};

/// Whether `function` rounds or compares floats that follow from exp, log and the like.
bool hasUnstableSteps(func::FuncOp function);

/// The nearest value of a float type, ties to even.
double roundTo(double value, FloatType type);

/// The results of `function` on `inputs`, one for every argument. Errors are
/// diagnostics: an op that is not known here, sizes that contradict, indices outside
/// of a tensor.
FailureOr<std::vector<Array>> evaluate(func::FuncOp function, ArrayRef<Array> inputs,
                                       Arithmetic arithmetic = Arithmetic::Exact);

} // namespace mlir::attn::reference

#endif // ATTNC_REFERENCE_REFERENCE_H
