//===- Targets.cpp - targets on the command line --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Targets.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Target/Halide/Export.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;

FailureOr<std::vector<std::string>> attnc::resolveTargets(StringRef list) {
  std::vector<std::string> targets;
  for (StringRef word : llvm::split(list, ',')) {
    std::string error;
    FailureOr<std::string> target = halide::resolveTarget(word, error);
    if (failed(target))
      return reportError("--target", error);
    targets.push_back(*target);
  }
  return targets;
}

FailureOr<std::string> attnc::resolveTarget(StringRef target) {
  FailureOr<std::vector<std::string>> targets = resolveTargets(target);
  if (failed(targets))
    return failure();
  if (targets->size() > 1)
    return reportError("--target", "expected one target, found '" + target + "'");
  return targets->front();
}
