//===- GpuInfo.h - limits of a GPU ------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_MACHINE_GPUINFO_H
#define ATTNC_MACHINE_GPUINFO_H

#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::attn {

enum class GpuApi { cuda, opencl };

/// The GPU of a Halide target such as `host-opencl` or `host-cuda-cuda_capability_80`.
struct GpuInfo {
  GpuApi api = GpuApi::opencl;
  /// CUDA's compute capability as 10 · major + minor; 0 for OpenCL.
  int64_t capability = 0;

  /// Bytes of shared memory that a block can have on every device.
  static constexpr int64_t kSharedBytes = 48 * 1024;
  /// The most that any device gives a block: 227 KB at capability 9.0.
  static constexpr int64_t kMaxSharedBytes = 227 * 1024;
  /// The first bytes of a block's shared memory, which CUDA keeps from capability 9.0 on.
  static constexpr int64_t kReservedSharedBytes = 1024;
  static constexpr int64_t kMaxThreads = 1024;

  /// Bytes of shared memory that Halide's kernels, which address it from 0 on, leave alone.
  int64_t getUnusedSharedBytes() const { return api == GpuApi::cuda ? kReservedSharedBytes : 0; }

  /// Bytes of shared memory per block such that two blocks fit a multiprocessor, which has 64 KB at
  /// capability 7.5 and at least 96 KB otherwise.
  int64_t getSharedBytesForTwoBlocks() const { return capability == 75 ? 32 * 1024 : kSharedBytes; }

  /// Whether it has tensor cores for bf16, and asynchronous copies to shared memory.
  bool hasTensorCores() const { return api == GpuApi::cuda && capability >= 80; }

  /// Whether it has products of warpgroups (wgmma) and copies by tensor maps (TMA), which no later
  /// capability runs.
  bool hasWarpgroups() const { return api == GpuApi::cuda && capability == 90; }

  /// None if the target has no GPU that attnc schedules for.
  static std::optional<GpuInfo> fromTarget(StringRef target);
};

} // namespace mlir::attn

#endif // ATTNC_MACHINE_GPUINFO_H
