//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<double> seconds("seconds", cl::init(1), cl::value_desc("S"),
                               cl::desc("How long to time each row (default: 1)"),
                               cl::cat(category()), cl::sub(benchCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of a table"), cl::cat(category()),
                            cl::sub(benchCommand()));

static constexpr llvm::StringLiteral examples = R"(
Calls the compiled kernel again and again on the same inputs, after one call that does not
count. What --input does not give is random; lengths of keys say that there is no padding.

  min, median  milliseconds of one call, by the clock
  cpu          CPU milliseconds of one call, all threads together (median): what the call
               costs on a machine that others use too
  GFLOP/s      of the matrix products, at min. They are counted as "flops" in NAME.json:
               whole, also where a mask hides some of the score
  MB           of inputs and results; GB/s is that, at min
  workspace    MB of temporaries that the call allocates
  kernel       which of the kernels for different sizes ran; all are in --json

Compare edits of a schedule by the min of calm runs of --threads 1.

Examples:
  attnc bench spec.mlir --size batch=1,len=256,512,1024
  attnc bench spec.mlir --size batch=1,8,len=128 --threads 1 --seconds 5 --json
  attnc bench spec.mlir --input query=@q.npy --input key=@k.npy --input value=@v.npy
  attnc compile spec.mlir --emit halide -o - > tuned.mlir
  attnc bench tuned.mlir --size len=1024 --threads 1      an edited schedule
)";

static LogicalResult runBench() {
  BenchInvocation invocation;
  FailureOr<std::vector<SizeList>> sizes = parseSizes();
  if (failed(readCallOptions(invocation)) || failed(sizes))
    return failure();
  invocation.sizes = std::move(*sizes);
  invocation.threads = threads;
  invocation.seconds = seconds;
  invocation.asJson = asJson;
  return bench(invocation);
}

const Command commands::bench = {benchCommand(), runBench, examples};
