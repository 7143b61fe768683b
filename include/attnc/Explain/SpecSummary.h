//===- SpecSummary.h - a spec in the metadata of its library -----*- C++ -*-===//
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

/// Fills in what `options` say of a spec: `spec_hash`, of the graph's text and the bytes of its
/// constants; of a graph also its formulas and `flops`, those of its matrix products, a number or
/// a formula of sizes. The spec is as it was loaded; `target` decides nothing but schedules.
mlir::LogicalResult describeSpec(Spec &spec, llvm::StringRef target,
                                 mlir::attn::LibraryOptions &options);

} // namespace attnc

#endif // ATTNC_EXPLAIN_SPECSUMMARY_H
