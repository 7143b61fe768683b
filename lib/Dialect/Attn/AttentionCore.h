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

/// score → (modify_score | mask)* → softmax → modify_prob* → context, where each
/// op alone reads the value of the one before, apart from its sizes and from an lse of the last
/// score.
struct AttentionCore {
  ScoreOp score;
  SmallVector<Operation *> scoreSteps;
  SoftmaxOp softmax;
  SmallVector<ModifyProbOp> probSteps;
  ContextOp context;
  /// Null where there is none, or one that is read before the context is.
  LseOp lse;

  /// The values that exist between the ops.
  SmallVector<Value> intermediates();
};

/// Why a softmax is no part of an attention core.
struct Refusal {
  std::string reason;
  /// The op to blame, described by `role`; none where it is the softmax itself.
  Operation *op = nullptr;
  StringRef role;
};

/// Whether it is the question for a size of a score or prob, which query and key can answer.
bool asksForSize(OpOperand &use);

/// The core around a softmax, or why there is none.
std::optional<AttentionCore> matchAttentionCore(SoftmaxOp softmax, Refusal &refusal);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_ATTENTIONCORE_H
