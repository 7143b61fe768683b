//===- FusedAttention.h - what ONNX Runtime's attention ops share -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_FUSEDATTENTION_H
#define ATTNC_LIB_IMPORT_ONNX_FUSEDATTENTION_H

#include "AttentionParts.h"

namespace mlir::attn::imports::fused {

using PlaceFn = std::function<Value(Body &, ArrayRef<Value>)>;

/// One attention, each operand [batch, heads, length, size].
struct Heads {
  TensorRef query, key, value;
};

/// Changes of a score before its softmax; null members change nothing.
struct Changes {
  double softcap = 0;
  /// Floats of a shape that broadcasts to the score's.
  TensorRef bias;
  /// Adds `filter` to the scores at (batch, head, q, k) where this does not hold.
  PlaceFn isKept;
  double filter = 0;
  /// Which keys a query sees.
  PlaceFn isVisible;
  /// [heads]
  TensorRef sink;
};

/// Refuses an attribute with an unsupported value.
LogicalResult expectInt(Node &node, StringRef name, int64_t wanted = 0);
LogicalResult expectNone(Node &node, int index, StringRef name);
FailureOr<int64_t> getHeads(Node &node, StringRef name);
LogicalResult checkRank(Node &node, const TensorRef &tensor, int64_t rank, StringRef what);

/// `count` columns from `offset` on of [batch, length, columns], as heads.
FailureOr<TensorRef> takeHeads(Node &node, const TensorRef &rows, int64_t offset, int64_t count,
                               int64_t heads);
/// Splits the columns of `rows` into the heads of query, key and value.
FailureOr<Heads> takeAll(Node &node, const TensorRef &rows, int64_t queryHeads, int64_t keyHeads,
                         ArrayRef<int64_t> widths);
LogicalResult checkSizes(Node &node, const TensorRef &tensor, ArrayRef<OpFoldResult> sizes,
                         StringRef what, bool broadcasts = false);
Value readIndex(Body &at, const TensorRef &tensor, ArrayRef<Value> place);
Value compare(Body &at, arith::CmpIPredicate predicate, Value a, Value b);

/// Sets the first output, [batch, length, heads * size], and the changed score where it is one.
LogicalResult makeAttention(Node &node, const Heads &heads, const Changes &changes,
                            int scoreOutput = -1);

/// Splits [batch, length, width] into heads, after adding the bias from `offset` on.
FailureOr<TensorRef> splitHeads(Node &node, TensorRef rows, int64_t heads, const TensorRef &bias,
                                int64_t &offset);

} // namespace mlir::attn::imports::fused

#endif // ATTNC_LIB_IMPORT_ONNX_FUSEDATTENTION_H
