//===- ElementChecks.h - checks of a tensor's elements ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ELEMENTCHECKS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ELEMENTCHECKS_H

#include "FunctionConverter.h"

namespace mlir::attn {

/// An element of a tensor, innermost coordinate first, and whether it is wrong.
struct CheckedElement {
  SmallVector<Scalar> coords;
  Scalar isWrong;
};
/// Computes the number of elements of `tensor` from the first wrong one on, in C order; 0 if none
/// of those that `check` gives for the points of `reductions` is wrong.
LogicalResult lowerFirstWrong(PipelineBuilder &p, Func tensor, ArrayRef<Reduction> reductions,
                              function_ref<CheckedElement(ArrayRef<Scalar>)> check);
/// The same of all elements of `tensor`.
LogicalResult
lowerFirstWrong(PipelineBuilder &p, Func tensor,
                function_ref<Scalar(ArrayRef<Scalar> coords, Scalar element)> isWrong);

/// An operand of `op` whose elements are checked; `name` is what it is called if it is no argument
/// with a name.
struct CheckedTensor {
  Operation *op;
  Value tensor;
  StringRef name;
};
/// Emits a check of the elements by a kernel of `kind` that `lower` builds with lowerFirstWrong. A
/// call's error is "expected element [1, 0] of NAME of OP " and `expected`.
LogicalResult requireElements(CheckedTensor checked, StringRef kind, const Twine &expected,
                              FunctionConverter::Lower lower, FunctionConverter &converter);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ELEMENTCHECKS_H
