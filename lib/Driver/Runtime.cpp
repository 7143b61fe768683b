//===- Runtime.cpp - attnc runtime ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFolder.h"
#include "OutputFiles.h"
#include "Targets.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Spec/Place.h"
#include "attnc/Target/Library/Library.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace attnc;

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

LogicalResult attnc::writeRuntime(const RuntimeInvocation &invocation) {
  if (invocation.outputDir == "-")
    return reportUsage("-o -", "expected a folder, for a library and what describes it");
  FailureOr<std::string> target = resolveTarget(invocation.target);
  FailureOr<std::string> cacheDir = openCache(invocation.useCache);
  if (failed(target) || failed(cacheDir))
    return failure();
  std::unique_ptr<Staging> files = Staging::open(invocation.outputDir);
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
