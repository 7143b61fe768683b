//===- GpuInfo.cpp - limits of a GPU --------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/GpuInfo.h"

#include "attnc/Machine/Target.h"

using namespace mlir;
using namespace mlir::attn;

/// Halide's default capability.
static constexpr int64_t kMinCapability = 20;

std::optional<GpuInfo> GpuInfo::fromTarget(StringRef given) {
  std::optional<GpuInfo> gpu;
  int64_t capability = kMinCapability;
  Target target(given);
  for (StringRef word : target.getFeatures()) {
    if (word == "cuda")
      gpu = GpuInfo{GpuApi::cuda, 0};
    if (word == "opencl")
      gpu = GpuInfo{GpuApi::opencl, 0};
    if (word.consume_front("cuda_capability_"))
      (void)word.getAsInteger(10, capability);
  }
  if (gpu && gpu->api == GpuApi::cuda)
    gpu->capability = capability;
  return gpu;
}
