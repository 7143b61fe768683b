//===- CpuInfo.cpp - what a schedule needs to know of a CPU ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/CpuInfo.h"

#include "attnc/Machine/HostTarget.h"

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
  std::string resolved = resolveHost(given);
  StringRef target = resolved;
  if (target == "host" || target.starts_with("host-"))
    return hostInfo();
  if (target.contains("avx512") || target.contains("avx10"))
    return {64, 32};
  if (target.contains("avx2"))
    return {32, 16};
  if (target.starts_with("arm-64"))
    return {16, 32};
  return {};
}
