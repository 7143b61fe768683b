//===- AttentionSchedules.cpp - the kernels that schedules describe -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"
#include "Pages.h"

#include "attnc/Conversion/AttnToHalide.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A kernel that is a halide.pipeline.
template <typename ScheduleAttr,
          LogicalResult (*lower)(PipelineBuilder &, AttentionOp, ScheduleAttr)>
struct PipelineOf
    : KernelBuilderAttrInterface::ExternalModel<PipelineOf<ScheduleAttr, lower>, ScheduleAttr> {
  FailureOr<BuiltKernel> buildKernel(Attribute schedule, OpBuilder &builder, StringRef name,
                                     Operation *op, ArrayRef<MapOp>) const {
    PipelineBuilder p(builder, op->getLoc(), name);
    if (failed(lower(p, cast<AttentionOp>(op), cast<ScheduleAttr>(schedule))))
      return failure();
    return p.getKernel();
  }
};
} // namespace

void attn::registerHalideKernelBuilders(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    PrefillAttr::attachInterface<PipelineOf<PrefillAttr, lowerPrefillAttention>>(*context);
    DecodeAttr::attachInterface<PipelineOf<DecodeAttr, lowerDecodeAttention>>(*context);
    GpuAttr::attachInterface<PipelineOf<GpuAttr, lowerGpuAttention>>(*context);
  });
}

FailureOr<BuiltKernel> attn::buildScheduled(OpBuilder &builder, StringRef name, Operation *op,
                                            ArrayRef<MapOp> epilogue, Attribute schedule) {
  auto kernelBuilder = dyn_cast<KernelBuilderAttrInterface>(schedule);
  if (!kernelBuilder)
    return op->emitOpError("expected a schedule that this build of attnc has kernels for, found ")
           << schedule;
  FailureOr<BuiltKernel> built = kernelBuilder.buildKernel(builder, name, op, epilogue);
  if (succeeded(built))
    built->kernel->setAttr(kScheduleAttr, schedule);
  return built;
}

Products attn::getProductsOn(const CpuInfo &cpu, Products products, int64_t depth) {
  bool isMatrix = depth > 2;
  return products == Products::bf16_tiles && !(cpu.hasTileCode && isMatrix) ? Products::bf16_pairs
                                                                            : products;
}

static Attribute getScheduleOn(const CpuInfo &cpu, AttentionOp op, Attribute schedule) {
  auto s = dyn_cast<PrefillAttr>(schedule);
  if (!s)
    return schedule;
  Products products = getProductsOn(cpu, s.getProducts(), op.getQuery().getType().getDimSize(3));
  return PrefillAttr::get(s.getContext(), s.getQBlock(), s.getKvBlock(), s.getVectorWidth(),
                          s.getScoreVectors(), s.getScoreKeys(), s.getContextRows(),
                          s.getContextVectors(), products, s.getFetchAhead(), s.getFetchLocality(),
                          s.getCopyKvBlocks(), s.getPackedHeads(), s.getKvSplits(),
                          s.getMinSplitKeys(), s.getMaxQLen());
}

/// A temporary for a partial result, whose sizes after the splits are the query's, but for the
/// batch of packed rows, which is the number of offsets.
static Value allocatePartial(AttentionOp op, RankedTensorType type, HostFunction &host) {
  SmallVector<Value> sizes, hostSizes;
  OpBuilder builder(op);
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim)) {
      Value like = dim == 1 && op.getOffsets() ? op.getOffsets() : op.getQuery();
      sizes.push_back(tensor::DimOp::create(builder, op.getLoc(), like, dim - 1));
      hostSizes.push_back(cast<Value>(host.getMixedSize(like, dim - 1)));
    }
  Value tensor =
      tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(), type.getElementType(), sizes);
  host.setBuffer(tensor,
                 host.allocate(MemRefType::get(type.getShape(), type.getElementType()), hostSizes));
  return tensor;
}

/// Calls the kernel of a schedule, and the one that merges its partial results if it has any.
static LogicalResult callKernels(AttentionOp op, Attribute schedule, ArrayRef<Value> destinations,
                                 FunctionConverter &converter, function_ref<Value()> condition) {
  HostFunction &host = converter.getHost();
  schedule = getScheduleOn(converter.getCpu(), op, schedule);
  SmallVector<Value> partials;
  auto kernelBuilder = dyn_cast<KernelBuilderAttrInterface>(schedule);
  if (kernelBuilder)
    for (RankedTensorType type : kernelBuilder.getPartialTypes(op))
      partials.push_back(allocatePartial(op, type, host));
  auto build = [&](OpBuilder &builder, StringRef name) {
    return buildScheduled(builder, name, op, /*epilogue=*/{}, schedule);
  };
  if (partials.empty())
    return converter.callKernel(destinations, op.getLoc(), "attention", build, condition);
  auto buffers =
      llvm::map_to_vector(partials, [&](Value tensor) { return host.getBuffer(tensor); });
  auto merge = [&](OpBuilder &builder, StringRef name) {
    return kernelBuilder.buildMerge(builder, name, op, partials);
  };
  return failure(
      failed(converter.callKernel(buffers, op.getLoc(), "attention", build, condition)) ||
      failed(converter.callKernel(destinations, op.getLoc(), "merge", merge, condition)));
}

/// A buffer of how many packed sequences each schedule's kernel serves; null on a GPU, where
/// kernels without rows take less than reading it does.
static FailureOr<Value> countServed(AttentionOp op, FunctionConverter &converter) {
  if (converter.isOnGpu())
    return Value();
  SmallVector<ServedLengths> kernels;
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>())
    kernels.push_back({kernels.empty() ? -1 : kernels.back().limit, schedule.getMaxQLen()});
  auto i32 = IntegerType::get(op.getContext(), 32);
  Value served = converter.getHost().allocate(MemRefType::get({int64_t(kernels.size())}, i32));
  auto lower = [&](PipelineBuilder &p) { return lowerCountServed(p, op.getOffsets(), kernels); };
  if (failed(converter.callOn(served, op.getLoc(), "served_sequences", lower)))
    return failure();
  return served;
}

/// One kernel for each schedule; a call runs the first that serves its q_len, and of packed rows,
/// each that serves a sequence; but the first one clears an lse (AttentionLse.cpp) in every call.
static LogicalResult convertAttention(AttentionOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return op.emitOpError("expected no schedule, as ") << obstacle;
  if (failed(requireOffsets(op, converter)))
    return failure();
  if (op.getPages() && failed(requirePages(op, getPagedTensors(op), /*keyDim=*/2, converter)))
    return failure();
  SmallVector<Value> destinations = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return host.getDestination(result); });
  FailureOr<Value> served = Value();
  if (op.getOffsets() && op.getSchedule()->size() > 1)
    served = countServed(op, converter);
  if (failed(served))
    return failure();
  int64_t above = -1, number = 0;
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>()) {
    int64_t limit = schedule.getMaxQLen();
    auto isServed = [&] {
      Value hasRows = host.isWithin(op.getQuery(), {2}, above, op.getOffsets() ? 0 : limit);
      return *served ? host.areBoth(hasRows, host.isAboveZero(op.getLoc(), *served, number))
                     : hasRows;
    };
    bool isAlwaysCalled =
        op.getSchedule()->size() == 1 || (number == 0 && op.getOffsets() && op.getLse());
    if (failed(callKernels(op, schedule, destinations, converter,
                           isAlwaysCalled ? function_ref<Value()>() : isServed)))
      return failure();
    above = limit;
    ++number;
  }
  return success();
}

void attn::addAttentionLowerings(Lowerings &lowerings) { lowerings.addComputed(convertAttention); }
