//===- Weights.h - constants in a file beside the library -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_WEIGHTS_H
#define ATTNC_LIB_TARGET_LIBRARY_WEIGHTS_H

#include "Variants.h"

namespace mlir::attn {

/// A file in the format safetensors, and what the library must know of it.
struct WeightsFile {
  WeightsInfo info;
  std::string bytes;
};

/// Moves the large constants of all variants to a file, in the layouts that kernels read and each
/// content once. The host function `function` of each variant gets the file's data as its last
/// argument, and takes views of it. A variant that can't map files, or no large constant, is a
/// diagnostic.
FailureOr<WeightsFile> takeWeights(MutableArrayRef<Variant> variants, StringRef function);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_WEIGHTS_H
