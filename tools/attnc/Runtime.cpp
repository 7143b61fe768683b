//===- Runtime.cpp - attnc runtime ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Files.h"
#include "Options.h"
#include "Spec.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Target/Library/Library.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace attnc;

static constexpr llvm::StringLiteral examples = R"(
A library of `attnc compile` holds Halide's runtime, 100 KB and more. A program with many of
them links it once: compile each with --no-runtime, and add this library. It fits any of the
same version of attnc's interface and the same machine, whatever their CPU features are; with
another version the program doesn't link.

Examples:
  attnc runtime -o out               out/libattnc_runtime.a, its CMake package and .pc
  attnc runtime -o out --target arm-64-linux
  attnc compile spec.mlir -o out --no-runtime
  cc main.c out/libNAME.a out/libattnc_runtime.a -lm -lpthread -ldl
)";

static LogicalResult addFiles(const mlir::attn::Library &runtime, Staging &files, Location loc) {
  if (failed(writeStaticLibrary(runtime, files.add("lib" + runtime.name + ".a"), loc)) ||
      failed(files.add(runtime.name + ".pc", mlir::attn::emitPkgConfig(runtime.name, {}))) ||
      failed(files.add(runtime.name + "-licenses.txt", mlir::attn::getLicenses())))
    return failure();
  for (const auto &[file, text] : mlir::attn::emitCMakePackage(runtime.name, {}))
    if (failed(files.add(file, text)))
      return failure();
  return success();
}

static LogicalResult runRuntime() {
  FailureOr<std::string> target = getTarget();
  FailureOr<std::string> cacheDir = openCache();
  if (failed(target) || failed(cacheDir))
    return failure();
  std::unique_ptr<Staging> files = Staging::open(outputDir);
  if (!files)
    return failure();
  MLIRContext context;
  Location loc = UnknownLoc::get(&context);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      (void)reportError("--target", diagnostic.str());
    else
      reportNote(describePlace(diagnostic.getLocation()) + ": " + diagnostic.str());
    return success();
  });
  FailureOr<mlir::attn::Library> library = mlir::attn::buildRuntime(*target, *cacheDir, loc);
  if (failed(library) || failed(addFiles(*library, *files, loc)))
    return failure();
  return files->commit();
}

const Command attnc::runtime = {runtimeCommand(), runRuntime, examples};
