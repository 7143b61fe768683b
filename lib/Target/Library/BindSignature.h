//===- BindSignature.h - binds the support code to one spec -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_BINDSIGNATURE_H
#define ATTNC_LIB_TARGET_LIBRARY_BINDSIGNATURE_H

#include "Variants.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::attn {

/// Renames the packed entry points of `function` in variant number `variant` to the names that
/// bindSignature looks for, makes its other symbols local, and lets equal constants be merged.
void nameEntryPoints(llvm::Module &host, StringRef function, unsigned variant);

/// Makes a library of `module`, which holds the support code and the host functions of all
/// variants: adds the signature as constants and the public functions, with one parameter per
/// tensor, and hides the rest. `isWhole`: kernels and Halide's runtime, which call some of it, are
/// in the module as well.
void bindSignature(llvm::Module &module, const Signature &signature, ArrayRef<Variant> variants,
                   StringRef metadata, bool isWhole);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_BINDSIGNATURE_H
