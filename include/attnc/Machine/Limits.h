//===- Limits.h - what this machine can do at most ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_MACHINE_LIMITS_H
#define ATTNC_MACHINE_LIMITS_H

namespace mlir::attn {

/// The limits of some of this machine's threads together, measured.
struct MachineLimits {
  /// FLOP/s of multiply-adds in f32, an addition and a multiplication each.
  double flops;
  /// Bytes/s of reading memory that no cache holds, in order.
  double readBytes;
};

/// Takes about 0.2 s, and 256 MB of memory.
MachineLimits measureLimits(unsigned threads);

} // namespace mlir::attn

#endif // ATTNC_MACHINE_LIMITS_H
