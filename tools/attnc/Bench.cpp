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
static cl::opt<bool> isCold("cold", cl::desc("Time calls whose inputs are in no cache"),
                            cl::cat(category()), cl::sub(benchCommand()));
static cl::opt<bool> isProfiled("profile", cl::desc("Also print the time of each kernel"),
                                cl::cat(category()), cl::sub(benchCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of a table"), cl::cat(category()),
                            cl::sub(benchCommand()));

static constexpr llvm::StringLiteral examples = R"(
Calls the compiled kernel repeatedly on the same inputs, after one warm-up call; with --cold on
copies of them in turn, which together exceed the last-level cache: a step of decoding a model finds
its keys and values in memory, as the other layers evict them. Inputs not given by --input are
random; key lengths are full, without padding. Rows are appended to caches in place.

  min, median  wall milliseconds of one call
  cpu          CPU milliseconds of one call, all threads together (median): its cost on a
               shared machine
  GFLOP/s      of the matrix products, at min. They are counted as "flops" in NAME.json:
               in full, masked scores included
  % FMA        of the FLOP/s that multiply-adds in f32 reach at most on these threads, measured
               in the same run
  MB           of inputs and results; GB/s is that, at min
  % read       of the bandwidth of reading memory in order on these threads, measured too; above
               100 where caches hold them
  workspace    MB of temporaries that the call allocates
  kernel       the kernel selected by size; all are in --json

--profile prints, below a row, the wall milliseconds that a call spends in each kernel, and their
share of all kernels'.

Compare edits of a schedule by the min of runs with --threads 1 on an idle machine.

Examples:
  attnc bench spec.mlir --size batch=1,len=256,512,1024
  attnc bench spec.mlir --size batch=1,8,len=128 --threads 1 --seconds 5 --json
  attnc bench layer.mlir --size batch=1,len=512 --profile
  attnc bench decode.mlir --size kv_len=4096 --cold
  attnc bench spec.mlir --input query=@q.npy --input key=@k.npy --input value=@v.npy
  attnc compile spec.mlir --emit fused -o - > tuned.mlir
  attnc bench tuned.mlir --size len=1024 --threads 1      an edited schedule
)";

static LogicalResult runBench() {
  BenchInvocation invocation;
  FailureOr<std::vector<SizeList>> sizes = parseSizes();
  if (failed(readCallOptions(invocation)) || failed(sizes))
    return failure();
  invocation.sizes = std::move(*sizes);
  invocation.seconds = seconds;
  invocation.isCold = isCold;
  invocation.isProfiled = isProfiled;
  invocation.asJson = asJson;
  return bench(invocation);
}

const Command commands::bench = {benchCommand(), runBench, examples};
