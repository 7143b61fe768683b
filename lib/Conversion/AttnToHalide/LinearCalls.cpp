//===- LinearCalls.cpp - kernels of attn.linear and their calls -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "PackWeights.h"
#include "Rows.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/TensorCores.h"

using namespace mlir;
using namespace mlir::attn;

static bool isOnTensorCores(LinearOp op) {
  return op.getSchedule() && llvm::any_of(*op.getSchedule(), llvm::IsaPred<MmaLinearAttr>);
}

/// A map of two products is fused into the first. Maps that a tensor-core kernel can't apply, and
/// those after them, have kernels of their own.
Epilogues::Epilogues(func::FuncOp function) {
  function.walk([&](LinearOp op) {
    if (SplitHeadsOp stored = getStoredHeads(op))
      heads[op] = stored;
    SmallVector<MapOp> &epilogue = maps[op];
    for (MapOp map : getEpilogue(op)) {
      bool isKnown = !isOnTensorCores(op) || isTensorCoreEpilogue(map);
      if (!isKnown || !linears.try_emplace(map, op).second)
        break;
      epilogue.push_back(map);
    }
  });
}

/// Whether a dimension of that size may be above one limit, and within the other if it is not 0.
static bool mayBeWithin(int64_t size, int64_t above, int64_t limit) {
  return ShapedType::isDynamic(size) || size == 0 ||
         (size > above && (limit == 0 || size <= limit));
}

/// A kernel for each schedule that a call may reach; for short rows, if they may be, one of each
/// that reads weights in place, and the last one's.
static SmallVector<LinearKernel> listKernels(LinearOp op, bool onGpu, const CpuInfo &cpu) {
  int64_t depth = tensorType(op.getWeight()).getDimSize(1);
  auto onTarget = [&](LinearAttr s) {
    Products products = onGpu && s.getProducts() == Products::bf16_tiles
                            ? Products::bf16_pairs
                            : getProductsOn(cpu, s.getProducts(), depth);
    return LinearAttr::get(op->getContext(), s.getRowTile(), s.getVectors(), s.getVectorWidth(),
                           s.getRowBlock(), products, s.getPacked(), s.getMaxRows());
  };
  ArrayAttr schedules =
      op.getSchedule() ? op.getScheduleAttr() : selectLinearSchedules(op, cpu, onGpu);
  RankedTensorType input = tensorType(op.getInput());
  std::optional<bool> isShort = onGpu ? false : hasShortRows(input);
  SmallVector<LinearKernel> kernels;
  for (int64_t rowDim : {1, 2}) {
    if (isShort == (rowDim == 1))
      continue;
    int64_t dim = input.getRank() - 1 - rowDim, above = 0;
    for (auto schedule : schedules.getAsRange<LinearAttr>()) {
      bool isLast = schedule == schedules.getValue().back();
      if (rowDim == 2 && schedule.getPacked() && !isLast)
        continue;
      if (dim < 0 || mayBeWithin(input.getDimSize(dim), above, schedule.getMaxRows()))
        kernels.push_back({onTarget(schedule), rowDim, above});
      above = schedule.getMaxRows();
    }
  }
  return kernels;
}

/// Constant weights are packed once for all kernels; a call runs the first kernel that serves its
/// rows.
static LogicalResult callLinear(LinearOp op, Value result, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ArrayRef<MapOp> epilogue = converter.getEpilogues().getMaps(op);
  SplitHeadsOp heads = converter.isOnGpu() ? SplitHeadsOp() : converter.getEpilogues().getHeads(op);
  if (heads)
    result = heads.getResult();
  SmallVector<LinearKernel> kernels = listKernels(op, converter.isOnGpu(), converter.getCpu());
  LinearAttr schedule = kernels.front().schedule;
  OpBuilder before(op);
  Value panels =
      packPanels(before, op.getWeight(), schedule.getPanelColumns(), schedule.getProducts());
  RankedTensorType input = tensorType(op.getInput());
  bool isAlways = kernels.size() == 1 && !mayLackRows(input);
  Value isShort = kernels.front().rowDim != kernels.back().rowDim
                      ? host.isShort(op.getInput(), input.getRank() - 2, kShortRows)
                      : Value();
  for (LinearKernel kernel : kernels) {
    auto isServed = [&] {
      Value isWithin = host.isWithin(op.getInput(), {input.getRank() - 1 - kernel.rowDim},
                                     kernel.above, kernel.schedule.getMaxRows());
      if (!isShort)
        return isWithin;
      return host.areBoth(isWithin, kernel.rowDim == 2 ? isShort : host.isNot(isShort));
    };
    bool isTiled = converter.isOnGpu() && kernel.schedule.getRowTile() > 1 && hasGpuTiles(op);
    auto lower = [&](PipelineBuilder &p) {
      if (!converter.isOnGpu())
        p.getOp()->setAttr(kScheduleAttr, kernel.schedule);
      return lowerLinear(p, op, epilogue, heads, panels, kernel);
    };
    auto lowerOnGpu = [&](PipelineBuilder &p) { return lowerLinearOnGpu(p, op, epilogue, panels); };
    if (failed(converter.call(op.getLoc(), "linear", result,
                              isTiled ? FunctionConverter::Lower(lowerOnGpu)
                                      : FunctionConverter::Lower(lower),
                              isAlways ? function_ref<Value()>() : isServed)))
      return failure();
  }
  return success();
}

/// The same on tensor cores.
static LogicalResult callScheduled(LinearOp op, Value result, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ArrayRef<MapOp> epilogue = converter.getEpilogues().getMaps(op);
  auto outer = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(op.getInput()).getRank() - 1));
  int64_t above = -1;
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>()) {
    auto isServed = [&] {
      return host.isWithin(op.getInput(), outer, above, schedule.getMaxQLen());
    };
    auto build = [&](OpBuilder &builder, StringRef name) {
      return buildScheduled(builder, name, op, epilogue, schedule);
    };
    bool isOnly = op.getSchedule()->size() == 1;
    if (failed(converter.callKernel(host.getDestination(result), op.getLoc(), "linear", build,
                                    isOnly ? function_ref<Value()>() : isServed)))
      return failure();
    above = schedule.getMaxQLen();
  }
  return success();
}

static LogicalResult callKernels(LinearOp op, Value result, FunctionConverter &converter) {
  return isOnTensorCores(op) ? callScheduled(op, result, converter)
                             : callLinear(op, result, converter);
}

/// A product with an epilogue is computed at the epilogue's last op, after the other operands of
/// its maps.
static LogicalResult convertLinear(LinearOp op, FunctionConverter &converter) {
  return converter.getEpilogues().getMaps(op).empty() ? callKernels(op, op.getResult(), converter)
                                                      : success();
}

static LogicalResult convertMap(MapOp op, FunctionConverter &converter) {
  LinearOp linear = converter.getEpilogues().getLinear(op);
  if (!linear)
    return converter.call(op.getLoc(), "map", op.getResult(),
                          [&](PipelineBuilder &p) { return lowerMap(p, op, converter.getCpu()); });
  bool isLast = converter.getEpilogues().getMaps(linear).back() == op;
  return isLast ? callKernels(linear, op.getResult(), converter) : success();
}

void attn::addLinearLowerings(Lowerings &lowerings) {
  lowerings.addComputed(convertLinear);
  lowerings.addComputed(convertMap);
}
