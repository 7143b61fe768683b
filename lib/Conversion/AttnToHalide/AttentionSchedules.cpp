//===- AttentionSchedules.cpp - the kernels that schedules describe -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"

#include "attnc/Conversion/AttnToHalide.h"

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
