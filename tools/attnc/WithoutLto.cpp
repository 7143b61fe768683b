//===- WithoutLto.cpp - what portable attnc leaves out of lld -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld references Polly and all of LLVM's targets for link-time optimization, which attnc does not
// use. These definitions keep them out of the program.
//
//===----------------------------------------------------------------------===//

#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/ErrorHandling.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  llvm::report_fatal_error("expected no link-time optimization");
}

#define OTHER_TARGET(NAME)                                                                         \
  extern "C" void LLVMInitialize##NAME##TargetInfo() {}                                            \
  extern "C" void LLVMInitialize##NAME##Target() {}                                                \
  extern "C" void LLVMInitialize##NAME##TargetMC() {}                                              \
  extern "C" void LLVMInitialize##NAME##AsmPrinter() {}                                            \
  extern "C" void LLVMInitialize##NAME##AsmParser() {}
#include "OtherTargets.inc"
