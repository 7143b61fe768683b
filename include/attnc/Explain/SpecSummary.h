//===- SpecSummary.h - a library's metadata about its spec ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXPLAIN_SPECSUMMARY_H
#define ATTNC_EXPLAIN_SPECSUMMARY_H

#include "attnc/Spec/Spec.h"
#include "attnc/Target/Library/Library.h"

namespace attnc {

/// Adds a spec's metadata to `options`: `spec_hash`, over the graph's text and the bytes of its
/// constants; for a graph also its formulas and `flops` (of its matrix products, a number or a
/// polynomial of sizes). `spec` is as loaded; `target` affects schedules only.
mlir::LogicalResult describeSpec(Spec &spec, llvm::StringRef target,
                                 mlir::attn::LibraryOptions &options);

} // namespace attnc

#endif // ATTNC_EXPLAIN_SPECSUMMARY_H
