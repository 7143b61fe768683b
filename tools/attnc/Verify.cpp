//===- Verify.cpp - attnc verify ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<std::string> kernelPath("kernel", cl::value_desc("file"),
                                       cl::desc("Compile this instead of SPEC: an edited schedule"),
                                       cl::cat(category()), cl::sub(verifyCommand()));
static cl::opt<bool> allCases("all", cl::desc("Run every case, even of a large graph"),
                              cl::cat(category()), cl::sub(verifyCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of text"), cl::cat(category()),
                            cl::sub(verifyCommand()));

static constexpr llvm::StringLiteral examples = R"(
Compares the compiled kernel with the reference (float64, plain loops) for several sizes, on
normal inputs, on large ones, on empty lengths and false masks, and with NaN and infinities
in each input. The allowed error is twice that of a plain computation in the spec's own types,
plus 4 eps of the largest result. NaN and infinities must be at the same places.
Large graphs get smaller sizes and fewer cases; the number of cases left out is printed.

Examples:
  attnc verify spec.mlir
  attnc verify spec.mlir --size batch=1,len=500 --seed 7
  attnc verify encoder.mlir --size batch=2,len=100 --all
  attnc verify spec.mlir --input lengths=@lengths.npy
  attnc compile spec.mlir --emit fused -o - > tuned.mlir
  attnc verify spec.mlir --kernel tuned.mlir            an edited schedule
)";

static LogicalResult runVerify() {
  VerifyInvocation invocation;
  FailureOr<std::vector<SizeList>> sizes = parseSizes();
  if (failed(readCallOptions(invocation)) || failed(sizes))
    return failure();
  invocation.kernelPath = kernelPath;
  invocation.sizes = std::move(*sizes);
  invocation.allCases = allCases;
  invocation.asJson = asJson;
  return verify(invocation);
}

const Command commands::verify = {verifyCommand(), runVerify, examples};
