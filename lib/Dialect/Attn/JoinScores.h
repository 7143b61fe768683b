//===- JoinScores.h - sums of scores as one score ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_JOINSCORES_H
#define ATTNC_LIB_DIALECT_ATTN_JOINSCORES_H

#include "AttentionCore.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Lets a step that adds a score to another one be a step of that with more key heads, which values
/// have as well, or else more dims: the other one is kept in memory if they aren't joined.
void orderScores(ModifyScoreOp step);

/// Makes a score to which a step adds another one, q·k + r·p, the score of the concatenated dims:
/// [q, r]·[k, p]. Latent attention (MLA) is written so where latents and rotary keys have caches of
/// their own; values that are one of the keys become dims of the joined ones. Returns whether it
/// did.
bool joinScores(RewriterBase &rewriter, AttentionCore &core);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_JOINSCORES_H
