//===- SharedBarrier.h - barriers and copies of boxes -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warps that copy and warps that compute wait for each other at barriers in shared memory
// (mbarrier). A phase of a barrier ends when as many threads have arrived as it was made for, and
// all bytes that were announced have been copied. Phases have parities 0, 1, 0 and so on; that
// before the first one counts as ended, with parity 1.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_SHAREDBARRIER_H
#define ATTNC_CONVERSION_ATTNTONVVM_SHAREDBARRIER_H

#include "KernelBuilder.h"

namespace mlir::attn::nvvm {

/// Makes a barrier of 8 bytes for so many arrivals. One thread makes those of a block, then shows
/// them to copies.
void initBarrier(KernelBuilder &k, Reg barrier, int64_t arrivals);
void fenceBarriers(KernelBuilder &k);

/// Arrives, for as many bytes as copies bring.
void arriveForBytes(KernelBuilder &k, Reg barrier, int64_t bytes);
void arriveIf(KernelBuilder &k, Reg condition, Reg barrier);
/// Waits until the phase of this parity has ended.
void waitForPhase(KernelBuilder &k, Reg barrier, Reg parity);

/// Starts the copy of a box whose first element is at `place`, innermost dimension first.
void startBoxCopy(KernelBuilder &k, Reg shared, Reg map, ArrayRef<Reg> place, Reg barrier);

/// Tells barrier `number` of the block, which so many threads reach or tell, that this warp goes
/// past it; does nothing without the condition.
void passBarrierIf(KernelBuilder &k, Reg condition, Reg number, int64_t threads);

/// Changes how many registers a thread of this warpgroup has.
void lowerRegisters(KernelBuilder &k, int64_t count);
void raiseRegisters(KernelBuilder &k, int64_t count);

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_SHAREDBARRIER_H
