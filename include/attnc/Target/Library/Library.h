//===- Library.h - from scheduled pipelines to a library --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step: kernels from Target/Halide, the host function through LLVM and
// the small C support code become one relocatable object. A static library, a
// shared one and a run at once are made of that object and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_LIBRARY_LIBRARY_H
#define ATTNC_TARGET_LIBRARY_LIBRARY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mlir::attn {

/// What to compile for one target.
struct LibrarySource {
  /// A Halide target.
  std::string target;
  /// At the scheduled halide stage; left as it is.
  ModuleOp module;
};

struct LibraryOptions {
  /// The C symbol, and the stem of every file; the function's name when empty.
  std::string name;
  /// Which function of the module; may be empty when there is only one.
  std::string function;
  /// Folder of compiled groups, by content; no caching when empty.
  std::string cacheDir;
  /// Without it the library is linked with the one of buildRuntime.
  bool withRuntime = true;
  /// Large constants are kept in a file that NAME_load maps.
  bool weightsBeside = false;
  /// What the function computes: a sentence, and lines of formulas. ASCII.
  std::string summary;
  std::vector<std::string> formulas;
  /// What the metadata says beside what the host function tells.
  llvm::json::Object about;
};

/// What a file holds. Constants are not copied into it: they are written from where the modules
/// that it was made of hold them, whose context has to be there.
struct FileContent {
  std::string start;
  /// What follows, one behind the other.
  std::vector<StringRef> parts = {};
  /// The bytes of parts that lie nowhere else.
  std::shared_ptr<const void> owner = {};

  bool isEmpty() const { return start.empty() && parts.empty(); }
  /// Hexadecimal digits.
  std::string sha256() const;
  /// All or nothing; errors are diagnostics at `loc`.
  LogicalResult write(StringRef path, Location loc) const;
};

/// A compiled spec: what every artefact is made of.
struct Library {
  std::string name;
  /// One relocatable object. It exports NAME, NAME_ex, NAME_call, NAME_workspace,
  /// NAME_last_error, NAME_target and NAME_describe, some more where the options ask for what
  /// needs them, and asks for nothing but the C library.
  FileContent object;
  /// NAME.h, C99, needs dlpack.h only.
  std::string header;
  /// What is written beside the library as getWeightsFileName; empty where all constants are
  /// within.
  FileContent weights;
  /// NAME.json: inputs, outputs, shapes, target, pipelines; NAME_describe gives it too.
  std::string metadata;
};

/// Compiles the host function and the pipelines of each source, which are one spec
/// scheduled for each of several targets. A call runs the best that its CPU can run; the
/// order of `sources` is no matter. Errors are diagnostics at the op that caused them.
FailureOr<Library> buildLibrary(ArrayRef<LibrarySource> sources, const LibraryOptions &options);

/// The runtime that libraries without one of their own share, for the architecture and the
/// system of `target`. It has an object and a name, and no header.
FailureOr<Library> buildRuntime(StringRef target, StringRef cacheDir, Location loc);

/// Writes a library; errors are diagnostics at `loc`. Nothing is left half-written. A
/// shared library links nothing: what it takes from the C library, whoever loads it has.
LogicalResult writeStaticLibrary(const Library &library, StringRef path, Location loc);
LogicalResult writeSharedLibrary(const Library &library, StringRef path, Location loc);

/// The name that a shared library has for the dynamic linker: libNAME.so.ABI.
std::string getSharedFileName(StringRef name);

/// The name of a library's file of weights: NAME.weights.safetensors.
std::string getWeightsFileName(StringRef name);

/// The text of dlpack.h, to be written beside NAME.h.
StringRef getDlpackHeader();

/// The licences of what is inside every library.
std::string getLicenses();

/// NAME.cdx.json: the same for machines, as a bill of materials in CycloneDX.
std::string emitSbom(const Library &library, bool withRuntime);

/// What a package is of.
struct PackageOptions {
  bool isStatic = true, isShared = false;
  /// Whether the library needs the one of buildRuntime.
  bool needsRuntime = false;
};

/// The files, by name, with which CMake's find_package(NAME) finds libraries in the same
/// folder: the target NAME::NAME, and NAME::NAME_shared where there are both.
std::map<std::string, std::string> emitCMakePackage(StringRef name, const PackageOptions &options);

/// NAME.pc for the same.
std::string emitPkgConfig(StringRef name, const PackageOptions &options);

} // namespace mlir::attn

#endif // ATTNC_TARGET_LIBRARY_LIBRARY_H
