//===- Lowerings.h - one pipeline for each op -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function builds the algorithm and schedule of one op into an empty pipeline.
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

LogicalResult lowerScore(PipelineBuilder &p, ScoreOp op, const CpuInfo &cpu);
LogicalResult lowerAdditiveScore(PipelineBuilder &p, AdditiveScoreOp op, const CpuInfo &cpu);
LogicalResult lowerModifyScore(PipelineBuilder &p, ModifyScoreOp op, const CpuInfo &cpu);
LogicalResult lowerMask(PipelineBuilder &p, MaskOp op, const CpuInfo &cpu);
LogicalResult lowerSoftmax(PipelineBuilder &p, SoftmaxOp op, const CpuInfo &cpu);
LogicalResult lowerModifyProb(PipelineBuilder &p, ModifyProbOp op, const CpuInfo &cpu);
LogicalResult lowerContext(PipelineBuilder &p, ContextOp op, const CpuInfo &cpu);
LogicalResult lowerLse(PipelineBuilder &p, LseOp op, const CpuInfo &cpu);

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

LogicalResult lowerMatmul(PipelineBuilder &p, MatmulOp op, const CpuInfo &cpu);

LogicalResult lowerEmbedding(PipelineBuilder &p, EmbeddingOp op, const CpuInfo &cpu);
LogicalResult lowerAppendCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu);
/// The same where there are no rows.
LogicalResult lowerKeptCache(PipelineBuilder &p, AppendCacheOp op, const CpuInfo &cpu);
/// A tensor of one element: for how many elements of `tensor` the condition holds.
LogicalResult lowerCount(PipelineBuilder &p, Func tensor, function_ref<Scalar(Scalar)> condition);
/// The same of ids that are no row of the table.
LogicalResult lowerWrongIds(PipelineBuilder &p, EmbeddingOp op);
/// The same of lengths behind which the cache has no room for the rows.
LogicalResult lowerWrongLengths(PipelineBuilder &p, AppendCacheOp op);

LogicalResult lowerMap(PipelineBuilder &p, MapOp op, const CpuInfo &cpu);
LogicalResult lowerReduce(PipelineBuilder &p, ReduceOp op, const CpuInfo &cpu);
LogicalResult lowerTranspose(PipelineBuilder &p, TransposeOp op, const CpuInfo &cpu);
LogicalResult lowerLayerNorm(PipelineBuilder &p, LayerNormOp op, const CpuInfo &cpu);

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
