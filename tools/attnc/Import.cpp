//===- Import.cpp - attnc import ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "Options.h"
#include "Spec.h"

#include "attnc/Diagnostics/Report.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<std::string> outputPath("o", cl::init("-"), cl::value_desc("spec.mlir"),
                                       cl::desc("Where to write (default: -, standard output)"),
                                       cl::cat(category()), cl::sub(importCommand()));

static constexpr llvm::StringLiteral examples = R"(
The spec has the model's inputs and outputs under their names, symbolic dimensions as
attn.dims, and initializers as constants. compile, run and explain take a model as it is.

Examples:
  attnc import model.onnx -o spec.mlir
  attnc import model.onnx | attnc explain -
)";

static LogicalResult runImport() {
  if (!StringRef(specPath).ends_with(".onnx"))
    return reportUsage("attnc import", "expected a file .onnx, found '" + specPath + "'");
  std::unique_ptr<Spec> spec = Spec::load();
  if (!spec || failed(spec->simplify()))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  spec->getModule()->print(os); // unlike <<, with the constants' data
  os << '\n';
  if (outputPath != "-")
    return writeFile(outputPath, text);
  llvm::outs() << text;
  return success();
}

const Command attnc::importModel = {importCommand(), runImport, examples};
