//===- Lowerings.h - lowerings of the attn ops ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each `lower` function builds the algorithm and schedule of one op into an empty pipeline. This
// header declares those that other files call. Coordinates are innermost first: a score is read (k,
// q, head, batch).
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

/// Each registers the lowerings of one file.
void addAppendPagesLowerings(Lowerings &lowerings);
void addAttentionLowerings(Lowerings &lowerings);
void addCacheLowerings(Lowerings &lowerings);
void addEmbeddingLowerings(Lowerings &lowerings);
void addExchangeLowerings(Lowerings &lowerings);
void addGenerateLowerings(Lowerings &lowerings);
void addLinearLowerings(Lowerings &lowerings);
void addMatmulLowerings(Lowerings &lowerings);
void addMergeLowerings(Lowerings &lowerings);
void addPackedRowLowerings(Lowerings &lowerings);
void addPageLowerings(Lowerings &lowerings);
void addRowLowerings(Lowerings &lowerings);
void addScoreLowerings(Lowerings &lowerings);
void addViewLowerings(Lowerings &lowerings);
constexpr void (*kAddLowerings[])(Lowerings &) = {
    addAppendPagesLowerings, addAttentionLowerings, addCacheLowerings,  addEmbeddingLowerings,
    addExchangeLowerings,    addGenerateLowerings,  addLinearLowerings, addMatmulLowerings,
    addMergeLowerings,       addPackedRowLowerings, addPageLowerings,   addRowLowerings,
    addScoreLowerings,       addViewLowerings};

/// The products of a kernel for `cpu`: pairs in place of tiles that it has no code for, and of a
/// sum of a single pair, which is no matrix product. `depth` is the length of the sum.
Products getProductsOn(const CpuInfo &cpu, Products products, int64_t depth);

/// A kernel of attn.linear: its schedule; the dimension of the tile's rows, counted from the last:
/// 1, or 2 where dimension 1 is short; and how many of those rows other kernels serve.
struct LinearKernel {
  LinearAttr schedule;
  int64_t rowDim, above;
};
/// The epilogue of `op`: maps in order, each the only use of the previous result and elementwise.
SmallVector<MapOp> getEpilogue(LinearOp op);
/// Lowers `op` and its epilogue, or `op` and the `heads` that alone read it, if not null. `panels`
/// are the weights packed by `packPanels`; null if they aren't constant.
LogicalResult lowerLinear(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                          SplitHeadsOp heads, Value panels, LinearKernel kernel);
/// Applies the maps to `value`, the element of the product at `coords`.
FailureOr<Scalar> inlineEpilogue(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                                 Scalar value, ArrayRef<Scalar> coords);
/// `lowerLinear` of floats, in tiles of GPU blocks, where `hasGpuTiles`: a grid has three
/// dimensions.
bool hasGpuTiles(LinearOp op);
LogicalResult lowerLinearOnGpu(PipelineBuilder &p, LinearOp op, ArrayRef<MapOp> epilogue,
                               Value panels);

LogicalResult lowerMap(PipelineBuilder &p, MapOp op, const CpuInfo &cpu);
LogicalResult lowerTranspose(PipelineBuilder &p, TransposeOp op, const CpuInfo &cpu);

/// Whether `op` is an elementwise `arith` or `math` op on tensors of one shape.
bool isElementwise(Operation *op);
LogicalResult lowerElementwise(PipelineBuilder &p, Operation *op, const CpuInfo &cpu);

LogicalResult lowerGenerate(PipelineBuilder &p, tensor::GenerateOp op, const CpuInfo &cpu);
/// A strided slice from offset 0.
LogicalResult lowerStridedSlice(PipelineBuilder &p, tensor::ExtractSliceOp op, const CpuInfo &cpu);

/// Copies `tensor` as it is.
LogicalResult lowerCopy(PipelineBuilder &p, Value tensor, const CpuInfo &cpu);

/// Builds the kernel of `op` and of the maps that follow it, through the interface that the
/// schedule's conversion attached.
FailureOr<BuiltKernel> buildScheduled(OpBuilder &builder, StringRef name, Operation *op,
                                      ArrayRef<MapOp> epilogue, Attribute schedule);
/// Builds the fused kernel of `schedule`, one of the op's.
LogicalResult lowerPrefillAttention(PipelineBuilder &p, AttentionOp op, PrefillAttr schedule);
LogicalResult lowerDecodeAttention(PipelineBuilder &p, AttentionOp op, DecodeAttr schedule);
LogicalResult lowerGpuAttention(PipelineBuilder &p, AttentionOp op, GpuAttr schedule);

/// The accumulator type: f64 for f64, else f32.
inline Type accumulatorType(Type elementType) {
  return elementType.isF64() ? elementType : Type(Float32Type::get(elementType.getContext()));
}

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_LOWERINGS_H
