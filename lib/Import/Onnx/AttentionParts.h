//===- AttentionParts.h - what ONNX's attention ops share -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_ATTENTIONPARTS_H
#define ATTNC_LIB_IMPORT_ONNX_ATTENTIONPARTS_H

#include "Importer.h"

namespace mlir::attn::imports {

/// The most heads of an attention.
constexpr int64_t kMostHeads = 1 << 20;

/// Whether query, key and value, each [batch, heads, length, size], fit together.
LogicalResult checkAttention(Node &node, const TensorRef &query, const TensorRef &key,
                             const TensorRef &value);
/// Whether `softmax_precision` is a type of floats.
LogicalResult checkPrecision(Node &node);
/// The softmax of a score, in f64 where `softmax_precision` asks for it. A sink [1, heads, 1]
/// enters the denominator.
Value makeProb(Node &node, Value score, Value sink = nullptr);
/// query·keyᵀ times the attribute `scale`, else 1 / sqrt(head size); tells its sizes.
FailureOr<Value> makeScore(Node &node, const TensorRef &query, const TensorRef &key,
                           SmallVectorImpl<OpFoldResult> &sizes);
/// cap * tanh(score / cap); the score itself for a cap of 0.
Value makeSoftcap(Body &body, Value score, double cap);
/// `attn.mask` of a score with the condition `isVisible` on (batch, head, q, k).
Value makeMask(Body &body, Value score, function_ref<Value(Body &, ArrayRef<Value>)> isVisible);
/// prob·value, [batch, heads, length, size].
TensorRef makeContext(Node &node, const TensorRef &query, Value prob, const TensorRef &value);

/// Keys or values behind those of the past, [batch, heads, length, size].
FailureOr<TensorRef> makeConcat(Node &node, const TensorRef &past, const TensorRef &tensor);
/// Appends keys and values to those of the past, if there is one; returns the past length.
FailureOr<OpFoldResult> appendPast(Node &node, const TensorRef &pastKey, const TensorRef &pastValue,
                                   TensorRef &key, TensorRef &value);
/// Refuses a past key without a past value, and the reverse.
LogicalResult checkPast(Node &node, const TensorRef &key, const TensorRef &value);

/// The conjunction of a mask's conditions.
struct Conditions {
  Body &at;
  /// Null if there is none.
  Value all = nullptr;

  void require(Value condition);
  /// position - left <= k <= position + right; a bound of -1 is none.
  void requireWindow(Value position, Value k, int64_t left, int64_t right);
};

/// [batch, length, heads * size] as [batch, heads, length, size], and back.
TensorRef makeHeads(Body &body, const TensorRef &tensor, int64_t heads);
TensorRef makeMergedHeads(Body &body, const TensorRef &tensor);

LogicalResult importFlexAttention(Node &node);
LogicalResult importFusedAttention(Node &node);
LogicalResult importFusedRotaryEmbedding(Node &node);
LogicalResult importGroupQueryAttention(Node &node);
LogicalResult importMultiHeadAttention(Node &node);
LogicalResult importRotaryEmbedding(Node &node);
LogicalResult importTensorScatter(Node &node);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_ATTENTIONPARTS_H
