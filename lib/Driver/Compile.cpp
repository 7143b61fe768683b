//===- Compile.cpp - attnc compile ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFolder.h"
#include "Emission.h"
#include "Targets.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Execution/CompileLibrary.h"
#include "attnc/Machine/GpuInfo.h"
#include "attnc/Machine/Target.h"
#include "attnc/Verification/Selftest.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;

static LogicalResult checkKinds(const CompileInvocation &invocation, ArrayRef<Kind> wanted,
                                ArrayRef<std::string> targets) {
  bool toStdout = invocation.outputDir == "-";
  if (toStdout &&
      (invocation.withSelftest || wanted.size() != 1 || !getInfo(wanted.front()).isText))
    return reportUsage("-o -", "expected one kind of text in --emit");
  if (!invocation.withRuntime && llvm::is_contained(wanted, Kind::shared_library))
    return reportUsage("--no-runtime", "expected a static library, found a shared one");
  bool isWasm = mlir::attn::Target(targets.front()).isWasm();
  for (Kind kind : {Kind::shared_library, Kind::cmake_package, Kind::pkg_config})
    if (isWasm && llvm::is_contained(wanted, kind))
      return reportUsage("--target", "expected a target other than wasm for " + getInfo(kind).name +
                                         ", found " + invocation.targets);
  if (llvm::is_contained(wanted, Kind::device_code) && llvm::none_of(targets, hasGpu))
    return reportError("--emit",
                       "expected a GPU in the target of device_code, found " + invocation.targets);
  return success();
}

static LogicalResult addFallback(const CompileInvocation &invocation,
                                 std::vector<std::string> &targets) {
  if (!invocation.fallsBackToCpu)
    return success();
  auto hasGpu = [](const std::string &target) {
    return mlir::attn::GpuInfo::fromTarget(target).has_value();
  };
  auto gpu = llvm::find_if(targets, hasGpu);
  if (gpu == targets.end())
    return reportUsage("--fallback", "expected a target with a GPU, found " + invocation.targets);
  if (std::string cpu = mlir::attn::Target(*gpu).withoutGpu(); !llvm::is_contained(targets, cpu))
    targets.push_back(cpu);
  return success();
}

/// The requested kinds and those they need: a package needs a library and its header.
static SmallVector<Kind> getWantedKinds(const CompileInvocation &invocation) {
  llvm::SmallSetVector<Kind, 8> kinds(invocation.kinds.begin(), invocation.kinds.end());
  if (kinds.empty())
    kinds.insert_range(ArrayRef{Kind::static_library, Kind::c_header, Kind::json});
  if (invocation.isShared)
    kinds.insert(Kind::shared_library);
  if (invocation.withSelftest)
    kinds.insert(Kind::c_header);
  if (!kinds.contains(Kind::cmake_package) && !kinds.contains(Kind::pkg_config))
    return llvm::to_vector(kinds);
  if (!kinds.contains(Kind::shared_library))
    kinds.insert(Kind::static_library);
  kinds.insert(Kind::c_header);
  return llvm::to_vector(kinds);
}

/// `graph` is the spec's, before any pass.
static LogicalResult addSelftest(Spec &spec, Graph &graph, const EmissionOptions &options,
                                 Staging &files) {
  auto texts =
      emitSelftest(spec, graph, options.name, options.targets.front(), options.weightsBeside);
  if (failed(texts))
    return failure();
  for (const auto &[file, text] : *texts)
    if (failed(files.add(file, text)))
      return failure();
  return success();
}

static LogicalResult emit(Spec &spec, const EmissionOptions &options, ArrayRef<Kind> wanted,
                          bool withSelftest, Staging &files) {
  FailureOr<Graph> graph; // before any pass
  if (withSelftest && failed(graph = Graph::copy(spec)))
    return failure();
  if (failed(Emission(spec, options, files).emit(wanted)))
    return failure();
  return withSelftest ? addSelftest(spec, *graph, options, files) : success();
}

LogicalResult attnc::compile(const CompileInvocation &invocation) {
  std::unique_ptr<Spec> spec = Spec::load(invocation.spec);
  if (!spec)
    return failure();
  FailureOr<std::string> name = getLibraryName(invocation.name, spec->getFunction().getName());
  FailureOr<std::vector<std::string>> targets = resolveTargets(invocation.targets);
  if (succeeded(targets) && failed(addFallback(invocation, *targets)))
    return failure();
  SmallVector<Kind> wanted = getWantedKinds(invocation);
  if (failed(name) || failed(targets) || failed(checkKinds(invocation, wanted, *targets)))
    return failure();
  if (llvm::any_of(wanted, definesFunction) && failed(checkSymbolIsFree(*name)))
    return failure();
  bool toStdout = invocation.outputDir == "-";
  std::unique_ptr<Staging> files =
      toStdout ? Staging::openTemporary() : Staging::open(invocation.outputDir);
  if (!files)
    return failure();
  FailureOr<std::string> cacheDir = std::string();
  if (llvm::any_of(wanted, [](Kind kind) { return kind >= Kind::object; }))
    cacheDir = openCache(invocation.useCache);
  if (failed(cacheDir))
    return failure();
  EmissionOptions options{
      *name, *targets, *cacheDir, invocation.withRuntime, invocation.weightsBeside, toStdout};
  if (failed(emit(*spec, options, wanted, invocation.withSelftest, *files)))
    return failure();
  return toStdout ? files->print() : files->commit();
}
