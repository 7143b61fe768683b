//===- Epilogues.h - maps fused into linear layers --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_EPILOGUES_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_EPILOGUES_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::attn {

/// The maps, or the attn.split_heads, fused into the kernel of an attn.linear. Found before the
/// conversion, which adds uses of tensors for their sizes.
class Epilogues {
public:
  explicit Epilogues(func::FuncOp function);

  ArrayRef<MapOp> getMaps(LinearOp op) const { return maps.find(op)->second; }
  /// The attn.split_heads whose result the kernel stores in place of that of `op`, which has no
  /// maps then; null if none.
  SplitHeadsOp getHeads(LinearOp op) const { return heads.lookup(op); }
  /// The attn.linear that `op` is fused into; null if `op` has its own kernel.
  LinearOp getLinear(MapOp op) const { return linears.lookup(op); }

private:
  llvm::DenseMap<LinearOp, SmallVector<MapOp>> maps;
  llvm::DenseMap<LinearOp, SplitHeadsOp> heads;
  llvm::DenseMap<MapOp, LinearOp> linears;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_EPILOGUES_H
