//===- OnnxFuzzer.cpp - models from strangers -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of a model, imported and simplified as `attnc import` does.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "attnc/Import/Onnx/Import.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace attnc::fuzz;

static void simplify(Session &session, mlir::ModuleOp module) {
  mlir::PassManager passes(session.getContext());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.enableVerifier(false);
  session.check(module, mlir::succeeded(passes.run(module)), "simplifying");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static InputFile file("model.onnx");
  file.write(llvm::StringRef(reinterpret_cast<const char *>(data), size));
  Session session;
  auto module = mlir::attn::importOnnx(file.getPath(), session.getContext());
  session.check(module.get(), bool(module), "import");
  if (module)
    simplify(session, *module);
  return 0;
}
