//===- SpecFuzzer.cpp - specs, up to the host function in LLVM's dialect --===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What attnc does before libHalide: text is parsed and verified, calls are put in place, the
// graph is fused, scheduled and converted. The steps are those of lib/Spec/Spec.cpp.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Host/Passes.h"
#include "attnc/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace attnc::fuzz;

/// Runs the passes that `build` adds; they fail with a diagnostic or leave what verifies.
static bool run(Session &session, ModuleOp module, StringRef step,
                llvm::function_ref<void(PassManager &)> build) {
  PassManager passes(session.getContext());
  passes.enableVerifier(false);
  build(passes);
  bool done = succeeded(passes.run(module));
  session.check(module, done, step);
  return done;
}

/// The only public function with a body; null where there is none, or several.
static func::FuncOp findFunction(ModuleOp module) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !function.isPrivate()) {
      if (found)
        return nullptr;
      found = function;
    }
  return found;
}

/// Whether it is a graph that attnc takes.
static bool isGraph(func::FuncOp function) {
  return function.getNumResults() > 0 &&
         llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>) &&
         llvm::all_of(function.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
         !function.walk([](func::CallOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static void lower(Session &session, ModuleOp module, StringRef target) {
  mlir::attn::AttnPipelineOptions options;
  options.target = target.str();
  if (!run(session, module, "fusing",
           [&](PassManager &passes) { mlir::attn::buildFusionPipeline(passes, options); }) ||
      !run(session, module, "scheduling",
           [&](PassManager &passes) { mlir::attn::buildSchedulePipeline(passes, options); }))
    return;
  bool onDevice = target.contains("opencl");
  run(session, module, "converting to LLVM", [&](PassManager &passes) {
    passes.addPass(host::createHostPlanWorkspace());
    ConvertHostToLLVMOptions convert;
    convert.onDevice = onDevice;
    passes.addPass(createConvertHostToLLVM(convert));
  });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Session session;
  std::string text(reinterpret_cast<const char *>(data), size); // ends with a zero
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(session.getContext()), "spec.mlir");
  require(module || session.hasErrors(), "parsing failed without a diagnostic");
  if (!module || !findFunction(*module) ||
      !run(session, *module, "inlining", mlir::attn::buildGraphPipeline))
    return 0;
  func::FuncOp function = findFunction(*module);
  if (!function || !isGraph(function))
    return 0;
  OwningOpRef<ModuleOp> copy(module->clone());
  lower(session, *module, "x86-64-linux-avx2-f16c-fma");
  if (!session.hasErrors())
    lower(session, *copy, "x86-64-linux-opencl");
  return 0;
}
