//===- Weights.h - large constants outside the code -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_WEIGHTS_H
#define ATTNC_LIB_TARGET_LIBRARY_WEIGHTS_H

#include "Variants.h"

namespace mlir::attn {

/// A safetensors file, and its description for the library.
struct WeightsFile {
  WeightsInfo info;
  FileContent content;
};

/// Constants to be put into a library's object.
struct Constants {
  uint64_t bytes = 0;
  /// As in FileContent.
  std::vector<StringRef> parts = {};
  std::shared_ptr<const void> owner = {};
};

/// The global for the data of Constants, and its alignment.
inline constexpr StringLiteral kConstantsName = "attnc_constants";
inline constexpr uint64_t kConstantsAlignment = 64;

/// Moves the large constants of all variants to a file, in the layouts that kernels read and
/// without duplicates. The host function `function` of each variant gets the file's data as its
/// last argument, and takes views of it. A variant that can't map files, or no large constant, is a
/// diagnostic.
FailureOr<WeightsFile> takeWeights(MutableArrayRef<Variant> variants, StringRef function);

/// Moves them out of the modules for a library with constants inside, too, so that no compiler and
/// no linker processes them. Host functions take views of the global kConstantsName, which is only
/// declared.
Constants takeConstants(MutableArrayRef<Variant> variants, StringRef function);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_WEIGHTS_H
