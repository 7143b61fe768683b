//===- ShardPlan.h - what is spread, and how keys are exchanged --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SHARDPLAN_H
#define ATTNC_LIB_DIALECT_ATTN_SHARDPLAN_H

#include "ShardCost.h"
#include "Spread.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

#include <array>

namespace mlir::attn {

/// An attn.attention, and which of its sizes are spread; null for one that is whole.
struct ShardedAttention {
  AttentionOp op;
  StringAttr rows, keys;
  /// If keys are spread: how they are exchanged, and what the cost model estimates.
  ShardStrategy strategy = ShardStrategy::chosen;
  SmallVector<Estimate> estimates = {};
  MaskAnalysis::Reach reach = {};

  std::array<StringAttr, 2> getSizes() const { return {rows, keys}; }
};

/// Finds the attention whose rows or keys are spread; fails at ops that can't be.
LogicalResult collectSharded(func::FuncOp function, Spread &spread, const Cluster &cluster,
                             SmallVectorImpl<ShardedAttention> &found);

/// The size that a tensor.dim gives, if it is spread; null for other ops and sizes.
StringAttr getSpreadSize(Operation *op, Spread &spread);

/// The coordinates q and k of a region.
SmallVector<Value> getQueryAndKey(Region &region);

/// The dimension along which a region's read of a tensor follows the keys; none if it does not.
std::optional<int64_t> findKeyDim(tensor::ExtractOp read, Spread &spread);

/// The tensors of keys, values, and what regions read of them, each with the keys' dimension.
llvm::MapVector<Value, int64_t> collectOfKeys(AttentionOp op, Spread &spread);

/// What explain prints of a choice.
ArrayAttr describeEstimates(const ShardedAttention &attention, Spread &spread,
                            const Cluster &cluster);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SHARDPLAN_H
