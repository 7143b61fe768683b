//===- SelectSchedule.cpp - choose schedule parameters --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSelectors.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/ProbRegion.h"
#include "attnc/Dialect/Attn/TensorCores.h"
#include "attnc/Machine/Target.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSELECTSCHEDULE
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Of more dims, tiles of a row take minutes to compile.
static constexpr int64_t kMostDims = 4096;

StringRef attn::findObstacle(AttentionOp op) {
  auto query = op.getQuery().getType(), value = op.getValue().getType();
  Type element = query.getElementType();
  if (element.isF64())
    return "elements are f64";
  if (query.isDynamicDim(3) || value.isDynamicDim(3))
    return "head_dim or value_dim is open";
  if (query.getDimSize(3) == 0 || value.getDimSize(3) == 0)
    return "head_dim or value_dim is 0";
  if (std::max(query.getDimSize(3), value.getDimSize(3)) > kMostDims)
    return "head_dim or value_dim is above 4096";
  // The fused kernel modifies probs before normalising a row.
  if (!op.getProbMod().empty() && !ProbRegion(op.getProbMod()).isLinear())
    return "the prob region is not linear in the prob";
  return "";
}

StringRef attn::getReasonForNoKernel(AttentionOp op, StringRef target) {
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return obstacle;
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (!gpu || selectGpuSchedules(op, *gpu))
    return "";
  return "no query block fits into the 48 KB of a GPU's shared memory";
}

LogicalResult attn::verifyTarget(MLIRContext *context, StringRef target) {
  if (Target(target).isComplete())
    return success();
  return emitError(UnknownLoc::get(context))
         << "expected a target such as x86-64-linux-avx2-fma, or host, found '" << target << "'";
}

template <typename OpTy>
static StringRef findReason(OpTy op, StringRef target) {
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (!gpu || gpu->api != GpuApi::cuda)
    return "";
  StringRef obstacle = findTensorCoreObstacle(op);
  return obstacle.empty() && !gpu->hasTensorCores() ? "the target has no cuda_capability_80"
                                                    : obstacle;
}

StringRef attn::getReasonForNoWarpgroups(Operation *op, StringRef target) {
  auto attention = dyn_cast<AttentionOp>(op);
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  bool mayHave =
      attention && gpu && gpu->hasWarpgroups() && findTensorCoreObstacle(attention).empty();
  return mayHave ? findWarpgroupObstacle(attention) : "";
}

StringRef attn::getReasonForNoTensorCores(Operation *op, StringRef target) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return findReason(attention, target);
  auto linear = dyn_cast<LinearOp>(op);
  return linear ? findReason(linear, target) : "";
}

/// A schedule written by hand must be for the target's kind: the other kind's loops would be
/// dropped, and the score stored.
template <typename OpTy>
static LogicalResult verifyTargetKind(OpTy op, TargetKind kind) {
  for (auto schedule : op.getScheduleAttr().template getAsRange<ScheduleAttrInterface>())
    if (schedule.getTargetKind() != kind)
      return op.emitOpError("expected a schedule for a ")
             << (kind == TargetKind::gpu ? "GPU" : "CPU") << ", as the target is, found "
             << schedule;
  return success();
}

static LogicalResult verifyExpectedQLen(func::FuncOp function) {
  Attribute given = function->getAttr(kQLenAttr);
  auto rows = dyn_cast_or_null<IntegerAttr>(given);
  if (!given ||
      (rows && rows.getValue().getActiveBits() < 32 && rows.getValue().isStrictlyPositive()))
    return success();
  return function.emitError("expected attn.q_len to be a number of query rows, found ") << given;
}

namespace {
struct AttnSelectSchedulePass : attn::impl::AttnSelectScheduleBase<AttnSelectSchedulePass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override { return verifyTarget(context, target); }
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
    bool isValid = succeeded(verifyExpectedQLen(getOperation()));
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](LinearOp op) {
      if (!gpu)
        takeAsMatmul(rewriter, op);
    });
    // How heads are stored, which attention's depend on, follows from those of linear layers.
    getOperation().walk([&](LinearOp op) {
      if (op.getSchedule())
        isValid &= succeeded(verifyTargetKind(op, gpu ? TargetKind::gpu : TargetKind::cpu));
      else
        op.setScheduleAttr(gpu ? selectGpuSchedules(op, *gpu) : selectLinearSchedules(op, cpu));
    });
    getOperation().walk([&](AttentionOp op) {
      if (op.getSchedule())
        isValid &= succeeded(verifyTargetKind(op, gpu ? TargetKind::gpu : TargetKind::cpu));
      else if (getReasonForNoKernel(op, target).empty())
        op.setScheduleAttr(gpu ? selectGpuSchedules(op, *gpu) : selectCpuSchedules(op, cpu));
    });
    if (!isValid)
      signalPassFailure();
  }
};
} // namespace
