//===- MmaLinear.h - linear layers on tensor cores --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_MMALINEAR_H
#define ATTNC_CONVERSION_ATTNTONVVM_MMALINEAR_H

#include "RegionInliner.h"
#include "SharedTile.h"

#include "attnc/Dialect/Attn/TensorCores.h"

namespace mlir::attn::nvvm {

/// The kernel of one schedule.
class MmaLinear {
public:
  MmaLinear(OpBuilder &builder, StringRef name, LinearOp op, ArrayRef<MapOp> epilogue,
            MmaLinearAttr schedule);
  BuiltKernel build();

private:
  void findPlace();
  void copySlice(Reg first, Reg stage);
  Regs buildSums();
  void addProducts(Regs &sums, Reg stage);

  // Results of a lane: pairs of adjacent features.
  void storeResults(ArrayRef<Reg> sums);
  void storePair(ArrayRef<Reg> place, ArrayRef<Reg> sums, ArrayRef<Reg> bias);
  Reg finish(Reg sum, ArrayRef<Reg> place);
  Reg readOperand(Value tensor, ArrayRef<Reg> place);
  Regs loadBias();
  Reg featureOf(int64_t tile) const;
  bool isWhole() const;

  KernelBuilder k;
  LinearOp op;
  ArrayRef<MapOp> epilogue;
  LinearTiles sizes;
  RankedTensorType resultType;
  Buffer input, weight;
  std::optional<Buffer> bias, result;
  SharedTile inputTile, weightTile;
  int64_t depthOfAll;
  Reg rows, features;
  /// The first row and feature of the block, those of the warp within it, and the lane.
  Reg firstRow, firstFeature, warpRow, warpFeature, lane;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_MMALINEAR_H
