//===- Selftest.h - a library's self-test in C -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VERIFICATION_SELFTEST_H
#define ATTNC_VERIFICATION_SELFTEST_H

#include "attnc/Execution/Graph.h"

#include <map>

namespace attnc {

/// The texts, by file name, of NAME_selftest.c, a program that compares the library NAME with the
/// reference on any machine, and of NAME_selftest.inc, its expected results. With `hasWeights` the
/// program loads the library's weights file. `graph` is the spec's, copied before any pass; the
/// spec itself is fused for `target` if it isn't yet.
mlir::FailureOr<std::map<std::string, std::string>> emitSelftest(Spec &spec, Graph &graph,
                                                                 llvm::StringRef name,
                                                                 llvm::StringRef target,
                                                                 bool hasWeights);

} // namespace attnc

#endif // ATTNC_VERIFICATION_SELFTEST_H
