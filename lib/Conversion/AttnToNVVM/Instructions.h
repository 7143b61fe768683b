//===- Instructions.h - instructions of a warp ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane l of a warp holds of a 16 x 8 tile of sums the rows l / 4 and l / 4 + 8, of each the columns
// 2 (l % 4) and the next: registers 0 and 1 are of the first row, 2 and 3 of the second.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_INSTRUCTIONS_H
#define ATTNC_CONVERSION_ATTNTONVVM_INSTRUCTIONS_H

#include "KernelBuilder.h"

namespace mlir::attn::nvvm {

constexpr int64_t kLanes = 32;
/// Rows of a tile, its columns, and the depth of one product of tiles.
constexpr int64_t kTileRows = 16, kTileColumns = 8, kTileDepth = 16;
/// Bytes of an asynchronous copy and of a row of an 8 x 8 matrix.
constexpr int64_t kChunkBytes = 16;

/// Reads the numbers of the thread and of the block. Nothing that is computed from them is shared
/// with code that read them before.
void readPosition(KernelBuilder &k);
void barrier(KernelBuilder &k);
/// The barrier of this number, from 0 to 15, which so many threads reach.
void barrier(KernelBuilder &k, Reg number, int64_t threads);
/// The fields of a struct.
Regs unpack(KernelBuilder &k, Value structure);

/// Four 8 x 8 matrices of 16-bit elements; lane l passes the shared address of row l % 8 of matrix
/// l / 8.
Regs loadMatrices(KernelBuilder &k, Reg address, bool isTransposed);
/// sums + a · b: a is 16 x 16 in four registers, b 16 x 8 in two, sums are 16 x 8 of f32.
Regs multiply(KernelBuilder &k, ArrayRef<Reg> a, ArrayRef<Reg> b, ArrayRef<Reg> sums, Type element);
/// Two f32 rounded to elements of 16 bits in a register.
Reg pack(KernelBuilder &k, Reg low, Reg high, Type element);

/// The value of the lane whose number differs in the bits of `lanes`.
Reg exchange(KernelBuilder &k, Reg value, int64_t lanes);
/// The value of the warp's first lane, which all have: ptxas then knows that they do.
Reg readFirstLane(KernelBuilder &k, Reg value);
/// Combines the values of the four lanes that share rows.
Reg combineLanes(KernelBuilder &k, Reg value, Reg (*combine)(Reg, Reg));
/// Whether any lane of the warp has it, and how many have.
Reg isAny(KernelBuilder &k, Reg condition);
Reg countLanes(KernelBuilder &k, Reg condition);

/// Copies `bytes` of 16 bytes to shared memory, then zeros; the copy runs beside the thread.
void startCopy(KernelBuilder &k, Reg shared, Reg global, Reg bytes);
/// Ends a group of copies: those that this thread started since the last one.
void endCopyGroup(KernelBuilder &k);
/// Waits for the groups of this thread but the last `rest`.
void waitForCopyGroups(KernelBuilder &k, int64_t rest);
/// Waits for all copies that this thread started.
void waitForCopies(KernelBuilder &k);

/// The address of a byte of the block's shared memory.
Reg sharedAddress(KernelBuilder &k, Reg bytes);

/// By the fast instructions, where denormal numbers are 0.
Reg exp2(KernelBuilder &k, Reg x);
Reg log2(KernelBuilder &k, Reg x);
/// x / y to 2 ulp, for |y| of 2^-126 to 2^126, where denormal numbers are 0.
Reg divideFast(KernelBuilder &k, Reg x, Reg y);

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_INSTRUCTIONS_H
