//===- Compile.cpp - attnc compile ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "About.h"
#include "Cache.h"
#include "Files.h"
#include "Options.h"
#include "Selftest.h"
#include "Spec.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Interfaces/KernelOpInterface.h"
#include "attnc/Machine/GpuInfo.h"
#include "attnc/Machine/Target.h"
#include "attnc/Target/Library/Library.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::Artefact;
using mlir::attn::KernelOpInterface;
namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

namespace {
/// In the order in which they are made: of the graph, of each group, of the library.
enum class Kind {
  attn,
  fused,
  halide,
  stmt,
  stmt_html,
  llvm_assembly,
  assembly,
  device_code,
  object,
  static_library,
  shared_library,
  cmake_package,
  pkg_config,
  sbom,
  c_header,
  json
};

struct KindInfo {
  Kind kind;
  StringRef name, extension, text;
  bool isText;
  /// What each group is compiled to.
  std::optional<Artefact> artefact;
};
} // namespace

static const KindInfo kinds[] = {
    {Kind::attn, "attn", "attn.mlir", "the graph, simplified", true, {}},
    {Kind::fused, "fused", "fused.mlir", "the graph after fusion, with schedules chosen", true, {}},
    {Kind::halide, "halide", "halide.mlir", "each group's algorithm and schedule", true, {}},
    {Kind::stmt, "stmt", "stmt", "each group's loops, lowered", true, Artefact::stmt},
    {Kind::stmt_html, "stmt_html", "stmt.html", "the same with links and colours", true,
     Artefact::stmt_html},
    {Kind::llvm_assembly, "llvm_assembly", "ll", "each group in LLVM's words", true,
     Artefact::llvm_assembly},
    {Kind::assembly, "assembly", "s", "each group's assembly", true, Artefact::assembly},
    {Kind::object, "object", "o", "all in one relocatable object", false, {}},
    {Kind::static_library, "static_library", "a", "that object as libNAME.a", false, {}},
    {Kind::shared_library, "shared_library", "so", "the same as libNAME.so", false, {}},
    {Kind::cmake_package, "cmake_package", "cmake", "files for CMake's find_package", false, {}},
    {Kind::pkg_config, "pkg_config", "pc", "NAME.pc for pkg-config", false, {}},
    {Kind::sbom, "sbom", "cdx.json", "what is inside the library, in CycloneDX", true, {}},
    {Kind::c_header, "c_header", "h", "the C declarations, with dlpack.h beside", true, {}},
    {Kind::json, "json", "json", "inputs, outputs, target, schedules and FLOPs", true, {}},
    {Kind::device_code, "device_code", "ptx", "each group's code for a GPU: PTX, or OpenCL C (.cl)",
     true, Artefact::device_code},
};

/// Whether the function is in it.
static bool definesFunction(Kind kind) {
  return kind == Kind::object || kind == Kind::static_library || kind == Kind::shared_library;
}

static const KindInfo &getInfo(Kind kind) {
  return *llvm::find_if(kinds, [&](const KindInfo &info) { return info.kind == kind; });
}

namespace {
/// Says which kinds there are where one is wrong.
struct KindParser : cl::parser<Kind> {
  using parser::parser;
  void initialize() {
    for (const KindInfo &info : kinds)
      addLiteralOption(info.name, info.kind, info.text);
  }
  bool parse(cl::Option &option, StringRef name, StringRef text, Kind &kind) {
    for (const KindInfo &info : kinds)
      if (info.name == text) {
        kind = info.kind;
        return false;
      }
    auto names = llvm::map_range(kinds, [](const KindInfo &info) { return info.name; });
    return option.error("expected one of " + llvm::join(names, ", ") + ", found '" + text + "'");
  }
};
} // namespace

/// Code for a GPU is called after its language.
static StringRef getExtension(const KindInfo &info, StringRef target) {
  auto gpu = mlir::attn::GpuInfo::fromTarget(target);
  if (info.kind != Kind::device_code || !gpu)
    return info.extension;
  return gpu->api == mlir::attn::GpuApi::cuda ? "ptx" : "cl";
}

static cl::list<Kind, bool, KindParser> emit("emit", cl::CommaSeparated, cl::cat(category()),
                                             cl::sub(compileCommand()),
                                             cl::desc("What to write (default: static_library,"
                                                      "c_header,json):"));
static cl::opt<bool> shared("shared", cl::cat(category()), cl::sub(compileCommand()),
                            cl::desc("Write a shared library too"));

static cl::opt<bool> noRuntime("no-runtime", cl::cat(category()), cl::sub(compileCommand()),
                               cl::desc("Leave Halide's runtime out of the static library: it is "
                                        "linked with libattnc_runtime.a, which `attnc runtime` "
                                        "writes, once for all such libraries of a program"));

static cl::opt<bool> weightsBeside(
    "weights-beside", cl::cat(category()), cl::sub(compileCommand()),
    cl::desc("Keep large constants out of the library, in NAME.weights.safetensors, which "
             "NAME_load maps into memory; processes share it"));

static cl::opt<bool> withSelftest("with-selftest", cl::cat(category()), cl::sub(compileCommand()),
                                  cl::desc("Write NAME_selftest.c too: a program that compares the "
                                           "library, on any machine, with the reference"));

enum class Fallback { none, cpu };
static cl::opt<Fallback>
    fallback("fallback", cl::init(Fallback::none), cl::cat(category()), cl::sub(compileCommand()),
             cl::desc("What a library for a GPU does where there is none (default: none):"),
             cl::values(clEnumValN(Fallback::none, "none", "calls return a status"),
                        clEnumValN(Fallback::cpu, "cpu", "calls run on the CPU")));

static constexpr llvm::StringLiteral examples = R"(
SPEC is .mlir text or bytecode at any stage: a graph in the attn dialect, a fused graph, or
halide pipelines whose schedule you have edited. Files appear when all of them are done.
Kinds that exist once a group are named NAME.GROUP.EXT where there are several groups.

Examples:
  attnc compile spec.mlir -o out             out/libNAME.a, NAME.h, NAME.json and dlpack.h
  cc main.c out/libNAME.a -lm -lpthread -ldl
  attnc compile spec.mlir -o out --target x86-64-linux-avx2-fma --name attend
  attnc compile spec.mlir -o out --target x86-64-linux,x86-64-linux-avx2,x86-64-linux-avx512_skylake
  attnc compile spec.mlir -o out --shared --emit cmake_package,pkg_config
  attnc compile spec.mlir -o out --emit static_library,c_header,sbom
  attnc compile spec.mlir -o out --weights model.safetensors
  attnc compile spec.mlir -o out --weights model.safetensors --weights-beside
  attnc compile spec.mlir -o out --with-selftest
  cc out/NAME_selftest.c out/libNAME.a -lm -lpthread -ldl -o selftest && ./selftest
  attnc compile spec.mlir -o out --no-runtime && attnc runtime -o out
  cc main.c out/libNAME.a out/libattnc_runtime.a -lm -lpthread -ldl
  attnc compile spec.mlir --emit halide -o - > tuned.mlir
  attnc compile tuned.mlir --emit stmt,assembly -o out
)";

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {
class Emission {
public:
  Emission(Spec &spec, StringRef name, ArrayRef<std::string> targets, Staging &files, bool toStdout)
      : spec(spec), name(name), targets(targets), files(files), toStdout(toStdout) {}

  LogicalResult emit(ArrayRef<Kind> wanted);

private:
  LogicalResult emitGraph();
  LogicalResult emitStage(Kind kind, Stage stage);
  LogicalResult schedule();
  LogicalResult emitGroups(ArrayRef<Kind> wanted, mlir::attn::LibrarySource source);
  LogicalResult emitLibrary(ArrayRef<Kind> wanted);
  LogicalResult writeLibrary(ArrayRef<Kind> wanted, const mlir::attn::Library &library);
  LogicalResult addSharedLibrary(const mlir::attn::Library &library);
  LogicalResult addPackages(ArrayRef<Kind> wanted);
  Location getLoc() { return spec.getFunction().getLoc(); }
  LogicalResult checkStage(Kind kind, Stage stage);
  std::string getStem(StringRef target);
  std::string getGroupFile(KernelOpInterface group, bool single, StringRef target,
                           StringRef extension);

  Spec &spec;
  StringRef name;
  ArrayRef<std::string> targets;
  Staging &files;
  bool toStdout;
  /// Read before linking resets what the command line said.
  bool withRuntime = !noRuntime;
  /// The spec scheduled for each target.
  std::vector<OwningOpRef<ModuleOp>> scheduled;
  std::vector<mlir::attn::LibrarySource> sources;
};
} // namespace

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
    if (failed(emitGroups(wanted, source)))
      return failure();
  return emitLibrary(wanted);
}

LogicalResult Emission::checkStage(Kind kind, Stage stage) {
  if (spec.getStage() <= stage)
    return success();
  return reportError(specPath, "expected a graph to emit " + getInfo(kind).name +
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

/// What follows the target is there once a target.
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

/// Groups are named FUNCTION_OP_N; the function's name is in NAME already.
std::string Emission::getGroupFile(KernelOpInterface group, bool single, StringRef target,
                                   StringRef extension) {
  StringRef label = group.getName();
  label.consume_front((spec.getFunction().getName() + "_").str());
  return (name + (single ? "" : "." + label) + (targets.size() == 1 ? "" : "." + target) + "." +
          extension)
      .str();
}

static bool hasGpu(StringRef target) { return mlir::attn::Target(target).hasGpu(); }

LogicalResult Emission::emitGroups(ArrayRef<Kind> wanted, mlir::attn::LibrarySource source) {
  SmallVector<const KindInfo *> infos;
  for (Kind kind : wanted)
    if (getInfo(kind).artefact && (kind != Kind::device_code || hasGpu(source.target)))
      infos.push_back(&getInfo(kind));
  if (infos.empty())
    return success();
  auto groups = llvm::to_vector(source.module.getOps<KernelOpInterface>());
  for (auto [index, group] : llvm::enumerate(groups)) {
    Progress progress("[" + Twine(index + 1) + "/" + Twine(groups.size()) + "] " + group.getName());
    mlir::attn::ArtefactPaths paths;
    for (const KindInfo *info : infos)
      paths[*info->artefact] = files.add(getGroupFile(group, groups.size() == 1, source.target,
                                                      getExtension(*info, source.target)));
    if (failed(group.compile(source.target, paths)))
      return failure();
  }
  return success();
}

LogicalResult Emission::emitLibrary(ArrayRef<Kind> wanted) {
  if (llvm::none_of(wanted, [](Kind kind) { return kind >= Kind::object; }))
    return success();
  FailureOr<std::string> cacheDir = openCache();
  if (failed(cacheDir))
    return failure();
  mlir::attn::LibraryOptions options;
  options.name = name.str();
  options.function = spec.getFunction().getName().str();
  options.cacheDir = *cacheDir;
  options.withRuntime = withRuntime;
  options.weightsBeside = weightsBeside;
  if (failed(describeSpec(spec, targets.front(), options)))
    return failure();
  FailureOr<mlir::attn::Library> library = attnc::buildLibrary(sources, options);
  return failed(library) ? failure() : writeLibrary(wanted, *library);
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
  if (wants(Kind::c_header) &&
      (failed(files.add(stem + ".h", library.header)) ||
       (!toStdout && failed(files.add("dlpack.h", mlir::attn::getDlpackHeader())))))
    return failure();
  if (wants(Kind::json) && failed(files.add(stem + ".json", library.metadata)))
    return failure();
  if (wants(Kind::sbom) && failed(files.add(stem + ".cdx.json", emitSbom(library, withRuntime))))
    return failure();
  std::string weightsFile = mlir::attn::getWeightsFileName(name);
  if (llvm::any_of(wanted, definesFunction) && !library.weights.isEmpty() &&
      failed(library.weights.write(files.add(weightsFile), getLoc())))
    return failure();
  return addPackages(wanted);
}

/// Programs are linked with libNAME.so and run with the file of that version.
LogicalResult Emission::addSharedLibrary(const mlir::attn::Library &library) {
  std::string file = mlir::attn::getSharedFileName(name);
  if (failed(writeSharedLibrary(library, files.add(file), getLoc())))
    return failure();
  files.addLink(("lib" + name + ".so").str(), file);
  return success();
}

LogicalResult Emission::addPackages(ArrayRef<Kind> wanted) {
  auto wants = [&](Kind kind) { return llvm::is_contained(wanted, kind); };
  mlir::attn::PackageOptions options;
  options.isStatic = wants(Kind::static_library);
  options.isShared = wants(Kind::shared_library);
  options.needsRuntime = !withRuntime;
  if (wants(Kind::cmake_package))
    for (const auto &[file, text] : mlir::attn::emitCMakePackage(name, options))
      if (failed(files.add(file, text)))
        return failure();
  if (wants(Kind::pkg_config) &&
      failed(files.add((name + ".pc").str(), mlir::attn::emitPkgConfig(name, options))))
    return failure();
  if (llvm::none_of(wanted, definesFunction))
    return success();
  return files.add((name + "-licenses.txt").str(), mlir::attn::getLicenses());
}

//===----------------------------------------------------------------------===//
// attnc compile
//===----------------------------------------------------------------------===//

static LogicalResult checkKinds(ArrayRef<Kind> wanted, ArrayRef<std::string> targets) {
  bool toStdout = outputDir == "-";
  if (toStdout && (withSelftest || wanted.size() != 1 || !getInfo(wanted.front()).isText))
    return reportUsage("-o -", "expected one kind of text in --emit");
  if (noRuntime && llvm::is_contained(wanted, Kind::shared_library))
    return reportUsage("--no-runtime", "expected a static library, found a shared one");
  bool isWasm = mlir::attn::Target(targets.front()).isWasm();
  for (Kind kind : {Kind::shared_library, Kind::cmake_package, Kind::pkg_config})
    if (isWasm && llvm::is_contained(wanted, kind))
      return reportUsage("--target", "expected a target other than wasm for " + getInfo(kind).name +
                                         ", found " + targetName);
  if (llvm::is_contained(wanted, Kind::device_code) && llvm::none_of(targets, hasGpu))
    return reportError("--emit",
                       "expected a GPU in the target of device_code, found " + targetName);
  return success();
}

static LogicalResult addFallback(std::vector<std::string> &targets) {
  if (fallback == Fallback::none)
    return success();
  auto hasGpu = [](const std::string &target) {
    return mlir::attn::GpuInfo::fromTarget(target).has_value();
  };
  auto gpu = llvm::find_if(targets, hasGpu);
  if (gpu == targets.end())
    return reportUsage("--fallback", "expected a target with a GPU, found " + targetName);
  if (std::string cpu = mlir::attn::Target(*gpu).withoutGpu(); !llvm::is_contained(targets, cpu))
    targets.push_back(cpu);
  return success();
}

/// What `--emit` and `--shared` ask for. A package is of a library and its header.
static SmallVector<Kind> getWantedKinds() {
  llvm::SmallSetVector<Kind, 8> kinds(emit.begin(), emit.end());
  if (kinds.empty())
    kinds.insert_range(ArrayRef{Kind::static_library, Kind::c_header, Kind::json});
  if (shared)
    kinds.insert(Kind::shared_library);
  if (withSelftest)
    kinds.insert(Kind::c_header);
  if (!kinds.contains(Kind::cmake_package) && !kinds.contains(Kind::pkg_config))
    return llvm::to_vector(kinds);
  if (!kinds.contains(Kind::shared_library))
    kinds.insert(Kind::static_library);
  kinds.insert(Kind::c_header);
  return llvm::to_vector(kinds);
}

static LogicalResult runCompile() {
  std::unique_ptr<Spec> spec = Spec::load();
  if (!spec)
    return failure();
  FailureOr<std::string> name = getLibraryName(spec->getFunction().getName());
  FailureOr<std::vector<std::string>> targets = getTargets();
  if (succeeded(targets) && failed(addFallback(*targets)))
    return failure();
  SmallVector<Kind> wanted = getWantedKinds();
  if (failed(name) || failed(targets) || failed(checkKinds(wanted, *targets)))
    return failure();
  if (llvm::any_of(wanted, definesFunction) && failed(checkSymbolIsFree(*name)))
    return failure();
  bool toStdout = outputDir == "-";
  std::unique_ptr<Staging> files = toStdout ? Staging::openTemporary() : Staging::open(outputDir);
  if (!files)
    return failure();
  FailureOr<Graph> graph;          // of the spec as it was written
  bool hasWeights = weightsBeside; // read before linking resets it
  if (withSelftest && failed(graph = Graph::copy(*spec)))
    return failure();
  if (failed(Emission(*spec, *name, *targets, *files, toStdout).emit(wanted)))
    return failure();
  if (succeeded(graph) &&
      failed(addSelftest(*spec, *graph, *name, targets->front(), hasWeights, *files)))
    return failure();
  return toStdout ? files->print() : files->commit();
}

const Command attnc::compile = {compileCommand(), runCompile, examples};
