//===- Driver.h - the commands of attnc --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each command of the tool is a struct of its options and a function. Errors are printed to stderr
// with their place; `finish` of Diagnostics/Report.h gives the exit code.
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
  /// Comma-separated Halide targets, `host` allowed; a call runs the best one its CPU supports.
  std::string targets = "host";
  /// Name of the C function and stem of every file; default: the function's name.
  std::optional<std::string> name;
  /// Output folder; `-` prints one text kind to stdout.
  std::string outputDir = ".";
  /// Default: a static library, its header and its metadata.
  llvm::SmallVector<Kind> kinds;
  bool useCache = true;
  /// Adds a shared library to `kinds`.
  bool isShared = false;
  /// If false, the static library needs the shared runtime of writeRuntime.
  bool withRuntime = true;
  /// Keeps large constants in a file beside the library.
  bool weightsBeside = false;
  /// Adds NAME_selftest.c, a program that compares the library with the reference.
  bool withSelftest = false;
  /// Whether a library for a GPU runs on the CPU if there is no GPU.
  bool fallsBackToCpu = false;
};

/// Writes the files of all kinds or none, and prints their paths.
llvm::LogicalResult compile(const CompileInvocation &invocation);

/// A result to write to a file .npy.
struct OutputFile {
  std::string name, path;
};

/// Options common to run, bench and verify.
struct CallInvocation {
  SpecSource spec;
  std::string target = "host";
  bool useCache = true;
  std::vector<InputSource> inputs;
  /// Seed of random inputs.
  uint64_t seed = 0;
  /// 0: one per core.
  unsigned threads = 0;
};

/// The command line of `attnc run`.
struct RunInvocation : CallInvocation {
  /// Empty: a summary of each result is printed.
  std::vector<OutputFile> outputs;
  /// Evaluates the graph in float64 instead of compiling it.
  bool useReference = false;
  /// Leaves the reference's float results in float64.
  bool keepF64 = false;
};

llvm::LogicalResult run(const RunInvocation &invocation);

/// The command line of `attnc bench`.
struct BenchInvocation : CallInvocation {
  /// Sizes of symbols that no given input fixes.
  std::vector<SizeList> sizes;
  /// How long each row is timed.
  double seconds = 1;
  /// Whether inputs are evicted from the caches between calls.
  bool isCold = false;
  /// Whether the times of kernels are printed too; on CPUs.
  bool isProfiled = false;
  bool asJson = false;
};

/// Prints a row for each combination of sizes.
llvm::LogicalResult bench(const BenchInvocation &invocation);

/// The command line of `attnc tune`. Its spec's `schedules` are read, and the better ones written
/// there.
struct TuneInvocation : CallInvocation {
  std::vector<SizeList> sizes;
  /// How long to search, all kernels together.
  double seconds = 60;
  /// The most schedules to try for a kernel; 0: as many as time allows.
  unsigned tries = 0;
  bool asJson = false;
};

/// Searches the schedules of the kernels that calls of these sizes run, and keeps those that are
/// faster in the spec's database.
llvm::LogicalResult tune(const TuneInvocation &invocation);

/// The database of schedules that commands use: `given`, else by ATTNC_SCHEDULES, else
/// attnc/schedules.json in the user's folder of configurations; empty for `none`, or without such a
/// folder.
std::string getSchedulesPath(llvm::StringRef given);

/// The command line of `attnc verify`.
struct VerifyInvocation : CallInvocation {
  /// A spec to compile instead, such as an edited schedule; may be empty.
  std::string kernelPath;
  std::vector<SizeList> sizes;
  bool allCases = false;
  bool asJson = false;
};

/// Prints each result's error and the allowed error; fails if one exceeds it.
llvm::LogicalResult verify(const VerifyInvocation &invocation);

/// The command line of `attnc explain`.
struct ExplainInvocation {
  SpecSource spec;
  std::string target = "host";
  /// Whether masks are drawn: those of a call of these sizes and inputs, random ones if not given.
  bool draws = false;
  std::vector<SizeList> sizes;
  std::vector<InputSource> inputs;
  uint64_t seed = 0;
  bool asJson = false;
};

llvm::LogicalResult explain(const ExplainInvocation &invocation);

/// The command line of `attnc import`.
struct ImportInvocation {
  /// A file .onnx.
  SpecSource spec;
  /// `-` is stdout.
  std::string outputPath = "-";
  /// A file .safetensors for large initializers, which become arguments with `attn.weight`; empty:
  /// they stay constants.
  std::string weightsPath = {};
};

llvm::LogicalResult importModel(const ImportInvocation &invocation);

/// The command line of `attnc runtime`.
struct RuntimeInvocation {
  std::string target = "host";
  std::string outputDir = ".";
  bool useCache = true;
};

/// Writes the runtime shared by libraries compiled without one.
llvm::LogicalResult writeRuntime(const RuntimeInvocation &invocation);

/// The command line of `attnc cache`.
struct CacheInvocation {
  /// Deletes every entry.
  bool clear = false;
  /// Prints the folder and does nothing else.
  bool dirOnly = false;
  /// Deletes entries that are damaged.
  bool verify = false;
  /// Deletes the oldest entries until at most this many bytes are left.
  std::optional<uint64_t> maxBytes;
};

llvm::LogicalResult manageCache(const CacheInvocation &invocation);

} // namespace attnc

#endif // ATTNC_DRIVER_DRIVER_H
