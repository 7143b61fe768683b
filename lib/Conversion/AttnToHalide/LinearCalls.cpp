//===- LinearCalls.cpp - kernels of attn.linear and their calls -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "PackWeights.h"
#include "Rows.h"

#include "attnc/Dialect/Attn/TensorCores.h"

using namespace mlir;
using namespace mlir::attn;

/// A map of two products is fused into the first. Maps that a tensor-core kernel can't apply, and
/// those after them, have kernels of their own.
Epilogues::Epilogues(func::FuncOp function) {
  function.walk([&](LinearOp op) {
    SmallVector<MapOp> &epilogue = maps[op];
    for (MapOp map : getEpilogue(op)) {
      bool isKnown = !op.getSchedule() || isTensorCoreEpilogue(map);
      if (!isKnown || !linears.try_emplace(map, op).second)
        break;
      epilogue.push_back(map);
    }
  });
}

/// The tile's rows are those of the dimension before the last two, if it is longer than the one
/// between, of at most so many rows: (len, batch, width), or one step of many sequences.
static constexpr int64_t kShortRows = 16;

/// nullopt if only a call knows.
static std::optional<bool> hasShortRows(RankedTensorType input) {
  int64_t rank = input.getRank();
  if (rank < 3)
    return false;
  int64_t rows = input.getDimSize(rank - 2), before = input.getDimSize(rank - 3);
  bool isOpen = ShapedType::isDynamic(rows), isBeforeOpen = ShapedType::isDynamic(before);
  if ((!isOpen && rows > kShortRows) || (!isBeforeOpen && before <= 1))
    return false;
  return isOpen || isBeforeOpen ? std::nullopt : std::optional(before > rows);
}

/// A tile of six rows fills the registers; a single row has its own kernel. If weights are packed
/// in the call, packing costs more than the product of a few rows.
static SmallVector<LinearKernel> selectKernels(LinearOp op, bool isPacked, bool onGpu) {
  constexpr LinearKernel few{1, 1}, many{6, 0}, ofShort{6, kShortRows, /*rowDim=*/2};
  auto type = cast<RankedTensorType>(op.getInput().getType());
  std::optional<bool> isShort = onGpu ? false : hasShortRows(type);
  if (isShort == true)
    return {ofShort};
  int64_t rows = type.getRank() < 2 ? 0 : type.getDimSize(type.getRank() - 2);
  bool mayBeFew = isPacked && type.getRank() >= 2 && (ShapedType::isDynamic(rows) || rows <= 1);
  bool mayBeMany = !mayBeFew || ShapedType::isDynamic(rows);
  SmallVector<LinearKernel> kernels;
  if (mayBeFew)
    kernels.push_back(few);
  if (mayBeMany)
    kernels.push_back(many);
  if (!isShort)
    kernels.push_back(ofShort);
  return kernels;
}

/// Constant weights are packed once for all kernels; a call runs the first kernel that serves its
/// rows.
static LogicalResult callLinear(LinearOp op, Value result, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ArrayRef<MapOp> epilogue = converter.getEpilogues().getMaps(op);
  OpBuilder before(op);
  Value panels = packPanels(before, op.getWeight(), getPanelColumns(op, converter.getCpu()));
  SmallVector<LinearKernel> kernels = selectKernels(op, bool(panels), converter.isOnGpu());
  int64_t rowsDim = cast<RankedTensorType>(op.getInput().getType()).getRank() - 2, above = 0;
  bool isAlways = kernels.size() == 1 && !mayLackRows(tensorType(op.getInput()));
  Value isShort = kernels.size() > 1 && kernels.back().rowDim == 2
                      ? host.isShort(op.getInput(), rowsDim, kShortRows)
                      : Value();
  for (LinearKernel kernel : kernels) {
    auto isServed = [&] {
      if (isShort && kernel.rowDim == 2)
        return isShort;
      Value isWithin = host.isWithin(op.getInput(), {rowsDim}, above, kernel.maxRows);
      return isShort ? host.areBoth(isWithin, host.isNot(isShort)) : isWithin;
    };
    bool isTiled = converter.isOnGpu() && kernel.tileRows > 1 && hasGpuTiles(op);
    if (failed(converter.call(
            op.getLoc(), "linear", result,
            [&](PipelineBuilder &p) {
              return isTiled ? lowerLinearOnGpu(p, op, epilogue, panels)
                             : lowerLinear(p, op, epilogue, panels, kernel, converter.getCpu());
            },
            isAlways ? function_ref<Value()>() : isServed)))
      return failure();
    above = kernel.maxRows;
  }
  return success();
}

/// One kernel for each schedule; a call runs the first that serves its rows.
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
  return op.getSchedule() ? callScheduled(op, result, converter)
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
