//===- IndexOnlyTensors.h - tensors computed from indices ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_INDEXONLYTENSORS_H
#define ATTNC_LIB_DIALECT_ATTN_INDEXONLYTENSORS_H

#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::attn {

/// The ops of a block whose results depend on indices and scalars alone: a `tensor.generate` that
/// reads no tensors but these and constants of a few elements, and reshapes, transposes and slices
/// of one. Positions and masks are written so.
class IndexOnlyTensors : public RewriterBase::Listener {
public:
  explicit IndexOnlyTensors(Block &block);

  bool contains(Operation *op) const { return ops.contains(op); }
  /// Inlines these ops where the region of `op` reads their results.
  void inlineReads(RewriterBase &rewriter, Operation *op);
  /// Replaces one of these ops by a `tensor.generate`.
  Operation *generate(RewriterBase &rewriter, Operation *op);

  /// Fails, with a diagnostic at `function`, where more was to be inlined than is allowed.
  LogicalResult verifyBudget(Operation *function) const;

  void notifyOperationErased(Operation *op) override { ops.erase(op); }

private:
  Elements getElements(OpBuilder &b, Location loc);
  bool readsThese(Operation &scalar) const;

  llvm::DenseSet<Operation *> ops;
  /// How many ops may be inlined: a small model may read a long formula everywhere.
  static constexpr int64_t kMostInlined = 1 << 18;
  int64_t numInlined = 0;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_INDEXONLYTENSORS_H
