//===- AttentionCore.h - finding attention in a graph -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_ATTENTIONCORE_H
#define ATTNC_LIB_DIALECT_ATTN_ATTENTIONCORE_H

#include "attnc/Dialect/Attn/Attn.h"

#include <optional>
#include <string>

namespace mlir::attn {

/// score → (modify_score | mask)* → softmax → modify_prob* → context, where each value is read only
/// by the next op, apart from queries of its sizes and an lse of the last score.
struct AttentionCore {
  ScoreOp score;
  SmallVector<Operation *> scoreSteps;
  SoftmaxOp softmax;
  SmallVector<ModifyProbOp> probSteps;
  ContextOp context;
  /// Null if there is none that can be computed with the context.
  LseOp lse;
  /// Ops before the context that depend on the lse, in order.
  SmallVector<Operation *> lseReaders;

  /// The intermediate values.
  SmallVector<Value> intermediates();
};

/// Why a softmax does not fuse.
struct Refusal {
  std::string reason;
  /// The op that prevents fusion, named after `role`; null if it is the softmax.
  Operation *op = nullptr;
  StringRef role;
};

/// Whether a use is a `tensor.dim` of a score or prob, which query and key can answer.
bool asksForSize(OpOperand &use);

/// The core around a softmax, or why there is none.
std::optional<AttentionCore> matchAttentionCore(SoftmaxOp softmax, Refusal &refusal);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_ATTENTIONCORE_H
