//===- CpuInfo.cpp - register file of a CPU -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/CpuInfo.h"

#include "attnc/Machine/Target.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::attn;

static CpuInfo hostInfo() {
#if defined(__x86_64__)
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f"))
    return {64, 32};
  if (features.lookup("avx2"))
    return {32, 16};
  return {16, 16};
#else
  return {16, 32};
#endif
}

CpuInfo CpuInfo::fromTarget(StringRef given) {
  Target target(given);
  if (target.isHost())
    return hostInfo();
  auto isWide = [](StringRef feature) {
    return feature.starts_with("avx512") || feature.starts_with("avx10");
  };
  if (llvm::any_of(target.getFeatures(), isWide))
    return {64, 32};
  if (target.has("avx2"))
    return {32, 16};
  if (target.getArch() == "arm-64")
    return {16, 32};
  return {};
}
