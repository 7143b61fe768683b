//===- Sanitize.cpp - sanitizers for a library's own code -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sanitize.h"

#include "attnc/Machine/Target.h"
#include "attnc/Target/CodeGen/CodeGen.h"

#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/SanitizerCoverage.h"

using namespace mlir;

/// The coverage of `clang -fsanitize=fuzzer`.
static llvm::SanitizerCoverageOptions getCoverageOptions() {
  llvm::SanitizerCoverageOptions options;
  options.CoverageType = llvm::SanitizerCoverageOptions::SCK_Edge;
  options.IndirectCalls = options.TraceCmp = true;
  options.Inline8bitCounters = options.PCTable = true;
  return options;
}

static void addAddressSanitizer(llvm::Module &module, llvm::ModulePassManager &passes) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  // Registered one by one: the alternative needs a common symbol, which can't be made local.
  passes.addPass(
      llvm::AddressSanitizerPass(llvm::AddressSanitizerOptions(), /*UseGlobalGC=*/false));
}

void attn::sanitize(llvm::Module &module, StringRef target) {
  Target parsed(target);
  runPasses(module, /*machine=*/nullptr, [&](llvm::PassBuilder &) {
    llvm::ModulePassManager passes;
    if (parsed.has("sanitizer_coverage"))
      passes.addPass(llvm::SanitizerCoveragePass(getCoverageOptions()));
    if (parsed.has("asan"))
      addAddressSanitizer(module, passes);
    return passes;
  });
}
