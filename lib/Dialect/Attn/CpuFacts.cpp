//===- CpuFacts.cpp - what schedules on a CPU depend on -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuFacts.h"

#include "attnc/Dialect/Attn/LinearSchedules.h"

using namespace mlir;
using namespace mlir::attn;

/// Tiles take many times the products of vdpbf16ps. Their schedules have vectors of AVX-512.
static Products selectProducts(AttentionOp op, const CpuInfo &cpu) {
  auto query = op.getQuery().getType();
  int64_t headDim = query.getDimSize(3);
  if (!query.getElementType().isBF16() || op.isWidened() || headDim % 2 != 0)
    return Products::f32;
  if (cpu.hasTiles && cpu.vectorBytes == 64 && headDim > 2)
    return Products::bf16_tiles;
  return cpu.prefersBF16Pairs ? Products::bf16_pairs : Products::f32;
}

CpuFacts::CpuFacts(AttentionOp op, const CpuInfo &cpu)
    : op(op), cpu(cpu), mask(op.getMask()), lanes(cpu.lanes(32)),
      has32VectorRegs(cpu.vectorRegisters >= 32),
      lacksFMA(!has32VectorRegs && cpu.vectorBytes == 16),
      headDim(op.getQuery().getType().getDimSize(3)),
      valueVectors(llvm::divideCeil(op.getValue().getType().getDimSize(3), lanes)),
      products(selectProducts(op, cpu)) {}

bool attn::areHeadsInKeys(Value tensor) {
  auto transpose = tensor.getDefiningOp<TransposeOp>();
  if (auto heads = tensor.getDefiningOp<SplitHeadsOp>()) {
    auto linear = heads.getInput().getDefiningOp<LinearOp>();
    return !linear || !getStoredHeads(linear);
  }
  if (!transpose || !transpose.keepsRows())
    return false;
  ArrayRef<int64_t> order = transpose.getPermutation();
  return order[1] > order[2];
}

bool CpuFacts::areHeadsApart() {
  return !areHeadsInKeys(op.getKey()) && !areHeadsInKeys(op.getValue());
}

/// Number of KV splits: enough tasks for all cores of a large machine. A window has few keys, keys
/// between two ranges are skipped where they are not split, and a prob region may need all probs of
/// a row: no splits.
int64_t CpuFacts::kvSplits(int64_t packedHeads) {
  constexpr int64_t kTasks = 32;
  auto query = op.getQuery().getType();
  if (mask.getWidth() || hasTwoRanges() || !op.getProbMod().empty())
    return 1;
  int64_t tasks = query.isDynamicDim(1) ? 1 : query.getDimSize(1) / packedHeads;
  if (!query.isDynamicDim(0))
    tasks *= query.getDimSize(0);
  return llvm::divideCeil(kTasks, std::clamp<int64_t>(tasks, 1, kTasks));
}
