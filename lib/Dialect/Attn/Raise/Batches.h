//===- Batches.h - batch and heads of a product -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_RAISE_BATCHES_H
#define ATTNC_LIB_DIALECT_ATTN_RAISE_BATCHES_H

#include "Stage.h"

namespace mlir::attn {

/// The last two dimensions swapped.
Value swapLast(OpBuilder &builder, Location loc, Value tensor);

/// Whether no side of the product has heads that several of the other side share.
bool hasOwnHeads(MatmulOp op);

/// Whether one dimension in front of both sides is known on both or on neither: no reshape takes
/// apart one that only the call tells into heads that are known.
bool haveKnownFront(MatmulOp op);

/// The dimensions in front of a product's matrices, as batch and heads.
class Batches {
public:
  /// Of one dimension in front, `parts` are batch and heads; where there are none, an operand may
  /// show them, and else it is heads of one batch.
  Batches(RewriterBase &rewriter, MatmulOp op,
          std::optional<std::pair<OpFoldResult, OpFoldResult>> parts = {});

  /// Heads of keys and values may be shared by several of the query.
  enum Side { Queries, Keys };
  /// The type of a score or context that the product is.
  RankedTensorType getStageType() const;
  /// An operand with batch and heads in front of its matrices.
  Value raise(Value operand, Side side);
  /// Adds to a stage, or context, the moves that make it of the shape of the product.
  void addMoves(Stage &stage);

  /// Which dimensions of the product batch, heads, rows and columns are.
  SmallVector<ReassociationIndices> getGroups() const;

private:
  Value addUnits(Value operand);
  Value repeat(Value operand, Side side);

  RewriterBase &rewriter;
  MatmulOp op;
  /// The product's sizes in front: two or more.
  SmallVector<OpFoldResult> front;
  /// Several of the query's heads share one: the last dimension in front counts them.
  bool isGrouped;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_RAISE_BATCHES_H
