//===- ScheduleSelectors.h - choose schedules of attention -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SCHEDULESELECTORS_H
#define ATTNC_LIB_DIALECT_ATTN_SCHEDULESELECTORS_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Machine/CpuInfo.h"
#include "attnc/Machine/GpuInfo.h"

namespace mlir::attn {

ArrayAttr selectCpuSchedules(AttentionOp op, const CpuInfo &cpu);
/// Null if no query block fits into shared memory.
ArrayAttr selectGpuSchedules(AttentionOp op, GpuInfo gpu);
/// Null without tensor cores.
ArrayAttr selectGpuSchedules(LinearOp op, GpuInfo gpu);

/// The largest divisor of `n` that is at most `limit`, or 1.
inline int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::max<int64_t>(std::min(n, limit), 1);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Number of query heads packed in one query block, so that keys and values are read once for all
/// of them.
inline int64_t getPackedHeads(AttentionOp op) {
  return largestDivisor(op.getGroupSize().value_or(1), 8);
}

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SCHEDULESELECTORS_H
