//===- Import.cpp - attnc import ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<std::string> outputPath("o", cl::init("-"), cl::value_desc("spec.mlir"),
                                       cl::desc("Where to write (default: -, standard output)"),
                                       cl::cat(category()), cl::sub(importCommand()));

static cl::opt<std::string> weightsOutPath(
    "weights-out", cl::value_desc("file.safetensors"),
    cl::desc("Write large initializers there instead of into SPEC, where arguments with "
             "attn.weight name them; the other commands take it as --weights"),
    cl::cat(category()), cl::sub(importCommand()));

static constexpr llvm::StringLiteral examples = R"(
The spec has the model's inputs and outputs under their names, symbolic dimensions as
attn.dims, and initializers as constants. The other commands take the model itself, too.

Examples:
  attnc import model.onnx -o spec.mlir
  attnc import model.onnx | attnc explain -
  attnc import model.onnx -o spec.mlir --weights-out model.safetensors
  attnc compile spec.mlir --weights model.safetensors -o out
)";

static LogicalResult runImport() {
  return importModel(ImportInvocation{getSpecSource(), outputPath, weightsOutPath});
}

const Command commands::importModel = {importCommand(), runImport, examples};
