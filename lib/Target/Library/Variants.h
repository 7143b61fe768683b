//===- Variants.h - one function for several targets ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_VARIANTS_H
#define ATTNC_LIB_TARGET_LIBRARY_VARIANTS_H

#include "Signature.h"

#include "attnc/Machine/GpuInfo.h"
#include "attnc/Target/Library/Library.h"

#include "mlir/IR/OwningOpRef.h"

namespace mlir::attn {

/// The function as it is compiled for one target.
struct Variant {
  /// A Halide target in full.
  std::string target;
  /// CPU features it needs: attnc_support.h's bits.
  uint64_t features;
  /// The host function, its kernels and its constants, nothing else.
  OwningOpRef<ModuleOp> module;

  ModuleOp getModule() const { return module.get(); }
  bool isOnDevice() const { return GpuInfo::fromTarget(target).has_value(); }
};

/// One variant for each of `sources`, best first: variants that need more CPU features come first,
/// and those for a GPU before all others, of
/// the highest compute capability first. `function` is the host function in each module. Targets
/// that can't be in one library are a diagnostic.
FailureOr<std::vector<Variant>> makeVariants(ArrayRef<LibrarySource> sources, StringRef function);

/// The GPU of the best variant, if it has one.
std::optional<GpuInfo> getGpu(ArrayRef<Variant> variants);

/// The variants' targets, comma-separated.
std::string joinTargets(ArrayRef<Variant> variants);

/// NAME.json.
std::string emitMetadata(const Signature &signature, ArrayRef<Variant> variants,
                         const LibraryOptions &options);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_VARIANTS_H
