//===- Epilogues.h - maps that products are followed by ---------*- C++ -*-===//
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

/// The maps of a function that are computed where an attn.linear is. Found before anything is
/// converted: that adds uses of tensors, for their sizes.
class Epilogues {
public:
  explicit Epilogues(func::FuncOp function);

  ArrayRef<MapOp> getMaps(LinearOp op) const { return maps.find(op)->second; }
  /// The product that `op` is computed with; null where it is computed alone.
  LinearOp getLinear(MapOp op) const { return linears.lookup(op); }

private:
  llvm::DenseMap<LinearOp, SmallVector<MapOp>> maps;
  llvm::DenseMap<MapOp, LinearOp> linears;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_EPILOGUES_H
