//===- Selftest.h - a test that travels with a library ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_SELFTEST_H
#define ATTNC_TOOLS_ATTNC_SELFTEST_H

#include "Evaluate.h"
#include "Files.h"

namespace attnc {

/// Adds NAME_selftest.c, a program for whoever embeds the library NAME, and what it expects
/// of it, NAME_selftest.inc; it loads the library's file of weights where it `hasWeights`. `graph`
/// is the spec's, copied before any pass; the spec itself is fused for `target` where it isn't yet.
llvm::LogicalResult addSelftest(Spec &spec, Graph &graph, llvm::StringRef name,
                                llvm::StringRef target, bool hasWeights, Staging &files);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_SELFTEST_H
