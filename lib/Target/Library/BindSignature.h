//===- BindSignature.h - ties the support code to one spec ------*- C++ -*-===//
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

/// Gives the packed entry points of `function`, as compiled for the variant of this number, the
/// names that bindSignature looks for; all else is the variant's own, and constants that several
/// have become one.
void nameEntryPoints(llvm::Module &host, StringRef function, unsigned variant);

/// Makes a library of `module`, which holds the support code and the host functions of all
/// variants: adds the signature as constants and the public functions, whose number of parameters
/// is the spec's, and hides the rest. `isWhole` says that kernels and Halide's runtime, which call
/// some of it, are in the module as well.
void bindSignature(llvm::Module &module, const Signature &signature, ArrayRef<Variant> variants,
                   StringRef metadata, bool isWhole);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_BINDSIGNATURE_H
