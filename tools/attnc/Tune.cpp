//===- Tune.cpp - attnc tune ----------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<double> seconds("seconds", cl::init(60), cl::value_desc("S"),
                               cl::desc("How long to search (default: 60)"), cl::cat(category()),
                               cl::sub(tuneCommand()));
static cl::opt<unsigned> tries("tries", cl::value_desc("N"),
                               cl::desc("Most schedules to try for a kernel (default: as many as "
                                        "time allows)"),
                               cl::cat(category()), cl::sub(tuneCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of text"), cl::cat(category()),
                            cl::sub(tuneCommand()));

static constexpr llvm::StringLiteral examples = R"(
Searches, on this machine, the schedules of the kernels that calls of these sizes run. Each
candidate is compiled, compared with the float64 reference (with the schedule before, where the
reference would take minutes) and timed, on inputs that no cache holds (attnc bench --cold); the
fastest ones are then timed in turn with the schedule before, and one that is faster is kept.

Schedules are kept in a JSON file, by processor, target and op: --schedules FILE, else the
environment variable ATTNC_SCHEDULES, else attnc/schedules.json in ~/.config. compile, run, bench,
verify, explain and Python take them from there and say so; --schedules none takes none.

Tune with the number of threads that calls will have, on an idle machine. It may be interrupted:
what was kept before stays.

Examples:
  attnc tune spec.mlir --size batch=1,len=2048
  attnc tune decode.mlir --size kv_len=512,4096,32768 --threads 1 --seconds 120
  attnc tune spec.mlir --size len=1024 --schedules tuned.json
  attnc bench spec.mlir --size len=1024 --schedules tuned.json --cold
)";

static LogicalResult runTune() {
  TuneInvocation invocation;
  FailureOr<std::vector<SizeList>> sizes = parseSizes();
  if (failed(readCallOptions(invocation)) || failed(sizes))
    return failure();
  invocation.sizes = std::move(*sizes);
  invocation.seconds = seconds;
  invocation.tries = tries;
  invocation.asJson = asJson;
  return tune(invocation);
}

const Command commands::tune = {tuneCommand(), runTune, examples};
