//===- Views.cpp - ops that are views or copies ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// A view of the input, unless that was stored as heads.
static LogicalResult convertSplitHeads(SplitHeadsOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (host.hasBuffer(op.getResult()))
    return success();
  OpFoldResult heads = host.getMixedSize(op.getResult(), 1);
  host.requireProduct(op.getLoc(), op.getInput(), 2, {heads, host.getMixedSize(op.getResult(), 3)},
                      "expected num_heads of attn.split_heads to divide the width");
  host.setBuffer(op.getResult(),
                 host.viewAsHeads(host.getBuffer(op.getInput()), heads, op.getLayout()));
  return success();
}

/// No copy is needed if the heads were computed directly in the merged buffer.
static LogicalResult convertMergeHeads(MergeHeadsOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (host.hasBuffer(op.getResult()))
    return success();
  if (op.getInput().getType().getDimSize(1) == 0) { // nothing to copy
    (void)host.getDestination(op.getResult());
    return success();
  }
  Value merged = host.getDestination(op.getResult());
  OpFoldResult heads = host.getMixedSize(op.getInput(), 1);
  host.requireProduct(op.getLoc(), op.getResult(), 2, {heads, host.getMixedSize(op.getInput(), 3)},
                      "expected num_heads * head_dim of attn.merge_heads to match the width");
  return converter.copy(op.getLoc(), op.getInput(),
                        host.viewAsHeads(merged, heads, op.getLayout()));
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// A transpose that keeps rows is a view, in which its input may have been computed; others are
/// copied, as kernels need unit innermost strides.
static LogicalResult convertTranspose(TransposeOp op, FunctionConverter &converter) {
  if (converter.getHost().hasBuffer(op.getResult()))
    return success();
  if (!op.keepsRows())
    return converter.convertToPipeline(
        op, [&](PipelineBuilder &p) { return lowerTranspose(p, op, converter.getCpu()); });
  converter.getHost().viewTransposed(op);
  return success();
}

static LogicalResult convertCast(tensor::CastOp op, FunctionConverter &converter) {
  if (!converter.getHost().hasBuffer(op.getResult()))
    converter.getHost().viewCast(op);
  return success();
}

static LogicalResult convertExpandShape(tensor::ExpandShapeOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  host.viewExpanded(op);
  return success();
}

static LogicalResult convertCollapseShape(tensor::CollapseShapeOp op,
                                          FunctionConverter &converter) {
  if (converter.getHost().hasBuffer(op.getResult()))
    return success();
  FailureOr<Value> compact = converter.getCompact(op.getSrc());
  if (succeeded(compact))
    converter.getHost().viewCollapsed(op, *compact);
  return LogicalResult(compact);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Elements side by side are a view; kernels can't read others.
static LogicalResult convertExtractSlice(tensor::ExtractSliceOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (!op.hasUnitStride())
    return converter.convertToPipeline(
        op, [&](PipelineBuilder &p) { return lowerStridedSlice(p, op, converter.getCpu()); });
  host.viewSlice(op);
  return success();
}

static LogicalResult convertInsertSlice(tensor::InsertSliceOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (!op.hasUnitStride())
    return op.emitOpError("expected strides of 1, found others");
  auto empty = op.getDest().getDefiningOp<tensor::EmptyOp>();
  if (empty && empty->hasOneUse() && !host.hasBuffer(op.getResult()))
    host.setBuffer(op.getResult(), host.getBuffer(empty));
  Value all = host.getDestination(op.getResult());
  if (!empty && failed(converter.copy(op.getLoc(), op.getDest(), all)))
    return failure();
  return converter.copy(op.getLoc(), op.getSource(), host.viewPlace(op, all));
}

/// Each operand is copied to its slice of the result.
static LogicalResult convertConcat(tensor::ConcatOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  for (Value input : op.getInputs().drop_front())
    for (int64_t dim = 0; dim < op.getRank(); ++dim)
      if (dim != int64_t(op.getDim()))
        host.requireSame(op.getLoc(), op.getInputs().front(), dim, input, dim,
                         "expected operands of tensor.concat to match but along its dimension");
  Value all = host.getDestination(op.getResult());
  SmallVector<Value> views = host.viewOperands(op, all);
  for (auto [input, view] : llvm::zip_equal(op.getInputs(), views))
    if (view && failed(converter.copy(op.getLoc(), input, view)))
      return failure();
  return success();
}

static LogicalResult convertEmpty(tensor::EmptyOp op, FunctionConverter &converter) {
  converter.getHost().getDestination(op);
  return success();
}

/// Constants get buffers on demand.
static LogicalResult convertConstant(arith::ConstantOp, FunctionConverter &) { return success(); }

void attn::addViewLowerings(Lowerings &lowerings) {
  lowerings.addView(convertSplitHeads);
  lowerings.addView(convertMergeHeads);
  lowerings.addView(convertTranspose);
  lowerings.addView(convertCast);
  lowerings.addView(convertExpandShape);
  lowerings.addView(convertCollapseShape);
  lowerings.addView(convertExtractSlice);
  lowerings.addView(convertInsertSlice);
  lowerings.addView(convertConcat);
  lowerings.addView(convertEmpty);
  lowerings.addView(convertConstant);
}
