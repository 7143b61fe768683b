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
/// through which a graph shows it.
struct Stage {
  Value value;
  /// From the stage outwards.
  SmallVector<Operation *> moves = {};

  /// Adds a move; two transposes that undo each other are none.
  void push(Operation *move);
  /// Where the stage's element at `indices` is.
  SmallVector<Value> getIndices(Elements &elements, ArrayRef<Value> indices) const;
  /// The stage as the graph shows it, behind `value`.
  Value show(RewriterBase &rewriter) const;
  /// Where dimension `dim` of the stage is, if it is still one.
  std::optional<int64_t> follow(int64_t dim) const;
};

/// The tensor that an elementwise op changes one by one: of its result's type, and first of those
/// that lead back to `isRoot` through moves and other such ops.
class Chains {
public:
  Chains(Block &block, function_ref<bool(Operation *)> isRoot);

  /// Where `op` reads what is before it; null where that is no part of a chain.
  OpOperand *getBefore(Operation *op) const;

private:
  llvm::DenseMap<Operation *, OpOperand *> reads;
};

/// What leads from a stage to a value: the op that gives the stage, and those behind it in order.
struct StagePath {
  Operation *root;
  SmallVector<Operation *> steps;
};
std::optional<StagePath> findPath(Value value, function_ref<bool(Operation *)> isRoot,
                                  const Chains &chains);

/// Makes `op`, which changes the elements of the stage that `shown` reads, the region of an `OpTy`
/// on it, and shows the result in its place. False where the region would be too long.
template <typename OpTy>
bool joinStage(RewriterBase &rewriter, Stage &stage, Operation *op, OpOperand *shown);

/// Whether a score comes from `op`: an earlier step of it, or a product.
bool isScoreSource(Operation *op);

/// Makes a column beside scores the sink of their softmax.
void raiseSinks(RewriterBase &rewriter, func::FuncOp function);
/// Makes the products that softmaxes take scores, and all in between their regions.
void raiseScores(RewriterBase &rewriter, func::FuncOp function);
/// No prob is infinite: what a step of one does where it is goes. Graphs ask that want to replace
/// NaN alone.
void dropProbGuards(RewriterBase &rewriter, ModifyProbOp op);
/// Makes the products of probs contexts.
void raiseContexts(RewriterBase &rewriter, func::FuncOp function);
/// Makes exponentials divided by their sum softmaxes.
void raiseSoftmaxes(RewriterBase &rewriter, func::FuncOp function);
/// Lets scores and contexts share heads that are repeated for them.
void shareHeads(RewriterBase &rewriter, func::FuncOp function);
/// Makes the products with a matrix that are left linear layers.
void raiseLinears(RewriterBase &rewriter, func::FuncOp function);
/// Makes transposed reshapes split or merged heads, and brings reshapes and transposes into an
/// order that shows them.
LogicalResult raiseHeads(func::FuncOp function);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_RAISE_STAGE_H
