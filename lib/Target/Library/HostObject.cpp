//===- HostObject.cpp - the host function as an object
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host function, the support code (C, kept in the compiler as bitcode) and what
// ties them to one spec become one LLVM module: the signature as constants, and
// the public functions, whose number of parameters is the spec's.
//
//===----------------------------------------------------------------------===//

#include "HostObject.h"

#include "attnc_support.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Halide/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
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
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace mlir::attn;

/// attnc_*.c as bitcode.
static constexpr unsigned char supportBitcode[] = {
#include "attnc_support.bc.inc"
};
static constexpr unsigned char runtimeBitcode[] = {
#include "attnc_runtime.bc.inc"
};
static constexpr unsigned char weightsBitcode[] = {
#include "attnc_weights.bc.inc"
};
static constexpr unsigned char noWeightsBitcode[] = {
#include "attnc_no_weights.bc.inc"
};
static constexpr unsigned char cpuBitcode[] = {
#include "attnc_cpu_x86.bc.inc"
};
static constexpr unsigned char deviceBitcode[] = {
#include "attnc_device.bc.inc"
};
static constexpr unsigned char cudaBitcode[] = {
#include "attnc_cuda.bc.inc"
};
static constexpr unsigned char openClBitcode[] = {
#include "attnc_opencl.bc.inc"
};
static constexpr unsigned char noDeviceBitcode[] = {
#include "attnc_no_device.bc.inc"
};

/// The same with pointers of 32 bits.
static constexpr unsigned char supportWasmBitcode[] = {
#include "attnc_support_wasm.bc.inc"
};
static constexpr unsigned char runtimeWasmBitcode[] = {
#include "attnc_runtime_wasm.bc.inc"
};
static constexpr unsigned char noDeviceWasmBitcode[] = {
#include "attnc_no_device_wasm.bc.inc"
};
static constexpr unsigned char noWeightsWasmBitcode[] = {
#include "attnc_no_weights_wasm.bc.inc"
};

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static FailureOr<std::string> getWasmTriple(ArrayRef<StringRef> words, Location loc) {
  if (words[2] != "wasmrt")
    return emitError(loc) << "expected wasm-32-wasmrt for a library, found "
                          << llvm::join(words, "-");
  if (llvm::is_contained(words, "wasm_threads"))
    return emitError(loc, "expected a wasm target without threads for a library, found "
                          "wasm_threads");
  return std::string("wasm32-unknown-unknown");
}

bool attn::isWasm(StringRef target) { return target.starts_with("wasm-"); }

FailureOr<std::string> attn::getTriple(StringRef target, Location loc) {
  SmallVector<StringRef> words;
  target.split(words, '-');
  if (words.size() < 3)
    return emitError(loc) << "expected a target as in x86-64-linux, found " << target;
  StringRef arch = llvm::StringSwitch<StringRef>((words[0] + "-" + words[1]).str())
                       .Case("x86-64", "x86_64")
                       .Case("arm-64", "aarch64")
                       .Case("riscv-64", "riscv64")
                       .Case("wasm-32", "wasm32")
                       .Default("");
  if (arch.empty())
    return emitError(loc) << "expected a 64-bit x86, arm or riscv or a 32-bit wasm target for a "
                             "library, found "
                          << target;
  if (arch == "wasm32")
    return getWasmTriple(words, loc);
  if (words[2] != "linux")
    return emitError(loc) << "expected a linux target for a library, found " << target;
  return (arch + "-unknown-linux-gnu").str();
}

/// The host function only checks and calls: any CPU of the architecture will do.
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
  halide::HalidePlanWorkspaceOptions plan;
  if (onDevice)
    plan.alignment = attnc_opencl_alignment;
  pm.addPass(halide::createHalidePlanWorkspace(plan));
  ConvertHalideToLLVMOptions convert;
  convert.onDevice = onDevice;
  pm.addPass(createConvertHalideToLLVM(convert));
  return pm.run(module);
}

static std::unique_ptr<llvm::Module> translate(ModuleOp module, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  return translateModuleToLLVMIR(module, context, "host");
}

static std::unique_ptr<llvm::Module> load(ArrayRef<unsigned char> bitcode,
                                          llvm::LLVMContext &context) {
  StringRef bytes(reinterpret_cast<const char *>(bitcode.data()), bitcode.size());
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "support"), context);
  if (!module)
    llvm::report_fatal_error(module.takeError());
  // Compiled for one target and fit for all of its word size: nothing in it depends on more.
  for (llvm::Function &function : **module)
    for (StringRef attribute : {"target-cpu", "target-features", "tune-cpu"})
      function.removeFnAttr(attribute);
  return std::move(*module);
}

static void setTarget(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

namespace {

/// Ties the support code to one spec.
class Binder {
public:
  Binder(llvm::Module &module, const Signature &signature)
      : module(module), signature(signature), builder(module.getContext()),
        pointer(builder.getPtrTy()) {}

  void defineSignature(ArrayRef<Variant> variants);
  void defineFeatures();
  void defineEntry(StringRef name, bool withOptions);
  void defineDescribe(StringRef metadata);
  void rename(StringRef from, const std::string &to);

private:
  llvm::Constant *text(StringRef value);
  llvm::Constant *number(int64_t value, unsigned bits) {
    return llvm::ConstantInt::get(builder.getIntNTy(bits), value, /*IsSigned=*/true);
  }
  llvm::Constant *array(ArrayRef<llvm::Constant *> elements);
  llvm::Constant *dims(const Tensor &tensor, unsigned index);
  llvm::Constant *variant(const Variant &variant, unsigned index);
  llvm::Constant *weights();

  llvm::Module &module;
  const Signature &signature;
  llvm::IRBuilder<> builder;
  llvm::PointerType *pointer;
  /// Where each symbol was seen first.
  llvm::StringMap<std::pair<unsigned, unsigned>> symbols;
};

} // namespace

llvm::Constant *Binder::text(StringRef value) {
  return builder.CreateGlobalString(value, "text", 0, &module);
}

/// A constant array of its own, or null when it is empty.
llvm::Constant *Binder::array(ArrayRef<llvm::Constant *> elements) {
  if (elements.empty())
    return llvm::ConstantPointerNull::get(pointer);
  auto *type = llvm::ArrayType::get(elements.front()->getType(), elements.size());
  return new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                  llvm::GlobalValue::PrivateLinkage,
                                  llvm::ConstantArray::get(type, elements));
}

/// attnc_dim[rank].
llvm::Constant *Binder::dims(const Tensor &tensor, unsigned index) {
  std::vector<llvm::Constant *> result;
  for (auto [position, dim] : llvm::enumerate(tensor.dims)) {
    std::pair<int, int> like{-1, -1};
    if (!dim.symbol.empty()) {
      auto [seen, isNew] = symbols.try_emplace(dim.symbol, index, position);
      if (!isNew)
        like = seen->second;
    }
    llvm::Constant *symbol =
        dim.symbol.empty() ? llvm::ConstantPointerNull::get(pointer) : text(dim.symbol);
    result.push_back(llvm::ConstantStruct::getAnon(
        {number(dim.extent, 64), symbol, number(like.first, 32), number(like.second, 32)}));
  }
  return array(result);
}

static std::string getEntryName(StringRef entry, unsigned variant) {
  return ("attnc_" + entry + "_" + Twine(variant)).str();
}

/// attnc_variant.
llvm::Constant *Binder::variant(const Variant &variant, unsigned index) {
  return llvm::ConstantStruct::getAnon({text(variant.target), number(variant.features, 64),
                                        module.getFunction(getEntryName("host", index)),
                                        module.getFunction(getEntryName("workspace", index))});
}

/// const attnc_weights *.
llvm::Constant *Binder::weights() {
  if (!signature.weights)
    return llvm::ConstantPointerNull::get(pointer);
  return array({llvm::ConstantStruct::getAnon(
      {text(signature.name), text(signature.weights->sha256),
       number(signature.weights->dataOffset, 64), number(signature.weights->fileBytes, 64)})});
}

/// attnc_the_signature, with the layouts of attnc_support.h.
void Binder::defineSignature(ArrayRef<Variant> variants) {
  std::vector<llvm::Constant *> choices;
  for (auto [index, each] : llvm::enumerate(variants))
    choices.push_back(variant(each, index));
  std::vector<llvm::Constant *> tensors;
  size_t maxRank = 0;
  for (auto [index, tensor] : llvm::enumerate(signature.tensors)) {
    maxRank = std::max(maxRank, tensor.dims.size());
    tensors.push_back(llvm::ConstantStruct::getAnon(
        {text(tensor.name), dims(tensor, index), number(tensor.dims.size(), 32),
         number(tensor.code, 8), number(tensor.bits, 8), number(tensor.isOutput, 8),
         number(tensor.inPlaceOf ? int64_t(*tensor.inPlaceOf) : -1, 32)}));
  }
  llvm::Constant *value = llvm::ConstantStruct::getAnon(
      {array(tensors), array(choices), weights(), number(tensors.size(), 32),
       number(choices.size(), 32), number(maxRank, 32)});
  auto *declared = module.getNamedGlobal("attnc_the_signature");
  auto *defined = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                           llvm::GlobalValue::InternalLinkage, value, "signature");
  declared->replaceAllUsesWith(defined);
  declared->eraseFromParent();
}

/// Where a CPU's features decide nothing.
void Binder::defineFeatures() {
  llvm::Function *function = module.getFunction("attnc_cpu_features");
  if (!function->isDeclaration())
    return;
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(number(0, 64));
}

/// int NAME([const NAME_options *,] const DLTensor *…, DLTensor *…).
void Binder::defineEntry(StringRef name, bool withOptions) {
  size_t count = signature.tensors.size();
  std::vector<llvm::Type *> parameters(count + withOptions, pointer);
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), parameters, /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  auto *tensors = builder.CreateAlloca(llvm::ArrayType::get(pointer, count));
  for (size_t i = 0; i < count; ++i)
    builder.CreateStore(function->getArg(i + withOptions),
                        builder.CreateConstGEP2_64(tensors->getAllocatedType(), tensors, 0, i));
  llvm::Value *options = withOptions ? static_cast<llvm::Value *>(function->getArg(0))
                                     : llvm::ConstantPointerNull::get(pointer);
  builder.CreateRet(builder.CreateCall(module.getFunction("attnc_call"), {options, tensors}));
}

/// const char *NAME_describe(void).
void Binder::defineDescribe(StringRef metadata) {
  auto *type = llvm::FunctionType::get(pointer, /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                          signature.name + "_describe", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  builder.CreateRet(text(metadata));
}

void Binder::rename(StringRef from, const std::string &to) {
  if (llvm::GlobalValue *value = module.getNamedValue(from))
    value->setName(to);
}

/// The packed entry points take the names that the binder looks for; all else is the
/// variant's own, and constants that several have become one.
static void nameEntryPoints(llvm::Module &host, StringRef function, unsigned variant) {
  host.getFunction((function + "_host").str())->setName(getEntryName("host", variant));
  host.getFunction((function + "_workspace_host").str())
      ->setName(getEntryName("workspace", variant));
  for (auto [from, to] :
       {std::pair{function.str(), "host"}, {(function + "_workspace").str(), "host_workspace"}}) {
    llvm::Function *entry = host.getFunction(from);
    entry->setName(to);
    entry->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalVariable &global : host.globals())
    if (global.isConstant())
      global.setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
}

static void bindAll(llvm::Module &module, const Signature &signature, ArrayRef<Variant> variants,
                    StringRef metadata, bool isWhole) {
  Binder binder(module, signature);
  binder.defineSignature(variants);
  binder.defineFeatures();
  binder.defineEntry(signature.name, /*withOptions=*/false);
  binder.defineEntry(signature.name + "_ex", /*withOptions=*/true);
  binder.defineDescribe(metadata);
  for (StringRef suffix :
       {"call", "workspace", "last_error", "target", "release", "load", "unload"})
    binder.rename(("attnc_" + suffix).str(), (signature.name + "_" + suffix).str());
  llvm::StringSet<> global;
  if (!isWhole) // kernels and Halide's runtime, linked later, call
    global.insert_range(ArrayRef<StringRef>{"halide_error", "halide_print", "halide_malloc",
                                            "halide_free", "halide_do_par_for",
                                            "halide_load_library", "halide_cuda_acquire_context",
                                            "halide_cuda_get_stream", "halide_acquire_cl_context"});
  for (const std::string &symbol : signature.symbols()) {
    global.insert(symbol);
    module.getNamedValue(symbol)->setVisibility(llvm::GlobalValue::DefaultVisibility);
  }
  llvm::internalizeModule(
      module, [&](const llvm::GlobalValue &value) { return global.contains(value.getName()); });
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The support code was optimized when attnc was built: what is left is to put it, the host
/// functions and one signature together.
static constexpr llvm::StringLiteral kJoin =
    "globaldce,cgscc(inline),globaldce,constmerge,"
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// `isWhole` says that kernels and Halide's runtime are in the module as well.
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

/// The parts of the support code that a library is made of.
static SmallVector<ArrayRef<unsigned char>> getSupport(const llvm::Triple &triple,
                                                       const std::optional<GpuInfo> &gpu,
                                                       bool hasWeights, bool withRuntime) {
  if (triple.isWasm())
    return {supportWasmBitcode, noDeviceWasmBitcode, noWeightsWasmBitcode, runtimeWasmBitcode};
  SmallVector<ArrayRef<unsigned char>> parts{
      supportBitcode, hasWeights ? ArrayRef(weightsBitcode) : ArrayRef(noWeightsBitcode)};
  if (gpu)
    parts.append({deviceBitcode,
                  gpu->api == GpuApi::cuda ? ArrayRef(cudaBitcode) : ArrayRef(openClBitcode)});
  else
    parts.push_back(noDeviceBitcode);
  if (withRuntime)
    parts.push_back(runtimeBitcode);
  if (triple.isX86())
    parts.push_back(cpuBitcode);
  return parts;
}

/// Links `part`, of the same target, into `module`.
static LogicalResult link(llvm::Module &module, std::unique_ptr<llvm::Module> part,
                          llvm::TargetMachine &machine, Location loc) {
  setTarget(*part, machine);
  if (llvm::Linker::linkModules(module, std::move(part)))
    return emitError(loc, "could not link the parts of the library");
  return success();
}

/// Kernels and Halide's runtime, where they are bitcode.
static LogicalResult linkFiles(llvm::Module &module, ArrayRef<std::string> paths,
                               llvm::TargetMachine &machine, Location loc) {
  for (const std::string &path : paths) {
    llvm::SMDiagnostic error;
    std::unique_ptr<llvm::Module> part = llvm::parseIRFile(path, error, module.getContext());
    if (!part)
      return emitError(loc) << "could not read " << path << ": " << error.getMessage();
    if (failed(link(module, std::move(part), machine, loc)))
      return failure();
  }
  // Of Halide's runtime, for what no kernel here leaves behind: traces, profiles, caches.
  if (llvm::GlobalVariable *destructors = module.getNamedGlobal("llvm.global_dtors"))
    destructors->eraseFromParent();
  return success();
}

FailureOr<std::string> attn::compileHost(MutableArrayRef<Variant> variants, StringRef function,
                                         const Signature &signature, StringRef metadata,
                                         StringRef triple, const std::optional<GpuInfo> &gpu,
                                         bool withRuntime, ArrayRef<std::string> bitcode) {
  Location loc = variants.front().getModule().getLoc();
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(triple, loc);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> host = translateAll(variants, function, context);
  if (!machine || !host)
    return failure();
  setTarget(*host, *machine);
  for (ArrayRef<unsigned char> part :
       getSupport(machine->getTargetTriple(), gpu, signature.weights.has_value(), withRuntime))
    if (failed(link(*host, load(part, context), *machine, loc)))
      return failure();
  if (failed(linkFiles(*host, bitcode, *machine, loc)))
    return failure();
  bool isWhole = !bitcode.empty();
  bindAll(*host, signature, variants, metadata, isWhole);
  optimize(*host, *machine, isWhole);
  return emitObject(*host, *machine, loc);
}

FailureOr<std::string> attn::compileRuntimeSupport(StringRef triple, Location loc) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(triple, loc);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> support = load(runtimeBitcode, context);
  setTarget(*support, *machine);
  optimize(*support, *machine, /*isWhole=*/false);
  return emitObject(*support, *machine, loc);
}
