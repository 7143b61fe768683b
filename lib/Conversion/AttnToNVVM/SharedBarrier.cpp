//===- SharedBarrier.cpp - barriers and copies of boxes -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedBarrier.h"

#include "Assembly.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

namespace mlir::attn::nvvm {

void initBarrier(KernelBuilder &k, Reg barrier, int64_t arrivals) {
  Assembly assembly(k);
  assembly.add(barrier, "l");
  assembly.addLine("mbarrier.init.shared::cta.b64 [$0], " + Twine(arrivals) + ";");
  assembly.finish();
}

void fenceBarriers(KernelBuilder &k) {
  Assembly assembly(k);
  assembly.addLine("fence.mbarrier_init.release.cluster;");
  assembly.finish();
}

void arriveForBytes(KernelBuilder &k, Reg barrier, int64_t bytes) {
  Assembly assembly(k);
  assembly.add(barrier, "l");
  assembly.addLine("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + Twine(bytes) + ";");
  assembly.finish();
}

void arriveIf(KernelBuilder &k, Reg condition, Reg barrier) {
  Assembly assembly(k);
  assembly.add(condition, "b");
  assembly.add(barrier, "l");
  assembly.addLine("@$0 mbarrier.arrive.shared::cta.b64 _, [$1];");
  assembly.finish();
}

/// Each try waits for a while.
void waitForPhase(KernelBuilder &k, Reg barrier, Reg parity) {
  Assembly assembly(k);
  assembly.add(barrier, "l");
  assembly.add(parity, "r");
  for (StringRef line : {"{", ".reg .pred %p99999;", "WAIT_${:uid}:",
                         "mbarrier.try_wait.parity.shared::cta.b64 %p99999, [$0], $1;",
                         "@!%p99999 bra WAIT_${:uid};", "}"})
    assembly.addLine(line);
  assembly.finish();
}

void startBoxCopy(KernelBuilder &k, Reg shared, Reg map, ArrayRef<Reg> place, Reg barrier) {
  Assembly assembly(k);
  assembly.add({shared, map, barrier}, "l");
  std::string indices;
  for (int64_t i = 0, first = assembly.add(place, "r"), e = place.size(); i < e; ++i)
    indices += (i == 0 ? "$" : ", $") + std::to_string(first + i);
  assembly.addLine("cp.async.bulk.tensor." + Twine(place.size()) +
                   "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" +
                   indices + "}], [$2];");
  assembly.finish();
}

void passBarrierIf(KernelBuilder &k, Reg condition, Reg number, int64_t threads) {
  Assembly assembly(k);
  assembly.add(condition, "b");
  assembly.add(number, "r");
  assembly.addLine("@$0 bar.arrive $1, " + Twine(threads) + ";");
  assembly.finish();
}

void lowerRegisters(KernelBuilder &k, int64_t count) {
  NVVM::SetMaxRegisterOp::create(k.b(), count, NVVM::SetMaxRegisterAction::decrease);
}
void raiseRegisters(KernelBuilder &k, int64_t count) {
  NVVM::SetMaxRegisterOp::create(k.b(), count, NVVM::SetMaxRegisterAction::increase);
}

} // namespace mlir::attn::nvvm
