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

static cl::opt<bool> draw("draw",
                          cl::desc("Draw the keys that masks show; --size and --input imply it"),
                          cl::cat(category()), cl::sub(explainCommand()));

static constexpr llvm::StringLiteral examples = R"(
Lists the softmaxes that fused, or why they did not, then each op with the kernels that compute
it. Of an attention's kernels "for q_len <= N" a call runs the first that serves its q_len, the last
serves any; so of a linear layer's "for rows <= N". All checks run before. Below a kernel's schedule its Halide directives are counted. Equal
ops are printed once; JSON has each.

FLOPs are those of matrix products in full, hidden keys included; bytes those of the op's operands,
results and tensors read by its regions, each moved once and whole, both of each op. Dynamic sizes
are symbols, sums of symbols, or ?1, ?2. In JSON, max_q_len is the largest q_len that a kernel serves,
max_rows the most rows; 0 is no limit.

With --draw, the keys that a mask shows are drawn for the first batch and head of that
call, from rows sampled in each line: full blocks are seen by all of them, spaces by none.

For kernels on tensor cores, ptxas and nvdisasm (on the PATH, or named by PTXAS and NVDISASM) count
the instructions of the main loop; the TFLOP/s that follow for a GPU are a bound, not a measurement:
issue slots, tensor cores or exponentials, whichever takes longest, with all else hidden behind it.

Examples:
  attnc explain spec.mlir
  attnc explain spec.mlir --target x86-64-linux-avx2-fma     the schedule for another machine
  attnc explain spec.mlir --target x86-64-linux-cuda-cuda_capability_80
  attnc explain spec.mlir --size len=2048                    and a picture of the mask
  attnc explain spec.mlir --json
)";

static LogicalResult runExplain() {
  FailureOr<std::vector<SizeList>> sizes = parseSizes();
  FailureOr<std::vector<InputSource>> inputs = parseInputs();
  if (failed(sizes) || failed(inputs))
    return failure();
  bool draws = draw || !sizes->empty() || !inputs->empty();
  return explain({getSpecSource(), targetName, draws, *sizes, *inputs, seed, asJson});
}

const Command commands::explain = {explainCommand(), runExplain, examples};
