//===- Options.cpp - options of several commands --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Pipelines/SpecText.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

cl::OptionCategory &attnc::category() {
  static cl::OptionCategory category("Options");
  return category;
}

cl::SubCommand &attnc::compileCommand() {
  static cl::SubCommand command("compile", "Compile a spec to a library and its C header");
  return command;
}

cl::SubCommand &attnc::runCommand() {
  static cl::SubCommand command("run", "Compile a spec and run it on this machine");
  return command;
}

cl::SubCommand &attnc::benchCommand() {
  static cl::SubCommand command("bench", "Compile a spec and time it on this machine");
  return command;
}

cl::SubCommand &attnc::tuneCommand() {
  static cl::SubCommand command("tune", "Search faster schedules on this machine");
  return command;
}

cl::SubCommand &attnc::verifyCommand() {
  static cl::SubCommand command("verify", "Compare the compiled kernel with the reference");
  return command;
}

cl::SubCommand &attnc::explainCommand() {
  static cl::SubCommand command("explain", "Explain which ops fused, and why others did not");
  return command;
}

cl::SubCommand &attnc::importCommand() {
  static cl::SubCommand command("import", "Write an ONNX model as a spec in the attn dialect");
  return command;
}

cl::SubCommand &attnc::runtimeCommand() {
  static cl::SubCommand command("runtime",
                                "Write the runtime shared by libraries compiled without one");
  return command;
}

cl::SubCommand &attnc::cacheCommand() {
  static cl::SubCommand command("cache", "Show or clear the folder of compiled kernels");
  return command;
}

cl::opt<std::string> attnc::specPath(cl::Positional, cl::desc("SPEC"), cl::cat(category()),
                                     cl::sub(compileCommand()), cl::sub(runCommand()),
                                     cl::sub(benchCommand()), cl::sub(tuneCommand()),
                                     cl::sub(verifyCommand()), cl::sub(explainCommand()),
                                     cl::sub(importCommand()));

cl::opt<bool> attnc::allowBytecode("allow-bytecode", cl::desc(mlir::attn::kAllowBytecode),
                                   cl::cat(category()), cl::sub(compileCommand()),
                                   cl::sub(runCommand()), cl::sub(benchCommand()),
                                   cl::sub(tuneCommand()), cl::sub(verifyCommand()),
                                   cl::sub(explainCommand()));

cl::opt<std::string> attnc::functionName("function",
                                         cl::desc("The function to use, if SPEC has several"),
                                         cl::value_desc("name"), cl::cat(category()),
                                         cl::sub(compileCommand()), cl::sub(runCommand()),
                                         cl::sub(benchCommand()), cl::sub(tuneCommand()),
                                         cl::sub(verifyCommand()), cl::sub(explainCommand()));

cl::opt<std::string> attnc::targetName(
    "target", cl::init("host"), cl::value_desc("target"),
    cl::desc("Halide target, such as x86-64-linux-avx2-fma (default: host, this machine; the "
             "library may not run on another)"),
    cl::cat(category()), cl::sub(compileCommand()), cl::sub(runCommand()), cl::sub(benchCommand()),
    cl::sub(tuneCommand()), cl::sub(verifyCommand()), cl::sub(explainCommand()),
    cl::sub(runtimeCommand()));

cl::opt<std::string> attnc::outputDir("o", cl::init("."), cl::value_desc("folder"),
                                      cl::desc("Output folder (default: the current one)"),
                                      cl::cat(category()), cl::sub(compileCommand()),
                                      cl::sub(runtimeCommand()));

cl::opt<std::string> attnc::libraryName(
    "name", cl::desc("The C function's name and the stem of every file (default: the function's)"),
    cl::value_desc("name"), cl::cat(category()), cl::sub(compileCommand()));

cl::list<std::string> attnc::weightsPaths(
    "weights", cl::value_desc("file.safetensors"),
    cl::desc("Values of arguments with attn.weight, which become part of the library (default: "
             "they stay arguments); once for each part of a model's weights"),
    cl::cat(category()), cl::sub(compileCommand()), cl::sub(runCommand()), cl::sub(benchCommand()),
    cl::sub(tuneCommand()), cl::sub(verifyCommand()), cl::sub(explainCommand()));

cl::opt<std::string> attnc::schedulesPath(
    "schedules", cl::value_desc("file.json"),
    cl::desc("Schedules measured by attnc tune (default: ATTNC_SCHEDULES, else "
             "~/.config/attnc/schedules.json); none: built-in ones"),
    cl::cat(category()), cl::sub(compileCommand()), cl::sub(runCommand()), cl::sub(benchCommand()),
    cl::sub(tuneCommand()), cl::sub(verifyCommand()), cl::sub(explainCommand()));

cl::opt<std::string> attnc::clusterText(
    "cluster", cl::value_desc("ranks=8,rows=8192,..."),
    cl::desc("Ranks and links that the exchange of spread sequences is chosen for: ranks, rows (of "
             "each), gflops and memory (GB/s) of a rank, link (Gbit/s), latency (us)"),
    cl::cat(category()), cl::sub(compileCommand()), cl::sub(runCommand()), cl::sub(benchCommand()),
    cl::sub(verifyCommand()), cl::sub(explainCommand()));

cl::opt<bool> attnc::noCache("no-cache", cl::desc("Neither read nor write the cache"),
                             cl::cat(category()), cl::sub(compileCommand()), cl::sub(runCommand()),
                             cl::sub(benchCommand()), cl::sub(verifyCommand()),
                             cl::sub(runtimeCommand()));

cl::list<std::string> attnc::inputTexts("input",
                                        cl::value_desc("NAME=@x.npy|random:2x8|zeros|ones"),
                                        cl::desc("Value of an argument"), cl::cat(category()),
                                        cl::sub(runCommand()), cl::sub(benchCommand()),
                                        cl::sub(tuneCommand()), cl::sub(verifyCommand()),
                                        cl::sub(explainCommand()));

cl::list<std::string> attnc::sizeTexts(
    "size", cl::value_desc("batch=2,len=256,512"),
    cl::desc(
        "Sizes of dynamic dimensions by symbol; lists run in all combinations. bench needs every "
        "symbol, verify has defaults, explain draws masks for them"),
    cl::cat(category()), cl::sub(benchCommand()), cl::sub(tuneCommand()), cl::sub(verifyCommand()),
    cl::sub(explainCommand()));

cl::opt<uint64_t> attnc::seed("seed", cl::init(0), cl::value_desc("N"),
                              cl::desc("Seed of random inputs (default: 0)"), cl::cat(category()),
                              cl::sub(runCommand()), cl::sub(benchCommand()),
                              cl::sub(tuneCommand()), cl::sub(verifyCommand()),
                              cl::sub(explainCommand()));

cl::opt<unsigned> attnc::threads("threads", cl::init(0), cl::value_desc("N"),
                                 cl::desc("Number of threads (default: one per core)"),
                                 cl::cat(category()), cl::sub(runCommand()),
                                 cl::sub(benchCommand()), cl::sub(tuneCommand()),
                                 cl::sub(verifyCommand()));

SpecSource attnc::getSpecSource() {
  if (schedulesPath.getNumOccurrences() != 0 && !tuneCommand() && schedulesPath != "none" &&
      !llvm::sys::fs::exists(schedulesPath))
    reportNote("--schedules: expected a database of attnc tune, found no file '" + schedulesPath +
               "': built-in schedules are taken");
  return {specPath,   functionName, weightsPaths, allowBytecode, getSchedulesPath(schedulesPath),
          clusterText};
}

LogicalResult attnc::readCallOptions(CallInvocation &invocation) {
  FailureOr<std::vector<InputSource>> inputs = parseInputs();
  if (failed(inputs))
    return failure();
  invocation.spec = getSpecSource();
  invocation.target = targetName;
  invocation.useCache = !noCache;
  invocation.inputs = std::move(*inputs);
  invocation.seed = seed;
  invocation.threads = threads;
  return success();
}
