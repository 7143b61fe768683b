//===- CodeGen.h - LLVM modules into code -----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_CODEGEN_CODEGEN_H
#define ATTNC_TARGET_CODEGEN_CODEGEN_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

namespace mlir::attn {

/// LLVM's triple of an attnc target that libraries are made for; an error at `loc` if it is none.
FailureOr<std::string> getTriple(StringRef target, Location loc);

struct MachineOptions {
  StringRef cpu = "generic", features;
  llvm::TargetOptions options;
  std::optional<llvm::Reloc::Model> relocation;
  llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default;
};

/// Null, with an error at `loc`, if LLVM was built without the triple's target.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const llvm::Triple &triple,
                                                       const MachineOptions &options, Location loc);
void setTarget(llvm::Module &module, llvm::TargetMachine &machine);

/// Runs the passes that `build` returns.
void runPasses(llvm::Module &module, llvm::TargetMachine *machine,
               function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build);

/// The bytes of an object or of assembly.
FailureOr<std::string> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                llvm::CodeGenFileType kind, Location loc);

} // namespace mlir::attn

#endif // ATTNC_TARGET_CODEGEN_CODEGEN_H
