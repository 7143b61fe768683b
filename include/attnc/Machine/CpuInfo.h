//===- CpuInfo.h - register file of a CPU ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_MACHINE_CPUINFO_H
#define ATTNC_MACHINE_CPUINFO_H

#include "mlir/Support/LLVM.h"

namespace mlir::attn {

/// The registers and products of a CPU, as its Halide target names it.
struct CpuInfo {
  /// Bytes of one vector register.
  int64_t vectorBytes = 16;
  /// Number of architectural vector registers.
  int64_t vectorRegisters = 16;
  /// Whether there is an instruction for products of bf16 pairs, vdpbf16ps, and whether it is
  /// faster than products in f32: twice on Zen 4, but a quarter to a half on Sapphire Rapids.
  bool hasBF16Pairs = false, prefersBF16Pairs = false;
  /// Whether rows of memory are read fastest strictly in order and with prefetches, by a quarter on
  /// Zen 5; other CPUs prefetch rows side by side as far ahead by themselves.
  bool prefersOrder = false;
  /// Whether rows of one of many heads, which lie apart and share few sets of an L1 cache, are read
  /// faster from a copy: by a sixth on CPUs with AMX, not on Zen 4 and Zen 5.
  bool prefersCopies = false;
  /// Whether prefetches of rows in pages pay; on CPUs with AMX they cost a sixth.
  bool prefetchesPages = true;
  /// Whether there is code for products of bf16 matrices, by tiles of AMX or by bfmmla where a call
  /// finds them, else in f32; and whether the CPU has them.
  bool hasTileCode = false, hasTiles = false;

  /// Parses a Halide target such as `x86-64-linux-avx2-fma`. Unknown features default to 128-bit
  /// vectors.
  static CpuInfo fromTarget(StringRef target);

  int64_t lanes(int64_t elementBits) const { return vectorBytes * 8 / elementBits; }
};

} // namespace mlir::attn

#endif // ATTNC_MACHINE_CPUINFO_H
