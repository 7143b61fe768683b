//===- Stage.h - stages of an attention and what moves them -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_RAISE_STAGE_H
#define ATTNC_LIB_DIALECT_ATTN_RAISE_STAGE_H

#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// A score or prob `[batch, num_q_heads, q_len, kv_len]`, and the reshapes and transposes
/// through which a graph reads it.
struct Stage {
  Value value;
  /// From the stage outwards.
  SmallVector<Operation *> moves = {};
  /// The float type in which the graph reads its elements; null if they are of this type.
  Type shownElement = {};

  /// The graph reads elements of this type.
  void setShownElement(Type element);
  /// Adds a move, or drops the last one if the move undoes it.
  void push(Operation *move);
  /// The indices, after the moves, of the stage's element at `indices`.
  SmallVector<Value> getIndices(Elements &elements, ArrayRef<Value> indices) const;
  /// The stage as the graph shows it, at the insertion point.
  Value show(RewriterBase &rewriter) const;
  /// The dimension that `dim` of the stage is moved to; none if it was split or collapsed.
  std::optional<int64_t> follow(int64_t dim) const;
};

/// For each elementwise op and move, the operand that leads back to an op of `isRoot` through other
/// such ops; of several the first one of the op's element type, else the first.
class Chains {
public:
  Chains(Block &block, function_ref<bool(Operation *)> isRoot);

  /// The operand by which `op` continues a chain; null if it is in none.
  OpOperand *getBefore(Operation *op) const;

private:
  llvm::DenseMap<Operation *, OpOperand *> reads;
};

/// The path from a stage to a value: the op that computes the stage, and its steps in order.
struct StagePath {
  Operation *root;
  SmallVector<Operation *> steps;
};
std::optional<StagePath> findPath(Value value, function_ref<bool(Operation *)> isRoot,
                                  const Chains &chains);

/// Replaces `op`, an elementwise op on the stage that `shown` reads, by an `OpTy` on the stage with
/// the op as its region, in the stage's element type. False if the region would be too long.
template <typename OpTy>
bool joinStage(RewriterBase &rewriter, Stage &stage, Operation *op, OpOperand *shown);

/// Whether `op` computes a score: a step, or a product.
bool isScoreSource(Operation *op);

/// Whether products in `narrow` beside a softmax in `wide` may be computed in `wide`, which rounds
/// less: f32 for f16 and bf16.
bool mayWiden(Type narrow, Type wide);
/// A scalar or tensor of floats in another float type, in which it need not be rounded.
Value inElements(OpBuilder &builder, Location loc, Value x, Type element);

/// Drops the casts around softmaxes of widened scores whose probs are rounded.
void narrowSoftmaxes(RewriterBase &rewriter, func::FuncOp function);
/// Raises a column concatenated to scores to a sink of their softmax.
void raiseSinks(RewriterBase &rewriter, func::FuncOp function);
/// Raises the products before softmaxes to scores, and the ops between to regions.
void raiseScores(RewriterBase &rewriter, func::FuncOp function);
/// Folds comparisons of a prob with infinity, which it never is: graphs that replace NaN by
/// nan_to_num have them.
void dropProbGuards(RewriterBase &rewriter, ModifyProbOp op);
/// Raises products of probs to contexts.
void raiseContexts(RewriterBase &rewriter, func::FuncOp function);
/// Raises exponentials divided by their sum to softmaxes.
void raiseSoftmaxes(RewriterBase &rewriter, func::FuncOp function);
/// Reads key and value heads in groups instead of repeating them.
void shareHeads(RewriterBase &rewriter, func::FuncOp function);
/// Raises the remaining products with a matrix to linear layers.
void raiseLinears(RewriterBase &rewriter, func::FuncOp function);
/// Raises transposed reshapes to split or merged heads, after bringing reshapes and transposes into
/// canonical order.
LogicalResult raiseHeads(func::FuncOp function);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_RAISE_STAGE_H
