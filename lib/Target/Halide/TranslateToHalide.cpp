//===- TranslateToHalide.cpp - halide pipelines into libHalide
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements include/attnc/Target/Halide/Export.h: the pipeline becomes Halide objects
// (Translator), which are lowered and compiled.
//
//===----------------------------------------------------------------------===//

#include "attnc/Machine/Target.h"
#include "attnc/Target/Halide/Export.h"

#include "BF16Pairs.h"
#include "BF16Tiles.h"
#include "BoundStack.h"
#include "DevicePass.h"
#include "Diagnostics.h"
#include "FetchAhead.h"
#include "I8Quads.h"
#include "LaunchBounds.h"
#include "MarkedStores.h"
#include "MemoryFiles.h"
#include "RegisterLets.h"
#include "Runtime.h"
#include "Translator.h"

#include "attnc/Files/WholeFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// The CUDA capabilities that attnc has schedules for; the least by default, since newer GPUs run
/// its code as well.
static LogicalResult setCapability(H::Target &target, std::string &error) {
  constexpr std::pair<int, H::Target::Feature> known[] = {{70, H::Target::CUDACapability70},
                                                          {75, H::Target::CUDACapability75},
                                                          {80, H::Target::CUDACapability80},
                                                          {86, H::Target::CUDACapability86}};
  int capability = target.get_cuda_capability_lower_bound();
  constexpr int none = 20;
  if (!target.has_feature(H::Target::CUDA))
    return success();
  if (capability == none)
    target.set_feature(known[0].second);
  if (capability == none || llvm::is_contained(llvm::make_first_range(known), capability))
    return success();
  error = "expected cuda_capability_70, 75, 80, 86 or 90, found " + std::to_string(capability);
  return failure();
}

/// AVX-512 without a CPU's name: LLVM fails on the code that Halide makes of it.
static bool isBareAvx512(const H::Target &target) {
  return target.has_feature(H::Target::AVX512) &&
         !target.features_any_of({H::Target::AVX512_KNL, H::Target::AVX512_Skylake,
                                  H::Target::AVX512_Cannonlake, H::Target::AVX512_SapphireRapids,
                                  H::Target::AVX512_Zen4, H::Target::AVX512_Zen5,
                                  H::Target::AVX10_1});
}

/// Why a feature that Halide has is not one of attnc's targets; empty if it is.
static std::string getRefusal(StringRef feature) {
  constexpr StringLiteral gpus[] = {"metal", "vulkan",  "webgpu", "d3d12",
                                    "hvx",   "hexagon", "spirv"},
                          vectors[] = {"sve", "rvv", "vector_bits_"},
                          tools[] = {"trace_", "fuzz_", "c_plus_plus", "profile",
                                     "check_unsafe_promises"};
  auto begins = [&](StringRef prefix) { return feature.starts_with(prefix); };
  if (llvm::any_of(gpus, begins))
    return "expected cuda or opencl for a GPU, found '" + feature.str() + "'";
  if (llvm::any_of(vectors, begins))
    return "expected vectors of a fixed length, as arm-64 has them without it, found '" +
           feature.str() + "'";
  if (llvm::any_of(tools, begins))
    return "expected features of a CPU or a GPU, found '" + feature.str() + "'";
  return "";
}

/// The word that turns what was a target so far into none; empty if none was.
static StringRef findUnknownFeature(StringRef text) {
  bool wasTarget = false;
  for (size_t end = 0; end != StringRef::npos;) {
    size_t begin = end ? end + 1 : 0;
    end = text.find('-', begin);
    bool isTarget = H::Target::validate_target_string(text.take_front(end).str());
    if (wasTarget && !isTarget)
      return text.slice(begin, end);
    wasTarget = isTarget;
  }
  return "";
}

/// Halide's last capability, and one that it does not know: its pipelines for that are those of the
/// last, which later GPUs run.
static constexpr StringLiteral kLastCapability = "cuda_capability_86";
static constexpr StringLiteral kNextCapability = "cuda_capability_90";

static std::string replaceFeature(StringRef target, StringRef from, StringRef to) {
  auto words = llvm::map_to_vector(llvm::split(target, '-'),
                                   [&](StringRef word) { return word == from ? to : word; });
  return llvm::join(words, "-");
}

static FailureOr<H::Target> parseTarget(StringRef text, std::string &error) {
  std::string resolved = replaceFeature(attn::Target(text).str(), kNextCapability, kLastCapability);
  attn::Target given(resolved);
  for (StringRef feature : given.getFeatures())
    if (error = getRefusal(feature); !error.empty())
      return failure();
  size_t capability = text.find("cuda_capability_");
  error = "expected a target such as 'host' or 'x86-64-linux-avx2', found '" + text.str() + "'";
  if (StringRef feature = findUnknownFeature(resolved); !feature.empty())
    error += ", where '" + feature.str() + "' is no feature that Halide has";
  if (capability != StringRef::npos)
    error = "expected cuda_capability_70, 75, 80, 86 or 90, found '" + text.str() + "'";
  try {
    if (!H::Target::validate_target_string(resolved))
      return failure();
    H::Target target = resolved == "host" ? H::get_host_target() : H::Target(resolved);
    if (failed(setCapability(target, error)))
      return failure();
    if (isBareAvx512(target)) {
      error = "expected AVX-512 of a CPU, such as 'avx512_skylake', found '" + text.str() + "'";
      return failure();
    }
    if (target.os == H::Target::OSUnknown || target.arch == H::Target::ArchUnknown)
      return failure();
    if (target.supported())
      return target;
    error = "expected a target this Halide was built for, found '" + text.str() + "'";
  } catch (const H::Error &exception) {
    error = "Halide: " + StringRef(exception.what()).trim().str();
  }
  return failure();
}

FailureOr<std::string> halide::resolveTarget(StringRef target, std::string &error) {
  FailureOr<H::Target> parsed = parseTarget(target, error);
  if (failed(parsed))
    return failure();
  std::string resolved = parsed->to_string();
  return attn::Target(target).has(kNextCapability)
             ? replaceFeature(resolved, kLastCapability, kNextCapability)
             : resolved;
}

static FailureOr<H::Target> getTarget(StringRef text, Location loc) {
  std::string error;
  FailureOr<H::Target> target = failure();
  auto parse = [&] {
    target = parseTarget(text, error);
    return success();
  };
  (void)guardHalide(parse, [&](StringRef) { return loc; });
  if (failed(target))
    emitError(loc) << error;
  return target;
}

//===----------------------------------------------------------------------===//
// Maps lowering errors back to ops
//===----------------------------------------------------------------------===//

/// The position of `name` as a whole word in `message`.
static size_t findWord(StringRef message, StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = message.find(name); at != StringRef::npos; at = message.find(name, at + 1)) {
    size_t end = at + name.size();
    bool starts = at == 0 || !isPart(message[at - 1]);
    if (starts && (end == message.size() || !isPart(message[end])))
      return at;
  }
  return StringRef::npos;
}

static StringRef getName(Operation &op) {
  if (!isa<InputOp, halide::FuncOp, ExternOp>(op))
    return {};
  return op.getAttrOfType<StringAttr>("name").getValue();
}

/// The directive that places a func, for errors about placement.
static Operation *getPlacement(Operation *definition) {
  for (Operation *user : definition->getUsers())
    if (isa<ComputeAtOp, StoreAtOp, ComputeRootOp, StoreRootOp>(user) &&
        user->getOperand(0) == definition->getResult(0))
      return user;
  return definition;
}

/// Halide's messages name funcs: the first one named is at fault.
static Location locate(PipelineOp pipeline, StringRef message) {
  Operation *best = pipeline;
  size_t bestPlace = StringRef::npos;
  for (Operation &op : pipeline.getBody().front()) {
    StringRef name = getName(op);
    size_t place = name.empty() ? StringRef::npos : findWord(message, name);
    if (place < bestPlace) {
      best = &op;
      bestPlace = place;
    }
  }
  bool isAboutPlace = message.contains("location") || message.contains("compute_at");
  if (best != pipeline && isAboutPlace)
    best = getPlacement(best);
  return best->getLoc();
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

static H::OutputFileType toHalide(Artefact artefact) {
  switch (artefact) {
  case Artefact::object:
    return H::OutputFileType::object;
  case Artefact::bitcode:
    return H::OutputFileType::bitcode;
  case Artefact::assembly:
    return H::OutputFileType::assembly;
  case Artefact::llvm_assembly:
    return H::OutputFileType::llvm_assembly;
  case Artefact::stmt:
    return H::OutputFileType::stmt;
  case Artefact::stmt_html:
    return H::OutputFileType::stmt_html;
  case Artefact::device_code:
    return H::OutputFileType::device_code;
  }
  llvm_unreachable("unknown artefact");
}

static LogicalResult writeFiles(const H::Module &module, const attn::ArtefactPaths &files,
                                Location loc) {
  MemoryFiles memory;
  std::map<H::OutputFileType, std::string> paths;
  for (const auto &[artefact, path] : files)
    paths[toHalide(artefact)] = memory.add(path);
  module.compile(paths);
  return memory.commit(loc);
}

/// Whether the pipeline computes in f64, which some devices lack.
static bool usesDoubles(PipelineOp pipeline) {
  auto walked = pipeline.walk([](Operation *op) {
    bool uses = llvm::any_of(op->getResultTypes(), [](Type type) {
      auto func = dyn_cast<FuncType>(type);
      return (func ? func.getElementType() : type).isF64();
    });
    return uses ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

LogicalResult halide::exportPipeline(PipelineOp pipeline, StringRef targetName,
                                     const attn::ArtefactPaths &files) {
  FailureOr<H::Target> target = getTarget(targetName, pipeline.getLoc());
  if (failed(target))
    return failure();
  // No runtime, and no bounds queries.
  target->set_features({H::Target::UserContext, H::Target::NoRuntime, H::Target::NoBoundsQuery});
  if (target->has_feature(H::Target::OpenCL) && usesDoubles(pipeline))
    target->set_feature(H::Target::CLDoubles);
  Translator translator(pipeline, *target);
  if (failed(translator.translate()))
    return failure();
  auto compile = [&]() -> LogicalResult {
    H::Pipeline lowered = translator.getPipeline();
    BF16PairsPass pairs(*target);
    I8QuadsPass quads(*target);
    BF16TilesPass tiles;
    DevicePass device;
    FetchAheadPass fetchAhead;
    MarkedStoresPass markedStores;
    RegisterLetsPass registerLets;
    BoundStackPass boundStack;
    lowered.add_custom_lowering_pass(&fetchAhead, nullptr);
    lowered.add_custom_lowering_pass(&markedStores, nullptr);
    lowered.add_custom_lowering_pass(&pairs, nullptr);
    lowered.add_custom_lowering_pass(&quads, nullptr);
    lowered.add_custom_lowering_pass(&tiles, nullptr);
    if (target->has_gpu_feature())
      lowered.add_custom_lowering_pass(&device, nullptr);
    else
      lowered.add_custom_lowering_pass(&registerLets, nullptr);
    lowered.add_custom_lowering_pass(&boundStack, nullptr);
    H::Module module = addLaunchBounds(
        lowered.compile_to_module(translator.getArguments(), pipeline.getSymName().str(), *target));
    // Else all that isn't arithmetic, such as predicated loads, promises LLVM that no NaN or
    // infinity is read, and a region's tests for them are folded away.
    module.set_any_strict_float(true);
    for (const std::string &error : {markedStores.getError(), tiles.getError(), device.getError()})
      if (!error.empty())
        return pipeline.emitError(error);
    return writeFiles(module, files, pipeline.getLoc());
  };
  return guardHalide(compile, [&](StringRef message) { return locate(pipeline, message); });
}

namespace {
struct PipelineTarget : attn::KernelTargetOpInterface::ExternalModel<PipelineTarget, PipelineOp> {
  LogicalResult compileKernel(Operation *op, StringRef target,
                              const attn::ArtefactPaths &files) const {
    return exportPipeline(cast<PipelineOp>(op), target, files);
  }
};
} // namespace

void halide::registerKernelTarget(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HalideDialect *) {
    PipelineOp::attachInterface<PipelineTarget>(*context);
  });
}

static LogicalResult writeObject(StringRef bytes, StringRef path, Location loc) {
  if (auto error = mlir::attn::writeWholeFile(path, [&](raw_ostream &os) { os << bytes; }))
    return emitError(loc) << "could not write " << path << ": " << error.message();
  return success();
}

LogicalResult halide::exportRuntime(StringRef target, Artefact artefact, StringRef path,
                                    Location loc) {
  FailureOr<H::Target> parsed = getTarget(target, loc);
  if (failed(parsed))
    return failure();
  // The runtime tests CPU features, so it must itself run on any CPU.
  if (!parsed->has_gpu_feature())
    *parsed = H::Target(parsed->os, parsed->arch, parsed->bits);
  parsed->set_feature(H::Target::UserContext);
  StringRef known = findRuntime(parsed->to_string());
  if (artefact == Artefact::object && !known.empty())
    return writeObject(known, path, loc);
  auto compile = [&] {
    // The module of the runtime has no functions.
    return writeFiles(H::Module("runtime", *parsed), {{artefact, path.str()}}, loc);
  };
  return guardHalide(compile, [&](StringRef) { return loc; });
}
