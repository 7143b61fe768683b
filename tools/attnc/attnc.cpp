//===- attnc.cpp - the compiler driver ------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the command line and calls the command: Compile.cpp, Run.cpp,
// Bench.cpp, Verify.cpp, Explain.cpp, Import.cpp, Runtime.cpp, Cache.cpp.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Reproducer.h"
#include "attnc/Files/TemporaryFolder.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include "dlpack.h"

#include <unistd.h>

using namespace attnc;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral overview =
    "attnc - a compiler for attention: from a graph in MLIR or ONNX to a C library\n";

static constexpr llvm::StringLiteral examples = R"(
Examples:
  attnc compile spec.mlir -o out           out/libNAME.a, NAME.h, NAME.json for C programs
  attnc run spec.mlir --input query=@q.npy --output context=@c.npy
  attnc bench spec.mlir --size len=256     how long a call takes
  attnc tune spec.mlir --size len=256      faster schedules for this machine
  attnc verify spec.mlir                   the kernel's error and the allowed one
  attnc explain spec.mlir                  which ops fused, and why others did not
  attnc compile spec.mlir --emit fused -o - > tuned.mlir
                                           the graph with its schedules: edit q_block, vector_width,
                                           … in tuned.mlir and compile it
  attnc import model.onnx -o spec.mlir     an ONNX model as a spec; others take the model itself
  attnc compile --help                     one command's options and examples

Exit codes: 0 done, 1 an error in a file or in what an option names, 2 a command line that cannot be
read, 3 a defect of attnc.
)";

static const Command *const all[] = {&commands::compile,     &commands::run,     &commands::bench,
                                     &commands::tune,        &commands::verify,  &commands::explain,
                                     &commands::importModel, &commands::runtime, &commands::cache};

static void printVersion(llvm::raw_ostream &os) {
  os << "attnc " ATTNC_VERSION "\n"
     << "LLVM, MLIR and lld " LLVM_VERSION_STRING "\n"
     << "Halide " ATTNC_HALIDE_VERSION "\n"
     << "DLPack " << DLPACK_MAJOR_VERSION << '.' << DLPACK_MINOR_VERSION << '\n'
     << "protobuf " ATTNC_PROTOBUF_VERSION "\n";
}

/// Prints the first of LLVM's messages about the command line, as ours read. Those about an
/// option's value it has printed itself.
static void reportOptions(llvm::StringRef messages, const Command *command) {
  if (messages.empty())
    return;
  auto [first, others] = messages.split('\n');
  llvm::StringRef message = first.split(": ").second;
  llvm::StringRef quoted = message.split('\'').second.split('\'').first;
  std::string name = command ? ("attnc " + command->options.getName()).str() : "attnc";
  llvm::errs() << "attnc: error: ";
  if (message.starts_with("Unknown subcommand")) {
    llvm::errs() << "expected a command, found '" << quoted << '\'';
  } else if (message.starts_with("Unknown command line argument")) {
    llvm::errs() << "expected an option of " << name << ", found '" << quoted << '\'';
    llvm::StringRef similar = others.split("Did you mean '").second.split('\'').first;
    if (similar.starts_with("--") && similar.edit_distance(quoted) <= 2)
      llvm::errs() << "; did you mean '" << similar << "'?";
  } else if (message.starts_with("Too many positional")) {
    llvm::errs() << "expected one file, found more";
  } else {
    llvm::errs() << message;
  }
  llvm::errs() << "; see " << name << " --help\n";
}

static const Command *findCommand(llvm::StringRef name) {
  for (const Command *command : all)
    if (command->options.getName() == name)
      return command;
  return nullptr;
}

/// LLVM takes options without a command with any command; of those, all but help and version are of
/// libraries that are linked in.
static void removeOptionsOfLibraries() {
  llvm::SmallVector<cl::Option *> others;
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (!option->Subs.contains(&cl::SubCommand::getAll()) && name != "version")
      others.push_back(option);
  for (cl::Option *option : others)
    option->removeArgument();
}

int main(int argc, char **argv) {
  mlir::attn::removeTemporaryFoldersOnSignal();
  setCommandLine(argc, argv);
  reportWhenOutOfMemory();
  const Command *command = argc > 1 ? findCommand(argv[1]) : nullptr;
  removeOptionsOfLibraries();
  for (const Command *known : all)
    cl::HideUnrelatedOptions(category(), known->options);
  cl::SetVersionPrinter(printVersion);
  // The help ends with the examples of its command.
  cl::extrahelp help(command ? command->examples : llvm::StringRef(examples));
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &errors, /*VFS=*/nullptr,
                                   /*EnvVar=*/nullptr, /*LongOptionsUseDoubleDash=*/true)) {
    reportOptions(messages, command);
    return UsageError;
  }
  if (!command) {
    cl::PrintHelpMessage(); // lacks the extra help once the command line is parsed
    llvm::outs() << examples;
    return UsageError;
  }
  // All output is written. The exit handlers of GPU drivers, which run in no defined order,
  // sometimes crash.
  ::_exit(finish(command->run()));
}
