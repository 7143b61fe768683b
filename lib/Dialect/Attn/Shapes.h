//===- Shapes.h - sizes of tensors, compared and computed -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the verifiers and size functions of the ops share.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SHAPES_H
#define ATTNC_LIB_DIALECT_ATTN_SHAPES_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace mlir::attn {

int64_t rankOf(Value tensor);
int64_t sizeOf(Value tensor, int64_t dim);
bool bothStatic(int64_t a, int64_t b);
/// The size of a dimension that two tensors share, from the one that knows it.
int64_t eitherSize(Value a, Value b, int64_t dim);

/// `what` names the size found, "key head_dim"; `where` the one it must equal.
LogicalResult verifySize(Operation *op, StringRef what, int64_t found, StringRef where,
                         int64_t expected);
LogicalResult verifyElement(Operation *op, StringRef what, Value value, StringRef where,
                            Value reference);
LogicalResult verifyRank(Operation *op, StringRef what, Value value, int64_t expected);
/// Compares the sizes of a result with what they follow from, dim by dim.
LogicalResult verifyShape(Operation *op, StringRef what, Value result, ArrayRef<StringRef> names,
                          ArrayRef<int64_t> expected);
/// The same for a result of any rank.
LogicalResult verifyResultShape(Operation *op, Value result, ArrayRef<int64_t> expected);
/// Puts the sizes of `input`, aligned at the last, into `sizes` as numpy broadcasts; the dimension
/// of `sizes` that contradicts it, if one does.
std::optional<int64_t> broadcastInto(SmallVectorImpl<int64_t> &sizes, ArrayRef<int64_t> input);

/// The size of a result's dimension, that of `source`; a static one of the result wins:
/// it may know more than the operand.
OpFoldResult resultSize(OpBuilder &builder, Location loc, Value result, int64_t dim, Value source,
                        int64_t sourceDim);
/// The sizes of `result`, each that of a dimension of a tensor.
SmallVector<OpFoldResult> resultSizes(OpBuilder &builder, Location loc, Value result,
                                      ArrayRef<std::pair<Value, int64_t>> sources);
LogicalResult reifyLike(OpBuilder &builder, Operation *op, Value source,
                        ReifiedRankedShapedTypeDims &shapes);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SHAPES_H
