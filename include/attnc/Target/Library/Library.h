//===- Library.h - from scheduled pipelines to a library --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step: kernels from Target/Halide, the host function through LLVM and the small C support
// code become one relocatable object. Static and shared libraries and immediate runs are all made
// from it.
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

/// The input for one target.
struct LibrarySource {
  /// A Halide target.
  std::string target;
  /// At the scheduled halide stage; not modified.
  ModuleOp module;
};

struct LibraryOptions {
  /// The C symbol, and the stem of every file; the function's name when empty.
  std::string name;
  /// The function to compile; may be empty if there is only one.
  std::string function;
  /// Folder of compiled kernels, by content hash; no caching if empty.
  std::string cacheDir;
  /// If false, the library needs the runtime of buildRuntime.
  bool withRuntime = true;
  /// Large constants are kept in a file that NAME_load maps.
  bool weightsBeside = false;
  /// Exports the times of kernels on a CPU as NAME_profile: for each of the module's, in order,
  /// int64_t nanoseconds and calls, of all calls of the library.
  bool isProfiled = false;
  /// Describes the function: a sentence, and lines of formulas. ASCII.
  std::string summary;
  std::vector<std::string> formulas;
  /// Metadata fields beyond those read from the host function.
  llvm::json::Object about;
};

/// The bytes of a file. Constants are not copied: they are written from the modules that hold them,
/// whose context must outlive this.
struct FileContent {
  std::string start;
  /// Written after `start`, in order.
  std::vector<StringRef> parts = {};
  /// Owns parts that nothing else stores.
  std::shared_ptr<const void> owner = {};

  bool isEmpty() const { return start.empty() && parts.empty(); }
  /// SHA-256 in hexadecimal digits.
  std::string sha256() const;
  /// Writes all or nothing; errors are diagnostics at `loc`.
  LogicalResult write(StringRef path, Location loc) const;
};

/// A compiled spec, the source of every artefact.
struct Library {
  std::string name;
  /// One relocatable object. It exports NAME, NAME_ex, NAME_call, NAME_workspace, NAME_last_error,
  /// NAME_target and NAME_describe, and the functions that some options need; it imports only the C
  /// library.
  FileContent object;
  /// NAME.h, C99, and the names and texts of those that it or its users include: dlpack.h; of a
  /// function whose sequence is spread attnc_exchange.h and attnc_mpi.h.
  std::string header;
  std::vector<std::pair<StringRef, StringRef>> headersBeside;
  /// The weights file to write beside the library (getWeightsFileName); empty if all constants are
  /// inside.
  FileContent weights;
  /// NAME.json: inputs, outputs, shapes, target, pipelines; NAME_describe returns it too.
  std::string metadata;
};

/// Compiles the host function and the pipelines of each source: one spec, scheduled for several
/// targets. A call runs the best variant for its CPU; the order of `sources` doesn't matter. Errors
/// are diagnostics at the op that caused them.
FailureOr<Library> buildLibrary(ArrayRef<LibrarySource> sources, const LibraryOptions &options);

/// The runtime shared by libraries compiled without one, for the architecture and OS of `target`.
/// It has an object and a name, and no header.
FailureOr<Library> buildRuntime(StringRef target, StringRef cacheDir, Location loc);

/// Writes a library; errors are diagnostics at `loc`. Nothing is left half-written. A shared
/// library links nothing: the program that loads it provides the C library.
LogicalResult writeStaticLibrary(const Library &library, StringRef path, Location loc);
LogicalResult writeSharedLibrary(const Library &library, StringRef path, Location loc);

/// The soname of a shared library: libNAME.so.ABI.
std::string getSharedFileName(StringRef name);

/// The name of a library's file of weights: NAME.weights.safetensors.
std::string getWeightsFileName(StringRef name);

/// The licences of the code inside every library.
std::string getLicenses();

/// NAME.cdx.json: the licences as a CycloneDX bill of materials.
std::string emitSbom(const Library &library, bool withRuntime);

/// The contents of a package.
struct PackageOptions {
  bool isStatic = true, isShared = false;
  /// Whether the library needs the runtime of buildRuntime.
  bool needsRuntime = false;
};

/// The files, by name, for CMake's find_package(NAME) of libraries in the same folder: the target
/// NAME::NAME, and NAME::NAME_shared if there are both.
std::map<std::string, std::string> emitCMakePackage(StringRef name, const PackageOptions &options);

/// NAME.pc for the same.
std::string emitPkgConfig(StringRef name, const PackageOptions &options);

} // namespace mlir::attn

#endif // ATTNC_TARGET_LIBRARY_LIBRARY_H
