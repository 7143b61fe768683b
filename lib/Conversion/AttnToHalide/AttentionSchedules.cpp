//===- AttentionSchedules.cpp - the kernels that schedules describe -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pages.h"

#include "attnc/Conversion/AttnToHalide.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A kernel that is a halide.pipeline.
template <typename ScheduleAttr,
          LogicalResult (*lower)(PipelineBuilder &, AttentionOp, ScheduleAttr)>
struct PipelineOf
    : KernelBuilderAttrInterface::ExternalModel<PipelineOf<ScheduleAttr, lower>, ScheduleAttr> {
  FailureOr<BuiltKernel> buildKernel(Attribute schedule, OpBuilder &builder, StringRef name,
                                     Operation *op) const {
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

/// Builds the kernel through the interface that the schedule's conversion attached.
static FailureOr<BuiltKernel> buildKernel(OpBuilder &builder, StringRef name, AttentionOp op,
                                          Attribute schedule) {
  auto kernelBuilder = dyn_cast<KernelBuilderAttrInterface>(schedule);
  if (!kernelBuilder)
    return op.emitOpError("expected a schedule that this build of attnc has kernels for, found ")
           << schedule;
  FailureOr<BuiltKernel> built = kernelBuilder.buildKernel(builder, name, op);
  if (succeeded(built))
    built->kernel->setAttr(kScheduleAttr, schedule);
  return built;
}

/// One kernel for each schedule; a call runs the first that serves its q_len.
static LogicalResult convertAttention(AttentionOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return op.emitOpError("expected no schedule, as ") << obstacle;
  if (op.getPages() && failed(requirePages(op, op.getPages(), op.getLengths(), op.getStored(),
                                           /*keyDim=*/2, converter)))
    return failure();
  SmallVector<Value> destinations = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return host.getDestination(result); });
  int64_t above = -1;
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>()) {
    int64_t limit = schedule.getMaxQLen();
    auto isServed = [&] { return host.isWithin(op.getQuery(), 2, above, limit); };
    auto build = [&](OpBuilder &builder, StringRef name) {
      return buildKernel(builder, name, op, schedule);
    };
    bool isOnly = op.getSchedule()->size() == 1;
    if (failed(converter.callKernel(destinations, op.getLoc(), "attention", build,
                                    isOnly ? function_ref<Value()>() : isServed)))
      return failure();
    above = limit;
  }
  return success();
}

void attn::addAttentionLowerings(Lowerings &lowerings) { lowerings.addComputed(convertAttention); }
