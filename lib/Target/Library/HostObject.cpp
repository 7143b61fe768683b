//===- HostObject.cpp - the host function as an object
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host function, the support code (SupportCode.cpp) and their binding to one spec
// (BindSignature.cpp) become one LLVM module.
//
//===----------------------------------------------------------------------===//

#include "HostObject.h"

#include "BindSignature.h"
#include "Sanitize.h"
#include "SupportCode.h"
#include "Weights.h"

#include "attnc_support.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Host/Passes.h"
#include "attnc/Machine/Target.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static FailureOr<std::string> getWasmTriple(const Target &target, Location loc) {
  if (target.getOS() != "wasmrt")
    return emitError(loc) << "expected wasm-32-wasmrt for a library, found " << target.str();
  if (target.has("wasm_threads"))
    return emitError(loc, "expected a wasm target without threads for a library, found "
                          "wasm_threads");
  return std::string("wasm32-unknown-unknown");
}

FailureOr<std::string> attn::getTriple(StringRef given, Location loc) {
  Target target(given);
  StringRef arch = llvm::StringSwitch<StringRef>(target.getArch())
                       .Case("x86-64", "x86_64")
                       .Case("arm-64", "aarch64")
                       .Case("riscv-64", "riscv64")
                       .Case("wasm-32", "wasm32")
                       .Default("");
  if (arch.empty())
    return emitError(loc) << "expected a 64-bit x86, arm or riscv or a 32-bit wasm target for a "
                             "library, found "
                          << given;
  if (arch == "wasm32")
    return getWasmTriple(target, loc);
  if (target.getOS() != "linux")
    return emitError(loc) << "expected a linux target for a library, found " << given;
  return (arch + "-unknown-linux-gnu").str();
}

/// The host function only checks and calls: baseline code of the architecture will do.
static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(StringRef triple, Location loc) {
  static bool initialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers(); // attnc_cpu_x86.c has a line of it
    return true;
  }();
  (void)initialized;
  std::string error;
  llvm::Triple parsed(triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target) {
    emitError(loc) << error;
    return nullptr;
  }
  llvm::TargetOptions options;
  options.FunctionSections = options.DataSections = true;
  StringRef features = parsed.isRISCV64() ? "+m,+a,+f,+d,+c" : "";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      parsed, parsed.isRISCV64() ? "generic-rv64" : "generic", features, options,
      parsed.isWasm() ? llvm::Reloc::Static : llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static LogicalResult lowerToLLVM(ModuleOp module, bool onDevice) {
  PassManager pm(module.getContext());
  host::HostPlanWorkspaceOptions plan;
  if (onDevice)
    plan.alignment = attnc_opencl_alignment;
  pm.addPass(host::createHostPlanWorkspace(plan));
  ConvertHostToLLVMOptions convert;
  convert.onDevice = onDevice;
  pm.addPass(createConvertHostToLLVM(convert));
  return pm.run(module);
}

static std::unique_ptr<llvm::Module> translate(ModuleOp module, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  return translateModuleToLLVMIR(module, context, "host");
}

static void setTarget(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The support code was optimized when attnc was built: only joining it with the host functions and
/// one signature is left.
static constexpr llvm::StringLiteral kJoin =
    "globaldce,cgscc(inline),globaldce,constmerge,"
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// `isWhole`: kernels and Halide's runtime are in the module as well.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool isWhole) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager passes;
  if (isWhole)
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::Os);
  else
    llvm::cantFail(builder.parsePassPipeline(passes, kJoin));
  passes.run(module, modules);
}

/// Makes the constants a zero-initialised, writable global, which an object does not store. Runs
/// after optimization, which would fold loads to zeros.
static void reserveConstants(llvm::Module &module) {
  llvm::GlobalVariable *constants = module.getNamedGlobal(kConstantsName);
  constants->setConstant(false);
  constants->setInitializer(llvm::Constant::getNullValue(constants->getValueType()));
  constants->setLinkage(llvm::GlobalValue::InternalLinkage);
}

static FailureOr<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                                         Location loc) {
  SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return emitError(loc) << "can't emit objects for " << machine.getTargetTriple().str();
  passes.run(module);
  return bytes.str().str();
}

/// One LLVM module of all variants' host functions.
static std::unique_ptr<llvm::Module> translateAll(MutableArrayRef<Variant> variants,
                                                  StringRef function, llvm::LLVMContext &context) {
  auto result = std::make_unique<llvm::Module>("host", context);
  for (auto [index, variant] : llvm::enumerate(variants)) {
    if (failed(lowerToLLVM(variant.getModule(), variant.isOnDevice())))
      return nullptr;
    std::unique_ptr<llvm::Module> host = translate(variant.getModule(), context);
    if (!host) {
      emitError(variant.getModule().getLoc(), "could not translate the host function to LLVM IR");
      return nullptr;
    }
    nameEntryPoints(*host, function, index);
    llvm::Linker::linkModules(*result, std::move(host));
  }
  return result;
}

/// Links `part`, of the same target, into `module`.
static LogicalResult link(llvm::Module &module, std::unique_ptr<llvm::Module> part,
                          llvm::TargetMachine &machine, Location loc) {
  setTarget(*part, machine);
  if (llvm::Linker::linkModules(module, std::move(part)))
    return emitError(loc, "could not link the parts of the library");
  return success();
}

/// Copies Halide's module flags from `from`, so that linking parts with different ones doesn't
/// warn. Only Halide reads them.
static void takeHalideFlags(llvm::Module &to, const llvm::Module &from) {
  SmallVector<llvm::Module::ModuleFlagEntry> flags;
  from.getModuleFlagsMetadata(flags);
  for (const llvm::Module::ModuleFlagEntry &flag : flags)
    if (flag.Key->getString().starts_with("halide_"))
      to.setModuleFlag(flag.Behavior, flag.Key->getString(), flag.Val);
}

/// Links kernels and Halide's runtime, if they are bitcode.
static LogicalResult linkFiles(llvm::Module &module, ArrayRef<std::string> paths,
                               llvm::TargetMachine &machine, Location loc) {
  for (const std::string &path : paths) {
    llvm::SMDiagnostic error;
    std::unique_ptr<llvm::Module> part = llvm::parseIRFile(path, error, module.getContext());
    if (!part)
      return emitError(loc) << "could not read " << path << ": " << error.getMessage();
    takeHalideFlags(*part, module);
    if (failed(link(module, std::move(part), machine, loc)))
      return failure();
  }
  // Of Halide's runtime, for traces, profiles and caches, which no kernel here uses.
  if (llvm::GlobalVariable *destructors = module.getNamedGlobal("llvm.global_dtors"))
    destructors->eraseFromParent();
  return success();
}

FailureOr<std::string> attn::compileHost(MutableArrayRef<Variant> variants, StringRef function,
                                         const Signature &signature, StringRef metadata,
                                         StringRef triple, const std::optional<GpuInfo> &gpu,
                                         bool withRuntime, uint64_t constantBytes,
                                         ArrayRef<std::string> bitcode) {
  Location loc = variants.front().getModule().getLoc();
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(triple, loc);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> host = translateAll(variants, function, context);
  if (!machine || !host)
    return failure();
  setTarget(*host, *machine);
  for (ArrayRef<unsigned char> part :
       getSupport(machine->getTargetTriple(), gpu, signature.weights.has_value(), withRuntime))
    if (failed(link(*host, loadSupport(part, context), *machine, loc)))
      return failure();
  if (failed(linkFiles(*host, bitcode, *machine, loc)))
    return failure();
  bool isWhole = !bitcode.empty();
  bindSignature(*host, signature, variants, metadata, isWhole);
  optimize(*host, *machine, isWhole);
  sanitize(*host, variants.front().target);
  if (constantBytes > 0)
    reserveConstants(*host);
  return emitObject(*host, *machine, loc);
}

FailureOr<std::string> attn::compileRuntimeSupport(StringRef triple, Location loc) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(triple, loc);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> support = loadSupport(getRuntimeSupport(), context);
  setTarget(*support, *machine);
  optimize(*support, *machine, /*isWhole=*/false);
  return emitObject(*support, *machine, loc);
}
