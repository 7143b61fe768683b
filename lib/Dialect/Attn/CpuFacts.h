//===- CpuFacts.h - what schedules on a CPU depend on ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_CPUFACTS_H
#define ATTNC_LIB_DIALECT_ATTN_CPUFACTS_H

#include "ScheduleSelectors.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"

namespace mlir::attn {

/// What the schedules of an attention on a CPU are chosen by.
class CpuFacts {
public:
  CpuFacts(AttentionOp op, const CpuInfo &cpu);

protected:
  /// Elements of a KV block's keys, 16 KB of f32, that with AVX2 lie in L1 beside their values.
  static constexpr int64_t kL1Elements = 4096;

  bool hasTwoRanges() { return mask.isComplete() && mask.getCondition().hasTwoRanges(); }
  bool hasAVX2() const { return !has32VectorRegs && !lacksFMA; }
  bool readsF32() {
    return op.getKey().getType().getElementType().isF32() &&
           op.getValue().getType().getElementType().isF32();
  }
  /// Whether the keys and values of a head are not interleaved with those of other heads in memory.
  bool areHeadsApart();
  int64_t kvSplits(int64_t packedHeads);

  AttentionOp op;
  const CpuInfo &cpu;
  MaskAnalysis mask;
  int64_t lanes;
  /// 32 vector registers instead of 16.
  bool has32VectorRegs;
  /// Without FMA, a product takes an instruction and a register of its own.
  bool lacksFMA;
  int64_t headDim, valueVectors;
  Products products;
};

/// Whether the heads of a key lie side by side in memory, as in pages and caches with keys before
/// heads.
bool areHeadsInKeys(Value tensor);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_CPUFACTS_H
