//===- ScoreFactors.h - constant factors of query and key -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SCOREFACTORS_H
#define ATTNC_LIB_DIALECT_ATTN_SCOREFACTORS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Moves constant factors of a score's query and key into its scale.
void absorbFactors(RewriterBase &rewriter, ScoreOp op);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SCOREFACTORS_H
