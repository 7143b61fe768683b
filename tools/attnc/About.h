//===- About.h - what metadata says of a spec -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_ABOUT_H
#define ATTNC_TOOLS_ATTNC_ABOUT_H

#include "Spec.h"

namespace attnc {

/// Fills in what `options` say of a spec: `spec_hash`, by the graph's text and the bytes of its
/// constants; and of a graph its formulas and `flops`, of its matrix products, a number or a
/// formula of sizes. The spec is as it was loaded; `target` decides nothing but schedules.
mlir::LogicalResult describeSpec(Spec &spec, llvm::StringRef target,
                                 mlir::attn::LibraryOptions &options);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_ABOUT_H
