//===- GpuInfo.h - what a schedule needs to know of a GPU --------*- C++ -*-===//
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
  /// Of CUDA: 10 · major + minor; 0 for OpenCL.
  int64_t capability = 0;

  /// Bytes of shared memory that every kernel may take, whatever the device.
  static constexpr int64_t kSharedBytes = 48 * 1024;
  static constexpr int64_t kMaxThreads = 1024;

  /// Bytes of shared memory for a block, so that a multiprocessor has room for two at least: of
  /// those with a capability of 7.5 it has 64 KB, of all others 96 KB and more.
  int64_t getTileBytes() const { return capability == 75 ? 32 * 1024 : kSharedBytes; }

  /// Nothing where the target has no GPU that attnc has schedules for.
  static std::optional<GpuInfo> fromTarget(StringRef target);
};

} // namespace mlir::attn

#endif // ATTNC_MACHINE_GPUINFO_H
