//===- Emission.cpp - the files of a compiled spec ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Execution/CompileLibrary.h"
#include "attnc/Explain/SpecSummary.h"
#include "attnc/Machine/Target.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::KernelOpInterface;

LogicalResult Emission::emit(ArrayRef<Kind> wanted) {
  if (llvm::is_contained(wanted, Kind::attn) && failed(emitGraph()))
    return failure();
  for (auto [kind, stage] :
       {std::pair{Kind::fused, Stage::Fused}, {Kind::halide, Stage::Scheduled}})
    if (llvm::is_contained(wanted, kind) && failed(emitStage(kind, stage)))
      return failure();
  if (llvm::all_of(wanted, [](Kind kind) { return kind <= Kind::halide; }))
    return success();
  if (failed(schedule()))
    return failure();
  for (mlir::attn::LibrarySource source : sources)
    if (failed(emitKernels(wanted, source)))
      return failure();
  return emitLibrary(wanted);
}

LogicalResult Emission::checkStage(Kind kind, Stage stage) {
  if (spec.getStage() <= stage)
    return success();
  return reportError(spec.getPath(), "expected a graph to emit " + getInfo(kind).name +
                                         " from, found halide pipelines");
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os); // unlike <<, with the constants' data
  os << '\n';
  return text;
}

LogicalResult Emission::emitGraph() {
  if (failed(checkStage(Kind::attn, Stage::Graph)) || failed(spec.simplify()))
    return failure();
  return files.add((name + "." + getInfo(Kind::attn).extension).str(), print(spec.getModule()));
}

/// The stem of kinds made once per target.
std::string Emission::getStem(StringRef target) {
  return (name + (targets.size() == 1 ? "" : "." + target)).str();
}

LogicalResult Emission::emitStage(Kind kind, Stage stage) {
  if (failed(checkStage(kind, stage)))
    return failure();
  for (StringRef target : targets) {
    OwningOpRef<ModuleOp> module = spec.getLowered(stage, target);
    if (!module ||
        failed(files.add(getStem(target) + "." + getInfo(kind).extension.str(), print(*module))))
      return failure();
  }
  return success();
}

LogicalResult Emission::schedule() {
  for (const std::string &target : targets) {
    scheduled.push_back(spec.getLowered(Stage::Scheduled, target));
    if (!scheduled.back())
      return failure();
    sources.push_back({target, *scheduled.back()});
  }
  return success();
}

/// Kernels are named FUNCTION_OP_N; NAME already has the function's name.
std::string Emission::getKernelFile(KernelOpInterface kernel, bool single, StringRef target,
                                    StringRef extension) {
  StringRef label = kernel.getName();
  label.consume_front((spec.getFunction().getName() + "_").str());
  return (name + (single ? "" : "." + label) + (targets.size() == 1 ? "" : "." + target) + "." +
          extension)
      .str();
}

bool attnc::hasGpu(StringRef target) { return mlir::attn::Target(target).hasGpu(); }

LogicalResult Emission::emitKernels(ArrayRef<Kind> wanted, mlir::attn::LibrarySource source) {
  SmallVector<const KindInfo *> infos;
  for (Kind kind : wanted)
    if (getInfo(kind).artefact && (kind != Kind::device_code || hasGpu(source.target)))
      infos.push_back(&getInfo(kind));
  if (infos.empty())
    return success();
  auto kernels = llvm::to_vector(source.module.getOps<KernelOpInterface>());
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    Progress progress("[" + Twine(index + 1) + "/" + Twine(kernels.size()) + "] " +
                      kernel.getName());
    mlir::attn::ArtefactPaths paths;
    for (const KindInfo *info : infos)
      paths[*info->artefact] = files.add(getKernelFile(kernel, kernels.size() == 1, source.target,
                                                       getExtension(*info, source.target)));
    if (failed(kernel.compile(source.target, paths)))
      return failure();
  }
  return success();
}

LogicalResult Emission::emitLibrary(ArrayRef<Kind> wanted) {
  if (llvm::none_of(wanted, [](Kind kind) { return kind >= Kind::object; }))
    return success();
  mlir::attn::LibraryOptions library;
  library.name = name.str();
  library.function = spec.getFunction().getName().str();
  library.cacheDir = options.cacheDir;
  library.withRuntime = options.withRuntime;
  library.weightsBeside = options.weightsBeside;
  if (failed(describeSpec(spec, targets.front(), library)))
    return failure();
  FailureOr<mlir::attn::Library> compiled = compileLibrary(sources, library);
  return failed(compiled) ? failure() : writeLibrary(wanted, *compiled);
}

LogicalResult Emission::writeLibrary(ArrayRef<Kind> wanted, const mlir::attn::Library &library) {
  auto wants = [&](Kind kind) { return llvm::is_contained(wanted, kind); };
  std::string stem = name.str();
  if (wants(Kind::object) && failed(library.object.write(files.add(stem + ".o"), getLoc())))
    return failure();
  if (wants(Kind::static_library) &&
      failed(writeStaticLibrary(library, files.add("lib" + stem + ".a"), getLoc())))
    return failure();
  if (wants(Kind::shared_library) && failed(addSharedLibrary(library)))
    return failure();
  if (wants(Kind::c_header) && failed(addHeaders(library)))
    return failure();
  if (wants(Kind::json) && failed(files.add(stem + ".json", library.metadata)))
    return failure();
  if (wants(Kind::sbom) &&
      failed(files.add(stem + ".cdx.json", emitSbom(library, options.withRuntime))))
    return failure();
  std::string weightsFile = mlir::attn::getWeightsFileName(name);
  if (llvm::any_of(wanted, definesFunction) && !library.weights.isEmpty() &&
      failed(library.weights.write(files.add(weightsFile), getLoc())))
    return failure();
  return addPackages(wanted);
}

LogicalResult Emission::addHeaders(const mlir::attn::Library &library) {
  if (failed(files.add((name + ".h").str(), library.header)))
    return failure();
  if (!options.toStdout)
    for (const auto &[file, text] : library.headersBeside)
      if (failed(files.add(file, text)))
        return failure();
  return success();
}

/// Programs link libNAME.so, and load the versioned file at run time.
LogicalResult Emission::addSharedLibrary(const mlir::attn::Library &library) {
  std::string file = mlir::attn::getSharedFileName(name);
  if (failed(writeSharedLibrary(library, files.add(file), getLoc())))
    return failure();
  files.addLink(("lib" + name + ".so").str(), file);
  return success();
}

LogicalResult Emission::addPackages(ArrayRef<Kind> wanted) {
  auto wants = [&](Kind kind) { return llvm::is_contained(wanted, kind); };
  mlir::attn::PackageOptions package;
  package.isStatic = wants(Kind::static_library);
  package.isShared = wants(Kind::shared_library);
  package.needsRuntime = !options.withRuntime;
  if (wants(Kind::cmake_package))
    for (const auto &[file, text] : mlir::attn::emitCMakePackage(name, package))
      if (failed(files.add(file, text)))
        return failure();
  if (wants(Kind::pkg_config) &&
      failed(files.add((name + ".pc").str(), mlir::attn::emitPkgConfig(name, package))))
    return failure();
  if (llvm::none_of(wanted, definesFunction))
    return success();
  return files.add((name + "-licenses.txt").str(), mlir::attn::getLicenses());
}
