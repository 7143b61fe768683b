//===- Import.cpp - attnc import ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"

using namespace mlir;
using namespace attnc;

LogicalResult attnc::importModel(const ImportInvocation &invocation) {
  if (!isModel(invocation.spec.path))
    return reportUsage("attnc import",
                       "expected a file .onnx, found " + (invocation.spec.path.empty()
                                                              ? "none"
                                                              : "'" + invocation.spec.path + "'"));
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  if (!spec || failed(spec->simplify()))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  spec->getModule()->print(os); // unlike <<, with the constants' data
  os << '\n';
  if (invocation.outputPath != "-")
    return writeFile(invocation.outputPath, text);
  llvm::outs() << text;
  return success();
}
