//===- LinearCalls.cpp - kernels of attn.linear and their calls -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "PackWeights.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

/// A map of two products is fused into the first.
Epilogues::Epilogues(func::FuncOp function) {
  function.walk([&](LinearOp op) {
    SmallVector<MapOp> &epilogue = maps[op];
    for (MapOp map : getEpilogue(op)) {
      if (!linears.try_emplace(map, op).second)
        break;
      epilogue.push_back(map);
    }
  });
}

/// A tile of six rows fills the registers; a single row has its own kernel. If weights are packed
/// in the call, packing costs more than the product of a few rows.
static SmallVector<LinearKernel> selectKernels(LinearOp op, bool isPacked) {
  constexpr LinearKernel few{1, 1}, many{6, 0};
  auto type = cast<RankedTensorType>(op.getInput().getType());
  if (!isPacked || type.getRank() < 2)
    return {many};
  int64_t rows = type.getDimSize(type.getRank() - 2);
  if (ShapedType::isDynamic(rows))
    return {few, many};
  return {rows <= few.maxRows ? few : many};
}

/// Constant weights are packed once for all kernels; a call runs the first kernel that serves its
/// number of rows.
static LogicalResult callLinear(LinearOp op, Value result, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ArrayRef<MapOp> epilogue = converter.getEpilogues().getMaps(op);
  OpBuilder before(op);
  Value panels = packPanels(before, op.getWeight(), getPanelColumns(op, converter.getCpu()));
  SmallVector<LinearKernel> kernels = selectKernels(op, bool(panels));
  int64_t rowsDim = cast<RankedTensorType>(op.getInput().getType()).getRank() - 2, above = 0;
  bool isAlways = kernels.size() == 1 && !mayLackRows(tensorType(op.getInput()));
  for (LinearKernel kernel : kernels) {
    auto isServed = [&] { return host.isWithin(op.getInput(), rowsDim, above, kernel.maxRows); };
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

/// A product with an epilogue is computed at the epilogue's last op, after the other operands of
/// its maps.
static LogicalResult convertLinear(LinearOp op, FunctionConverter &converter) {
  return converter.getEpilogues().getMaps(op).empty() ? callLinear(op, op.getResult(), converter)
                                                      : success();
}

static LogicalResult convertMap(MapOp op, FunctionConverter &converter) {
  LinearOp linear = converter.getEpilogues().getLinear(op);
  if (!linear)
    return converter.call(op.getLoc(), "map", op.getResult(),
                          [&](PipelineBuilder &p) { return lowerMap(p, op, converter.getCpu()); });
  bool isLast = converter.getEpilogues().getMaps(linear).back() == op;
  return isLast ? callLinear(linear, op.getResult(), converter) : success();
}

void attn::addLinearLowerings(Lowerings &lowerings) {
  lowerings.addComputed(convertLinear);
  lowerings.addComputed(convertMap);
}
