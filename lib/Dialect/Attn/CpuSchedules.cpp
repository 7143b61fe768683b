//===- CpuSchedules.cpp - choose schedules of attention on a CPU ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuDecode.h"
#include "CpuPrefill.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::attn;

/// The number of query rows that all calls are expected to have.
static std::optional<int64_t> getExpectedQLen(AttentionOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto rows = function ? function->getAttrOfType<IntegerAttr>(kQLenAttr) : IntegerAttr();
  return rows ? std::optional(rows.getValue().getSExtValue()) : std::nullopt;
}

/// For a dynamic q_len, a call selects the kernel by its own. With more than a few rows, rows fill
/// the lanes.
static SmallVector<Attribute> selectForCalls(AttentionOp op, CpuPrefill &prefill,
                                             CpuDecode &decode) {
  std::optional<int64_t> expected = getExpectedQLen(op);
  SmallVector<Attribute> schedules;
  auto add = [&](int64_t maxQLen, function_ref<Attribute(int64_t)> select) {
    if (!expected)
      schedules.push_back(select(maxQLen));
    else if (schedules.empty() && (maxQLen == 0 || *expected <= maxQLen))
      schedules.push_back(select(/*maxQLen=*/0));
  };
  if (prefill.packsManyHeads())
    add(1, [&](int64_t maxQLen) { return prefill.selectManyHeads(1, maxQLen); });
  else if (decode.servesDims())
    add(1, [&](int64_t maxQLen) { return decode.select(1, maxQLen); });
  add(16, [&](int64_t maxQLen) {
    return prefill.packsManyHeads() ? prefill.selectManyHeads(2, maxQLen)
                                    : prefill.select(16, maxQLen);
  });
  if (prefill.hasMiddleBlock())
    add(128, [&](int64_t maxQLen) { return prefill.select(32, maxQLen); });
  add(0, [&](int64_t maxQLen) { return prefill.select(prefill.largestQBlock(), maxQLen); });
  return schedules;
}

/// A static q_len has one kernel; that of packed sequences is known in a call.
ArrayAttr attn::selectCpuSchedules(AttentionOp op, const CpuInfo &cpu) {
  constexpr int64_t kFewRows = 4;
  CpuPrefill prefill(op, cpu);
  CpuDecode decode(op, cpu);
  int64_t rows = op.getQuery().getType().getDimSize(2);
  if (ShapedType::isDynamic(rows) || op.getOffsets())
    return ArrayAttr::get(op->getContext(), selectForCalls(op, prefill, decode));
  bool areFew = rows > 0 && rows <= kFewRows;
  if (prefill.packsManyHeads() && areFew)
    return ArrayAttr::get(op->getContext(), {prefill.selectManyHeads(rows)});
  bool isDecode = decode.servesDims() && areFew && rows * getPackedHeads(op) <= 16;
  return ArrayAttr::get(op->getContext(), {isDecode ? decode.select(rows)
                                                    : prefill.select(prefill.chooseQBlock(rows))});
}
