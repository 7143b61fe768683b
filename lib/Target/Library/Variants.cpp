//===- Variants.cpp - one function for several targets
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU features that each target needs, and the order in which a library tries targets.
//
//===----------------------------------------------------------------------===//

#include "Variants.h"

#include "attnc_support.h"

#include "attnc/Dialect/Host/Host.h"
#include "attnc/Machine/Target.h"
#include "attnc/Target/Halide/Export.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <functional>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

// Each of Halide's feature names implies a CPU, all of which LLVM may use: `avx2` is a Haswell.
static constexpr uint64_t sse41 = attnc_sse41;
static constexpr uint64_t avx = sse41 | attnc_sse42 | attnc_avx;
static constexpr uint64_t avx2 = avx | attnc_f16c | attnc_fma | attnc_avx2 | attnc_bits;
static constexpr uint64_t avx512 = avx2 | attnc_avx512;
static constexpr uint64_t knl = avx512 | attnc_avx512_er;
static constexpr uint64_t skylake = avx512 | attnc_avx512_vl;
static constexpr uint64_t cannonlake = skylake | attnc_avx512_ifma;
static constexpr uint64_t zen4 = cannonlake | attnc_avx512_bf16;
static constexpr uint64_t zen5 = zen4 | attnc_avxvnni | attnc_avx512_intersect;
static constexpr uint64_t sapphirerapids = zen4 | attnc_avxvnni | attnc_avx512_fp16 | attnc_amx;

/// The features that a word of a target implies; none if it is not an x86 feature.
static uint64_t getFeatures(StringRef word) {
  return llvm::StringSwitch<uint64_t>(word)
      .Case("sse41", sse41)
      .Case("avx", avx)
      .Case("f16c", avx | attnc_f16c)
      .Case("fma", avx | attnc_fma)
      .Case("fma4", avx | attnc_fma4)
      .Case("x86apx", attnc_apx)
      .Case("avx2", avx2)
      .Case("avxvnni", avx2 | attnc_avxvnni)
      .Case("avx512", avx512)
      .Case("avx512_knl", knl)
      .Case("avx512_skylake", skylake)
      .Case("avx512_cannonlake", cannonlake)
      .Case("avx512_zen4", zen4)
      .Case("avx512_zen5", zen5)
      .Cases({"avx512_sapphirerapids", "avx10_1"}, sapphirerapids)
      .Default(0);
}

static uint64_t getTargetFeatures(StringRef target) {
  uint64_t features = GpuInfo::fromTarget(target) ? attnc_gpu : 0;
  Target parsed(target);
  for (StringRef word : parsed.getFeatures())
    features |= getFeatures(word);
  return features;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// A module of `host`, its kernels and its constants.
static OwningOpRef<ModuleOp> isolate(func::FuncOp host) {
  llvm::SmallPtrSet<Operation *, 8> used{host};
  // A kernel may name one that takes its place.
  std::function<void(Operation *, SymbolRefAttr)> use = [&](Operation *user, SymbolRefAttr symbol) {
    Operation *op = SymbolTable::lookupNearestSymbolFrom(user, symbol);
    if (!op || !used.insert(op).second)
      return;
    if (std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(op))
      for (SymbolTable::SymbolUse next : *uses)
        use(op, next.getSymbolRef());
  };
  host.walk([&](host::CallOp call) { use(call, call.getCalleeAttr()); });
  host.walk([&](memref::GetGlobalOp get) { use(get, get.getNameAttr()); });
  auto module = host->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  OpBuilder builder(copy->getBodyRegion());
  for (Operation &op : *module.getBody())
    if (used.contains(&op))
      builder.clone(op);
  return copy;
}

/// Kernels become symbols of one object: append the target's name.
static LogicalResult nameAfterTarget(Variant &variant) {
  std::string suffix = "_" + variant.target;
  llvm::replace(suffix, '-', '_');
  for (auto kernel : variant.getModule().getOps<KernelOpInterface>()) {
    auto name = StringAttr::get(kernel.getContext(), kernel.getName() + suffix);
    if (failed(SymbolTable::replaceAllSymbolUses(kernel, name, variant.getModule())))
      return kernel.emitOpError("expected its uses to be known");
    kernel.setName(name);
  }
  return success();
}

static FailureOr<Variant> makeVariant(LibrarySource source, StringRef function) {
  Location loc = source.module.getLoc();
  std::string error;
  FailureOr<std::string> target = halide::resolveTarget(source.target, error);
  if (failed(target))
    return emitError(loc) << error;
  auto host = source.module.lookupSymbol<func::FuncOp>(function);
  if (!host || !host::isHostFunction(host))
    return emitError(loc) << "expected a host function @" << function << ", found none";
  return Variant{*target, getTargetFeatures(*target), isolate(host)};
}

/// Several GPUs are of CUDA, and are told apart by their compute capability.
static LogicalResult verifyGpus(ArrayRef<Variant> variants, Location loc) {
  llvm::SmallSet<int64_t, 4> capabilities;
  size_t count = 0;
  for (const Variant &variant : variants)
    if (std::optional<GpuInfo> gpu = GpuInfo::fromTarget(variant.target)) {
      capabilities.insert(gpu->capability);
      ++count;
    }
  if (count > 1 && (capabilities.contains(0) || capabilities.size() < count))
    return emitError(loc, "expected targets with a GPU to be of CUDA and of different "
                          "capabilities, found several that are not");
  return success();
}

/// Several variants need x86, where they are chosen by CPU features.
static LogicalResult verifyTogether(ArrayRef<Variant> variants, Location loc) {
  llvm::StringSet<> seen;
  for (const Variant &variant : variants) {
    if (variants.size() > 1 && Target(variant.target).getMachine() != "x86-64-linux")
      return emitError(loc) << "expected targets of x86-64-linux to choose from, found "
                            << variant.target;
    if (!seen.insert(variant.target).second)
      return emitError(loc) << "expected different targets, found " << variant.target << " twice";
  }
  return verifyGpus(variants, loc);
}

FailureOr<std::vector<Variant>> attn::makeVariants(ArrayRef<LibrarySource> sources,
                                                   StringRef function) {
  std::vector<Variant> variants;
  for (LibrarySource source : sources) {
    FailureOr<Variant> variant = makeVariant(source, function);
    if (failed(variant))
      return failure();
    variants.push_back(std::move(*variant));
  }
  if (failed(verifyTogether(variants, variants.front().getModule().getLoc())))
    return failure();
  llvm::sort(variants, [](const Variant &a, const Variant &b) {
    auto rank = [](const Variant &v) {
      std::optional<GpuInfo> gpu = GpuInfo::fromTarget(v.target);
      return std::tuple(v.isOnDevice(), gpu ? gpu->capability : 0, llvm::popcount(v.features));
    };
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.target > b.target;
  });
  if (variants.size() > 1)
    for (Variant &variant : variants)
      if (failed(nameAfterTarget(variant)))
        return failure();
  return variants;
}

std::optional<GpuInfo> attn::getGpu(ArrayRef<Variant> variants) {
  return GpuInfo::fromTarget(variants.front().target);
}

std::string attn::joinTargets(ArrayRef<Variant> variants) {
  return llvm::join(llvm::map_range(variants, [](const Variant &v) { return v.target; }), ",");
}
