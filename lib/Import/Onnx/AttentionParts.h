//===- AttentionParts.h - parts of ONNX's attention ops ---------*- C++ -*-===//
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

/// The operands of an attention, each [batch, heads, length, size].
struct Heads {
  TensorRef query, key, value;

  /// The sizes of the score, [batch, heads, query length, key length].
  Sizes getScoreSizes() const;
};

/// Whether query, key and value fit together.
LogicalResult checkAttention(Node &node, const Heads &heads);
/// Whether `softmax_precision` is a type of floats.
LogicalResult checkPrecision(Node &node);
/// The softmax of a score, in f64 where `softmax_precision` asks for it. A sink [1, heads, 1]
/// enters the denominator.
Value makeProb(Node &node, Value score, Value sink = nullptr);
/// query·keyᵀ times the attribute `scale`, else 1 / sqrt(head size).
FailureOr<Value> makeScore(Node &node, const Heads &heads);
/// prob·value, [batch, heads, length, size].
TensorRef makeContext(Node &node, const Heads &heads, Value prob);

/// A condition on (batch, head, q, k).
using PlaceFn = std::function<Value(Body &, ArrayRef<Value>)>;

/// Changes of a score before its softmax, in this order; null members change nothing.
struct Changes {
  /// cap * tanh(score / cap)
  double softcap = 0;
  /// The score from (score, (batch, head, q, k)).
  std::function<Value(Body &, Value, ArrayRef<Value>)> modify;
  /// Whether a query sees a key.
  PlaceFn isVisible;
  /// Joins the softmax: [heads].
  TensorRef sink;
};

/// An attention from its score on, before and after each change.
struct Stages {
  Value score, capped, masked, prob;
  TensorRef context;
};
FailureOr<Stages> makeAttention(Node &node, const Heads &heads, const Changes &changes);

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
