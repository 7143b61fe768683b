//===- Emission.h - the files of a compiled spec ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_EMISSION_H
#define ATTNC_LIB_DRIVER_EMISSION_H

#include "OutputFiles.h"

#include "attnc/Driver/Artefact.h"
#include "attnc/Spec/Spec.h"
#include "attnc/Target/Library/Library.h"

namespace attnc {

struct EmissionOptions {
  /// The C function and the stem of every file.
  std::string name;
  /// Halide targets in full.
  llvm::ArrayRef<std::string> targets;
  /// Empty without a cache.
  std::string cacheDir;
  bool withRuntime = true, weightsBeside = false, toStdout = false;
};

/// Adds the files of the requested kinds to `files`.
class Emission {
public:
  Emission(Spec &spec, EmissionOptions options, Staging &files)
      : spec(spec), options(std::move(options)), name(this->options.name),
        targets(this->options.targets), files(files) {}

  llvm::LogicalResult emit(llvm::ArrayRef<Kind> wanted);

private:
  llvm::LogicalResult emitGraph();
  llvm::LogicalResult emitStage(Kind kind, Stage stage);
  llvm::LogicalResult schedule();
  llvm::LogicalResult emitKernels(llvm::ArrayRef<Kind> wanted, mlir::attn::LibrarySource source);
  llvm::LogicalResult emitLibrary(llvm::ArrayRef<Kind> wanted);
  llvm::LogicalResult writeLibrary(llvm::ArrayRef<Kind> wanted, const mlir::attn::Library &library);
  llvm::LogicalResult addHeaders(const mlir::attn::Library &library);
  llvm::LogicalResult addSharedLibrary(const mlir::attn::Library &library);
  llvm::LogicalResult addPackages(llvm::ArrayRef<Kind> wanted);
  mlir::Location getLoc() { return spec.getFunction().getLoc(); }
  llvm::LogicalResult checkStage(Kind kind, Stage stage);
  std::string getStem(llvm::StringRef target);
  std::string getKernelFile(mlir::attn::KernelOpInterface kernel, bool single,
                            llvm::StringRef target, llvm::StringRef extension);

  Spec &spec;
  EmissionOptions options;
  llvm::StringRef name;
  llvm::ArrayRef<std::string> targets;
  Staging &files;
  /// The spec scheduled for each target.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> scheduled;
  std::vector<mlir::attn::LibrarySource> sources;
};

/// Whether a target has any GPU API of Halide.
bool hasGpu(llvm::StringRef target);

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_EMISSION_H
