//===- Options.h - options of several commands ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_OPTIONS_H
#define ATTNC_TOOLS_ATTNC_OPTIONS_H

#include "attnc/Driver/Driver.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/CommandLine.h"

#include <string>
#include <vector>

namespace attnc {

// Functions, because options in other files register with them before main.
llvm::cl::OptionCategory &category();
llvm::cl::SubCommand &compileCommand();
llvm::cl::SubCommand &runCommand();
llvm::cl::SubCommand &benchCommand();
llvm::cl::SubCommand &tuneCommand();
llvm::cl::SubCommand &verifyCommand();
llvm::cl::SubCommand &explainCommand();
llvm::cl::SubCommand &importCommand();
llvm::cl::SubCommand &runtimeCommand();
llvm::cl::SubCommand &cacheCommand();

extern llvm::cl::opt<std::string> specPath;
extern llvm::cl::opt<bool> allowBytecode;
extern llvm::cl::opt<std::string> functionName;
extern llvm::cl::opt<std::string> targetName;
extern llvm::cl::opt<std::string> libraryName;
extern llvm::cl::list<std::string> weightsPaths;
extern llvm::cl::opt<std::string> schedulesPath;
extern llvm::cl::opt<std::string> clusterText;
extern llvm::cl::opt<bool> noCache;
extern llvm::cl::opt<std::string> outputDir;
extern llvm::cl::list<std::string> inputTexts;
extern llvm::cl::opt<uint64_t> seed;
extern llvm::cl::opt<unsigned> threads;

extern llvm::cl::list<std::string> sizeTexts;

/// One command: the function of `attnc NAME …`, and the text that its `--help` adds to the options.
struct Command {
  llvm::cl::SubCommand &options;
  llvm::LogicalResult (*run)();
  llvm::StringRef examples;
};

namespace commands {
extern const Command compile, run, bench, tune, verify, explain, importModel, runtime, cache;
} // namespace commands

/// The spec of the command line.
SpecSource getSpecSource();

/// Reads the options that run, bench, tune and verify share.
llvm::LogicalResult readCallOptions(CallInvocation &invocation);

// Parse `NAME=SOURCE` or `SYMBOL=SIZE,…`. Other text, or the same name twice, is a usage error.
mlir::FailureOr<std::vector<InputSource>> parseInputs();
mlir::FailureOr<std::vector<OutputFile>> parseOutputs(llvm::ArrayRef<std::string> texts);
mlir::FailureOr<std::vector<SizeList>> parseSizes();

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_OPTIONS_H
