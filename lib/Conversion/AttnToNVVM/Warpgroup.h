//===- Warpgroup.h - instructions of a warpgroup ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a warpgroup (wgmma) run beside its threads, in groups that are waited for. Each warp
// has 16 of their 64 rows, whose sums lie as those of tiles of 16 x 8 (Instructions.h), side by
// side.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_WARPGROUP_H
#define ATTNC_CONVERSION_ATTNTONVVM_WARPGROUP_H

#include "Instructions.h"

namespace mlir::attn::nvvm {

constexpr int64_t kWarpgroupThreads = 128, kWarpgroupRows = 64;

/// Starts left · right, 64 x `columns` sums: a descriptor of each (SharedTile::describe) for each
/// 16 of the depth. Elements of a right column are adjacent.
Regs startProducts(KernelBuilder &k, ArrayRef<Reg> left, ArrayRef<Reg> right, int64_t columns,
                   Type element);
/// Starts sums + left · right: the left operand is in registers, four for each 16 of the depth;
/// elements of a right row are adjacent.
Regs startProductsInRegisters(KernelBuilder &k, ArrayRef<Reg> sums, ArrayRef<Reg> left,
                              ArrayRef<Reg> right, Type element);
/// Waits for groups but the last `rest`, then returns `values`: sums may be used from there on, and
/// what was computed before is not computed later.
Regs waitForProducts(KernelBuilder &k, int64_t rest, ArrayRef<Reg> values);

/// Shows what this thread wrote to shared memory to products of warpgroups and bulk copies.
void fenceProxy(KernelBuilder &k);

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_WARPGROUP_H
