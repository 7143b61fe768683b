//===- Lowerings.h - one pipeline for each op -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each `lower` function builds the algorithm and schedule of one op into an empty pipeline. Here
// stand those that other files call.
// Coordinates are innermost first: a score is read (k, q, head, batch).
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_LOWERINGS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_LOWERINGS_H

#include "PipelineBuilder.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Machine/CpuInfo.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {

class Lowerings;

/// Each adds the lowerings of the ops of one file.
void addAttentionLowerings(Lowerings &lowerings);
void addCacheLowerings(Lowerings &lowerings);
void addEmbeddingLowerings(Lowerings &lowerings);
void addGenerateLowerings(Lowerings &lowerings);
void addLinearLowerings(Lowerings &lowerings);
void addMatmulLowerings(Lowerings &lowerings);
void addRowLowerings(Lowerings &lowerings);
void addScoreLowerings(Lowerings &lowerings);
void addViewLowerings(Lowerings &lowerings);
constexpr void (*kAddLowerings[])(Lowerings &) = {
    addAttentionLowerings, addCacheLowerings,  addEmbeddingLowerings,
    addGenerateLowerings,  addLinearLowerings, addMatmulLowerings,
    addRowLowerings,       addScoreLowerings,  addViewLowerings};

/// A kernel of attn.linear: the rows of its register tile, and the most rows of an input
/// that it is for; 0 is no limit.
struct LinearKernel {
  int64_t tileRows, maxRows;
};
/// The features of a panel of packed weights.
int64_t getPanelColumns(LinearOp op, const CpuInfo &cpu);
/// The maps that are computed where `op`'s result is, in order: each is the only use of what
/// comes before it, and changes neither its shape nor its place.
SmallVector<MapOp> getEpilogue(LinearOp op);
/// `op` and its epilogue. `panels` are the weights as `packPanels` gives them; null where they
/// aren't constant.
LogicalResult lowerLinear(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue, Value panels,
                          LinearKernel kernel, const CpuInfo &cpu);
/// What the maps make of `value`, the element of the product at `coords`.
FailureOr<Scalar> inlineEpilogue(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                                 Scalar value, ArrayRef<Scalar> coords);
/// The same in tiles of a GPU's blocks, for those that `hasGpuTiles`: a grid has three dimensions.
bool hasGpuTiles(LinearOp op);
LogicalResult lowerLinearOnGpu(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                               Value panels);

/// A tensor of one element: for how many elements of `tensor` the condition holds.
LogicalResult lowerCount(PipelineBuilder &p, Func tensor, function_ref<Scalar(Scalar)> condition);

LogicalResult lowerMap(PipelineBuilder &p, MapOp op, const CpuInfo &cpu);
LogicalResult lowerTranspose(PipelineBuilder &p, TransposeOp op, const CpuInfo &cpu);

/// Whether `op` is one of `arith` or `math` on tensors alone, which are of one shape.
bool isElementwise(Operation *op);
LogicalResult lowerElementwise(PipelineBuilder &p, Operation *op, const CpuInfo &cpu);

LogicalResult lowerGenerate(PipelineBuilder &p, tensor::GenerateOp op, const CpuInfo &cpu);
/// A slice from offset 0 on of every so many elements.
LogicalResult lowerStridedSlice(PipelineBuilder &p, tensor::ExtractSliceOp op, const CpuInfo &cpu);

/// Copies `tensor` as it is.
LogicalResult lowerCopy(PipelineBuilder &p, Value tensor, const CpuInfo &cpu);

/// The fused kernel that `schedule`, one of the op's, describes.
LogicalResult lowerPrefillAttention(PipelineBuilder &p, AttentionOp op, PrefillAttr schedule);
LogicalResult lowerDecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr schedule);
LogicalResult lowerGpuAttention(PipelineBuilder &p, AttentionOp op, GpuAttr schedule);

/// The type sums are kept in: f64 for f64, f32 for everything else.
inline Type accumulatorType(Type elementType) {
  return elementType.isF64() ? elementType : Type(Float32Type::get(elementType.getContext()));
}

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_LOWERINGS_H
