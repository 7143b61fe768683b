//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::list<std::string> outputTexts("output", cl::value_desc("NAME=@y.npy"),
                                         cl::desc("File of a result"), cl::cat(category()),
                                         cl::sub(runCommand()));
static cl::opt<bool>
    useReference("reference",
                 cl::desc("Evaluate the graph in float64 with plain loops instead of compiling it"),
                 cl::cat(category()), cl::sub(runCommand()));
static cl::opt<bool> keepF64("f64", cl::desc("With --reference: leave float results in float64"),
                             cl::cat(category()), cl::sub(runCommand()));

static constexpr llvm::StringLiteral examples = R"(
Inputs are files, .npy or .safetensors, or random, zeros or ones of a shape. numpy has no bf16:
safetensors has, and one file holds several results. Arguments and results are named by
attn.name in SPEC, else as in its text (%query is query, the result of return %context is context),
else arg0, arg1, … and out0, out1, …. Random floats are normal, integers small and not negative.
Inputs not given are random if their shape is known. Without --output each result's shape, dtype and
a summary are printed.

Examples:
  attnc run spec.mlir --input query=@q.npy --input key=@k.npy --input value=@v.npy \
                      --output context=@c.npy
  attnc run spec.mlir --input query=random:2x8x128x64 --seed 7 --output context=@c.safetensors
  attnc run tuned.mlir --threads 1
  attnc run spec.mlir --reference --f64 --input query=@q.npy --output context=@exact.npy
)";

static LogicalResult runRun() {
  RunInvocation invocation;
  FailureOr<std::vector<OutputFile>> outputs = parseOutputs(outputTexts);
  if (failed(readCallOptions(invocation)) || failed(outputs))
    return failure();
  invocation.outputs = std::move(*outputs);
  invocation.useReference = useReference;
  invocation.keepF64 = keepF64;
  return run(invocation);
}

const Command commands::run = {runCommand(), runRun, examples};
