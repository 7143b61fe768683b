//===- Cost.h - FLOPs and bytes of ops --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_COST_COST_H
#define ATTNC_COST_COST_H

#include "attnc/Cost/SymbolicCount.h"
#include "attnc/Dialect/Attn/Sizes.h"

namespace attnc {

/// The cost of one op.
struct Cost {
  /// Multiplications and additions of its matrix products, masked scores included.
  SymbolicCount flops;
  /// Bytes moved if operands are read once and results written once.
  SymbolicCount bytes;
  /// Bytes that a rank sends in each turn of a ring, in each round of an all-reduce, to each other
  /// rank of an all-gather, or to its neighbours.
  SymbolicCount sent;
};

/// Computes the cost of each op of a function on tensors, in the symbols of its arguments'
/// `attn.dims`. Computed sizes are sums of these, or `?1`, `?2`, …:
/// equal names are equal sizes.
class CostModel {
public:
  explicit CostModel(mlir::func::FuncOp function) : tracer(function) {}
  Cost get(mlir::Operation *op);
  /// `f32[batch, 8, len, 64]`
  std::string describe(mlir::Value tensor);
  /// `64`, `batch`, `(past_len + 1)`, or `?1`.
  std::string describeSize(mlir::Value tensor, int64_t dim);

private:
  SymbolicCount::Factor getSize(mlir::Value tensor, int64_t dim);
  llvm::SmallVector<SymbolicCount::Factor> getSizes(mlir::Value tensor);
  SymbolicCount countSent(mlir::Operation *op);
  llvm::SmallVector<SymbolicCount::Factor> getSizesRead(mlir::Operation *op, mlir::Value tensor);

  mlir::attn::SizeTracer tracer;
};

/// The FLOPs of all ops of a graph.
SymbolicCount countFlops(mlir::func::FuncOp function);

} // namespace attnc

#endif // ATTNC_COST_COST_H
