//===- Driver.h - what the commands of attnc do ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each command of the tool is a struct, its command line, and a function. All errors are printed
// to stderr, with their place; `finish` of Diagnostics/Report.h has the exit code.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DRIVER_DRIVER_H
#define ATTNC_DRIVER_DRIVER_H

#include "attnc/Driver/Artefact.h"
#include "attnc/Execution/Inputs.h"
#include "attnc/Spec/Spec.h"

namespace attnc {

/// The command line of `attnc compile`.
struct CompileInvocation {
  SpecSource spec;
  /// Halide targets with commas between, `host` among them; a call chooses the best.
  std::string targets = "host";
  /// The C function and the stem of every file; none: the function's name.
  std::optional<std::string> name;
  /// A folder, or `-` for one kind of text on stdout.
  std::string outputDir = ".";
  /// Empty: a static library, its header and its metadata.
  llvm::SmallVector<Kind> kinds;
  bool useCache = true;
  /// Adds a shared library to `kinds`.
  bool isShared = false;
  /// Without Halide's runtime the static library needs the one of writeRuntime.
  bool withRuntime = true;
  /// Keeps large constants in a file beside the library.
  bool weightsBeside = false;
  /// Adds NAME_selftest.c, a program that compares the library with the reference.
  bool withSelftest = false;
  /// Whether a library for a GPU runs on the CPU where there is no GPU.
  bool fallsBackToCpu = false;
};

/// Writes the files of all kinds or none, and prints their paths.
llvm::LogicalResult compile(const CompileInvocation &invocation);

/// A result to write to a file .npy.
struct OutputFile {
  std::string name, path;
};

/// What the command lines of run, bench and verify share.
struct CallInvocation {
  SpecSource spec;
  std::string target = "host";
  bool useCache = true;
  std::vector<InputSource> inputs;
  /// Of random inputs.
  uint64_t seed = 0;
};

/// The command line of `attnc run`.
struct RunInvocation : CallInvocation {
  /// Empty: a summary of each result is printed.
  std::vector<OutputFile> outputs;
  /// 0: as many as there are cores.
  unsigned threads = 0;
  /// Evaluates the graph in float64 instead of compiling it.
  bool useReference = false;
  /// Leaves the reference's float results in float64.
  bool keepF64 = false;
};

llvm::LogicalResult run(const RunInvocation &invocation);

/// The command line of `attnc bench`.
struct BenchInvocation : CallInvocation {
  /// Of all symbols that no given input decides.
  std::vector<SizeList> sizes;
  unsigned threads = 0;
  /// How long each row is timed.
  double seconds = 1;
  bool asJson = false;
};

/// Prints a row for each combination of sizes.
llvm::LogicalResult bench(const BenchInvocation &invocation);

/// The command line of `attnc verify`.
struct VerifyInvocation : CallInvocation {
  /// A spec to compile instead, such as an edited schedule; may be empty.
  std::string kernelPath;
  std::vector<SizeList> sizes;
  bool allCases = false;
  bool asJson = false;
};

/// Prints the error of each result beside the allowed one; failure where one is beyond.
llvm::LogicalResult verify(const VerifyInvocation &invocation);

/// The command line of `attnc explain`.
struct ExplainInvocation {
  SpecSource spec;
  std::string target = "host";
  bool asJson = false;
};

llvm::LogicalResult explain(const ExplainInvocation &invocation);

/// The command line of `attnc import`.
struct ImportInvocation {
  /// A file .onnx.
  SpecSource spec;
  /// `-` is stdout.
  std::string outputPath = "-";
};

llvm::LogicalResult importModel(const ImportInvocation &invocation);

/// The command line of `attnc runtime`.
struct RuntimeInvocation {
  std::string target = "host";
  std::string outputDir = ".";
  bool useCache = true;
};

/// Writes the runtime that libraries without one share.
llvm::LogicalResult writeRuntime(const RuntimeInvocation &invocation);

/// The command line of `attnc cache`.
struct CacheInvocation {
  /// Deletes every entry.
  bool clear = false;
  /// Prints the folder and does nothing else.
  bool dirOnly = false;
  /// Deletes entries that are damaged.
  bool verify = false;
  /// Deletes the oldest entries until the rest has at most so many bytes.
  std::optional<uint64_t> maxBytes;
};

llvm::LogicalResult manageCache(const CacheInvocation &invocation);

} // namespace attnc

#endif // ATTNC_DRIVER_DRIVER_H
