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
#include "Profile.h"
#include "Sanitize.h"
#include "SupportCode.h"
#include "Weights.h"

#include "attnc_support.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Host/Passes.h"
#include "attnc/Interfaces/KernelOpInterface.h"
#include "attnc/Target/CodeGen/CodeGen.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::attn;

/// The host function only checks and calls: baseline code of the architecture will do.
static std::unique_ptr<llvm::TargetMachine> makeHostMachine(StringRef triple, Location loc) {
  llvm::Triple parsed(triple);
  MachineOptions options;
  options.options.FunctionSections = options.options.DataSections = true;
  options.relocation = parsed.isWasm() ? llvm::Reloc::Static : llvm::Reloc::PIC_;
  if (parsed.isRISCV64()) {
    options.cpu = "generic-rv64";
    options.features = "+m,+a,+f,+d,+c";
  }
  return makeTargetMachine(parsed, options, loc);
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
  runPasses(module, &machine, [&](llvm::PassBuilder &builder) {
    if (isWhole)
      return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::Os);
    llvm::ModulePassManager passes;
    llvm::cantFail(builder.parsePassPipeline(passes, kJoin));
    return passes;
  });
}

/// Makes the constants a zero-initialised, writable global, which an object does not store. Runs
/// after optimization, which would fold loads to zeros.
static void reserveConstants(llvm::Module &module) {
  llvm::GlobalVariable *constants = module.getNamedGlobal(kConstantsName);
  if (!constants) // no kernel reads them
    return;
  constants->setConstant(false);
  constants->setInitializer(llvm::Constant::getNullValue(constants->getValueType()));
  constants->setLinkage(llvm::GlobalValue::InternalLinkage);
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

/// Lowering erases the kernels.
static std::vector<std::string> getKernelNames(ModuleOp module) {
  std::vector<std::string> names;
  for (auto kernel : module.getOps<KernelOpInterface>())
    names.push_back(kernel.getName().str());
  return names;
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
  std::unique_ptr<llvm::TargetMachine> machine = makeHostMachine(triple, loc);
  llvm::LLVMContext context;
  std::vector<std::string> kernels = getKernelNames(variants.front().getModule());
  std::unique_ptr<llvm::Module> host = translateAll(variants, function, context);
  if (!machine || !host)
    return failure();
  if (signature.isProfiled)
    profileKernels(*host, kernels, signature.getProfileSymbol());
  setTarget(*host, *machine);
  for (ArrayRef<unsigned char> part :
       getSupport(machine->getTargetTriple(), gpu, signature, withRuntime))
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
  return emitCode(*host, *machine, llvm::CodeGenFileType::ObjectFile, loc);
}

FailureOr<std::string> attn::compileRuntimeSupport(StringRef triple, Location loc) {
  std::unique_ptr<llvm::TargetMachine> machine = makeHostMachine(triple, loc);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> support = loadSupport(getRuntimeSupport(), context);
  setTarget(*support, *machine);
  optimize(*support, *machine, /*isWhole=*/false);
  return emitCode(*support, *machine, llvm::CodeGenFileType::ObjectFile, loc);
}
