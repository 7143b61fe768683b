//===- Explain.cpp - attnc explain ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of text"), cl::cat(category()),
                            cl::sub(explainCommand()));

static constexpr llvm::StringLiteral examples = R"(
A group becomes one kernel. FLOPs are those of its matrix products, bytes those of its operands
and results, each moved once; dynamic sizes are symbols.

Examples:
  attnc explain spec.mlir
  attnc explain spec.mlir --target x86-64-linux-avx2-fma     the schedule for another machine
  attnc explain spec.mlir --json
)";

static LogicalResult runExplain() {
  return explain(ExplainInvocation{getSpecSource(), targetName, asJson});
}

const Command commands::explain = {explainCommand(), runExplain, examples};
