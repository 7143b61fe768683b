//===- CodeGen.cpp - LLVM modules into code -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/CodeGen/CodeGen.h"

#include "attnc/Machine/Target.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace mlir::attn;

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

static void initializeTargets() {
  static bool initialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers(); // attnc_cpu_x86.c has a line of it
    return true;
  }();
  (void)initialized;
}

std::unique_ptr<llvm::TargetMachine>
attn::makeTargetMachine(const llvm::Triple &triple, const MachineOptions &options, Location loc) {
  initializeTargets();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    emitError(loc) << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, options.cpu, options.features, options.options,
                                  options.relocation, std::nullopt, options.level));
}

void attn::setTarget(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

void attn::runPasses(llvm::Module &module, llvm::TargetMachine *machine,
                     function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  build(builder).run(module, modules);
}

FailureOr<std::string> attn::emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                      llvm::CodeGenFileType kind, Location loc) {
  SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, kind))
    return emitError(loc) << "can't emit code for " << machine.getTargetTriple().str();
  passes.run(module);
  return bytes.str().str();
}
