//===- Explain.cpp - attnc explain ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Targets.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Explain/Explanation.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attnc;

/// Lowers the spec.
static LogicalResult explainFor(const ExplainInvocation &invocation, Spec &spec, StringRef target) {
  std::optional<PictureInputs> pictured;
  if (invocation.draws)
    pictured = PictureInputs{invocation.sizes, invocation.inputs, invocation.seed};
  FailureOr<Explanation> explanation = explain(spec, target, pictured);
  if (failed(explanation))
    return failure();
  if (invocation.asJson)
    llvm::outs() << llvm::formatv("{0:2}\n", toJson(*explanation));
  else
    printText(*explanation, llvm::outs());
  return success();
}

LogicalResult attnc::explain(const ExplainInvocation &invocation) {
  for (const SizeList &list : invocation.sizes)
    if (list.sizes.size() != 1)
      return reportUsage("--size", "expected one size of " + list.symbol + ", found " +
                                       Twine(list.sizes.size()));
  FailureOr<std::vector<std::string>> targets = resolveTargets(invocation.target);
  if (failed(targets))
    return failure();
  if (invocation.asJson && targets->size() > 1)
    return reportError("--target",
                       "expected one target for --json, found '" + invocation.target + "'");
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  if (!spec)
    return failure();
  Spec::State read = spec->save();
  for (auto [index, target] : llvm::enumerate(*targets)) {
    if (index > 0) {
      llvm::outs() << "\n";
      spec->restore(read);
    }
    if (failed(explainFor(invocation, *spec, target)))
      return failure();
  }
  return success();
}
