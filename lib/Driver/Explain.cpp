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

LogicalResult attnc::explain(const ExplainInvocation &invocation) {
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  FailureOr<std::string> target =
      spec ? resolveTarget(invocation.target) : FailureOr<std::string>();
  if (failed(target))
    return failure();
  for (const SizeList &list : invocation.sizes)
    if (list.sizes.size() != 1)
      return reportUsage("--size", "expected one size of " + list.symbol + ", found " +
                                       Twine(list.sizes.size()));
  std::optional<PictureInputs> pictured;
  if (invocation.draws)
    pictured = PictureInputs{invocation.sizes, invocation.inputs, invocation.seed};
  FailureOr<Explanation> explanation = explain(*spec, *target, pictured);
  if (failed(explanation))
    return failure();
  if (invocation.asJson)
    llvm::outs() << llvm::formatv("{0:2}\n", toJson(*explanation));
  else
    printText(*explanation, llvm::outs());
  return success();
}
