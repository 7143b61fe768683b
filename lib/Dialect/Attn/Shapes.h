//===- Shapes.h - sizes of tensors, compared --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the verifiers of the ops.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SHAPES_H
#define ATTNC_LIB_DIALECT_ATTN_SHAPES_H

#include "attnc/Dialect/Attn/AttnOpInterface.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

int64_t rankOf(Value tensor);
int64_t sizeOf(Value tensor, int64_t dim);
ArrayRef<int64_t> shapeOf(Value tensor);
bool bothStatic(int64_t a, int64_t b);

LogicalResult verifyElement(Operation *op, StringRef what, Value value, StringRef where,
                            Value reference);
/// Whether stored elements are widened to `element`: of fewer bits, and i8 or a float.
bool isNarrower(Type stored, Type element);
/// Checks that a row of `rows` has blocks of equal size, one for each of its scales.
LogicalResult verifyScaleBlocks(Operation *op, Value rows, Value scales);
LogicalResult verifyRank(Operation *op, StringRef what, Value value, int64_t expected);
/// A score's scale as kernels hold it: in f64 for f64 tensors, in f32 for all others.
double roundScale(double scale, Value tensor);
LogicalResult verifyScale(Operation *op, const APFloat &scale, Value query);
/// Checks the size constraints of an op whose operands have the right ranks.
LogicalResult verifySizes(AttnOpInterface op);
/// Compares the sizes of a result, called `what`, with the inferred ones, dim by dim. `names` are
/// the dims' names, if the rank is fixed.
LogicalResult verifyResult(AttnOpInterface op, Value result, StringRef what,
                           ArrayRef<StringRef> names);
LogicalResult verifyResult(AttnOpInterface op);
/// Lets `tensor.dim` of `tensor` ask what `sizes` name.
void replaceSizes(RewriterBase &rewriter, Value tensor, const ResultSizes &sizes);
/// Lets `tensor.dim` of `tensor`, but of its last dimension, ask `other`.
void replaceSizes(RewriterBase &rewriter, Value tensor, Value other);
/// Checks schedules of attention, or of a linear layer, against the op, and that every q_len or
/// number of rows is served by exactly one kernel.
LogicalResult verifySchedules(Operation *op, ArrayAttr schedules, bool isOfLinear);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SHAPES_H
