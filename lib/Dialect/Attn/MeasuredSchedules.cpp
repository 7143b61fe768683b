//===- MeasuredSchedules.cpp - take schedules from a database -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/ScheduleDatabase.h"
#include "attnc/Dialect/Attn/ScheduleText.h"
#include "attnc/Machine/Target.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNMEASUREDSCHEDULES
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The schedules of an entry, for a target of this kind; null, with the reason in `error`, if one
/// is none.
static ArrayAttr parseSchedules(const MeasuredSchedules &entry, TargetKind kind,
                                MLIRContext *context, std::string &error) {
  SmallVector<Attribute> schedules;
  for (StringRef text : entry.schedules) {
    Attribute schedule = parseSchedule(text, context, error);
    auto interface = dyn_cast_or_null<ScheduleAttrInterface>(schedule);
    if (!interface || interface.getTargetKind() != kind) {
      if (schedule)
        error = "expected a schedule for the target, found " + text.str();
      return {};
    }
    schedules.push_back(schedule);
  }
  return ArrayAttr::get(context, schedules);
}

/// Calls of a function with `attn.q_len` run one kernel.
static ArrayAttr keepExpected(func::FuncOp function, ArrayAttr schedules) {
  auto rows = function->getAttrOfType<IntegerAttr>(kQLenAttr);
  if (!rows)
    return schedules;
  return keepServing(schedules, rows.getValue().getSExtValue());
}

namespace {
struct AttnMeasuredSchedulesPass
    : attn::impl::AttnMeasuredSchedulesBase<AttnMeasuredSchedulesPass> {
  using Base::Base;
  void runOnOperation() override;
  void schedule(Operation *op, const ScheduleDatabase &known);

  DenseSet<const MeasuredSchedules *> said;
};
} // namespace

void AttnMeasuredSchedulesPass::schedule(Operation *op, const ScheduleDatabase &known) {
  const MeasuredSchedules *entry = known.find(getProcessor(), target, describeClass(op));
  if (!entry)
    return;
  Location place = known.locate(*entry, &getContext());
  if (entry->cpu != getProcessor()) {
    emitRemark(place) << "measured on " << entry->cpu << ", this machine is " << getProcessor()
                      << ": the built-in schedule is taken";
    return;
  }
  std::string error;
  TargetKind kind = Target(target).hasGpu() ? TargetKind::gpu : TargetKind::cpu;
  ArrayAttr schedules = parseSchedules(*entry, kind, &getContext(), error);
  if (!schedules || failed(setSchedules(op, schedules, error))) {
    emitWarning(place) << error << ": the built-in schedule is taken";
    return;
  }
  if (isa<AttentionOp>(op))
    putSchedules(op, keepExpected(getOperation(), schedules));
  auto at = cast<FileLineColLoc>(place);
  if (said.insert(entry).second) // layers of a model share one
    emitRemark(op->getLoc()) << "schedules measured by attnc tune, " << at.getFilename().getValue()
                             << ":" << at.getLine();
}

/// Whether attn-select-schedule would choose one.
static bool lacksSchedule(Operation *op, StringRef target) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return !attention.getSchedule() && getReasonForNoKernel(attention, target).empty();
  auto linear = dyn_cast<LinearOp>(op);
  return linear && !linear.getSchedule() && !Target(target).hasGpu();
}

void AttnMeasuredSchedulesPass::runOnOperation() {
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    if (lacksSchedule(op, target))
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  FailureOr<ScheduleDatabase> known =
      ScheduleDatabase::read(database, &getContext(), DiagnosticSeverity::Warning);
  if (succeeded(known))
    for (Operation *op : ops)
      schedule(op, *known);
}
