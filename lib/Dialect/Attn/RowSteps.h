//===- RowSteps.h - ops on unpacked rows, on packed ones --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_ROWSTEPS_H
#define ATTNC_LIB_DIALECT_ATTN_ROWSTEPS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Rows `[batch, num_heads, total, head_dim]` that are unpacked and then changed one by one: rotary
/// embeddings, norms, maps, quantisation.
class RowSteps {
public:
  /// None if `tensor` is nothing of the kind.
  static std::optional<RowSteps> find(Value tensor);

  Value getOffsets() { return unpack.getOffsets(); }
  bool areNone() const { return steps.empty(); }
  /// Whether steps depend on where in its sequence a row stands.
  bool dependOnPosition() const;
  /// The packed rows `[total, num_heads, …]` with the steps applied, at the insertion point.
  Value applyToPacked(RewriterBase &rewriter);
  /// Lets questions for sizes of the unpacked rows ask packed ones.
  void replaceSizes(RewriterBase &rewriter);
  /// What unpacks the rows, and the steps.
  SmallVector<Operation *> getOps();

private:
  Value apply(RewriterBase &rewriter, PositionsOp op, Value rows);
  Value getPositions(RewriterBase &rewriter, PositionsOp op, Value rows);

  /// The operand that has the rows, and the result.
  struct Step {
    OpOperand *rows;
    OpResult result;
  };

  UnpackRowsOp unpack;
  SmallVector<Step> steps;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_ROWSTEPS_H
