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

namespace {
/// A processor with vdpbf16ps, as Halide's targets and LLVM call it.
struct BF16PairCpu {
  StringLiteral feature, name;
  bool prefersPairs, prefersOrder;
};
} // namespace

static constexpr BF16PairCpu kBF16PairCpus[] = {
    {"avx512_zen4", "znver4", true, false},
    {"avx512_zen5", "znver5", true, true},
    {"avx512_sapphirerapids", "sapphirerapids", false, false}};

static CpuInfo getAvx512Info(function_ref<bool(const BF16PairCpu &)> isCpu) {
  CpuInfo info{64, 32};
  for (const BF16PairCpu &cpu : kBF16PairCpus)
    if (isCpu(cpu)) {
      info.hasBF16Pairs = true;
      info.prefersBF16Pairs |= cpu.prefersPairs;
      info.prefersOrder |= cpu.prefersOrder;
    }
  return info;
}

static CpuInfo withTiles(CpuInfo info, bool hasTiles) {
  info.hasTileCode = true;
  info.hasTiles = hasTiles;
  bool hasAMX = hasTiles && info.vectorBytes == 64;
  info.prefersCopies = hasAMX;
  info.prefetchesPages = !hasAMX;
  return info;
}

static CpuInfo hostInfo() {
#if defined(__x86_64__)
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto isCpu = [&](const BF16PairCpu &cpu) {
    return features.lookup("avx512bf16") && llvm::sys::getHostCPUName() == cpu.name;
  };
  CpuInfo info = features.lookup("avx512f") ? getAvx512Info(isCpu)
                 : features.lookup("avx2")  ? CpuInfo{32, 16}
                                            : CpuInfo{16, 16};
  return withTiles(info, features.lookup("amx-bf16"));
#else
  return withTiles({16, 32}, /*hasTiles=*/false);
#endif
}

static CpuInfo x86Info(const Target &target) {
  auto isWide = [](StringRef feature) {
    return feature.starts_with("avx512") || feature.starts_with("avx10");
  };
  if (llvm::any_of(target.getFeatures(), isWide))
    return getAvx512Info([&](const BF16PairCpu &cpu) { return target.has(cpu.feature); });
  return target.has("avx2") ? CpuInfo{32, 16} : CpuInfo();
}

CpuInfo CpuInfo::fromTarget(StringRef given) {
  Target target(given);
  if (target.isHost())
    return hostInfo();
  // Armv8.6 has bfmmla.
  if (target.getArch() == "arm-64")
    return target.getOS() == "linux" ? withTiles({16, 32}, target.has("armv86a")) : CpuInfo{16, 32};
  CpuInfo info = x86Info(target);
  return target.getMachine() == "x86-64-linux"
             ? withTiles(info, target.has("avx512_sapphirerapids"))
             : info;
}
