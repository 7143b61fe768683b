//===- attn-opt.cpp - run passes on specs ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Files/WholeFile.h"
#include "attnc/Pipelines/Pipelines.h"
#include "attnc/Pipelines/SpecText.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <csignal>

using namespace mlir;

static llvm::cl::opt<bool> allowBytecode("allow-bytecode", llvm::cl::desc(attn::kAllowBytecode));

static LogicalResult report(const llvm::Twine &message, StringRef place = "attn-opt") {
  llvm::errs() << place << ": error: " << message << '\n';
  return failure();
}

static LogicalResult check(llvm::MemoryBufferRef spec) {
  std::optional<attn::SpecRefusal> refusal = attn::checkSpecText(spec, allowBytecode);
  if (!refusal)
    return success();
  std::string place = spec.getBufferIdentifier().str();
  if (refusal->line != 0)
    place += ":" + std::to_string(refusal->line) + ":" + std::to_string(refusal->column);
  return report(refusal->message, place);
}

/// LLVM's code generators, linked in, have hundreds; --help-hidden lists them.
static void hideOptionsOfLibraries() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (option != &allowBytecode && option->getOptionHiddenFlag() == llvm::cl::NotHidden)
      option->setHiddenFlag(llvm::cl::Hidden);
}

/// Standard output also gets text printed before an error, a file all or nothing.
static LogicalResult run(StringRef input, StringRef output, DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  std::string message, text;
  auto file = openInputFile(input, &message);
  if (!file)
    return report(message);
  if (failed(check(*file)))
    return failure();
  llvm::raw_string_ostream os(text);
  LogicalResult result = MlirOptMain(os, std::move(file), registry, config);
  if (failed(result) && output != "-")
    return failure();
  if (auto error = attn::writeWholeFile(output, [&](raw_ostream &file) { file << text; }))
    return report("cannot write " + (output == "-" ? "to standard output" : output) + ": " +
                  error.message());
  return result;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ::signal(SIGXFSZ, SIG_IGN); // then writing fails, which is reported
  hideOptionsOfLibraries();
  DialectRegistry registry;
  attn::registerAllDialects(registry);
  attn::registerAllPasses();
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, "attnc optimizer driver\n", registry);
  auto config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  return asMainReturnCode(run(input, output, registry, config));
}
