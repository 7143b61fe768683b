//===- Kernel.cpp - compile and call a pipeline from a test
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "attnc/Target/Halide/Export.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace mlir;

static std::string makeFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "attnc-unit-XXXXXX").string();
  return mkdtemp(path.data());
}

std::string attnc::test::readFile(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

static void loadDialects(MLIRContext &context) {
  context.loadDialect<halide::HalideDialect, arith::ArithDialect, math::MathDialect>();
}

static std::string describe(Diagnostic &diagnostic) {
  auto loc = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  return std::to_string(loc ? loc.getLine() : 0) + ": " + diagnostic.str() + "\n";
}

/// Objects for `pipeline` and Halide's runtime in `folder`.
static LogicalResult compile(halide::PipelineOp pipeline, const std::string &folder) {
  return success(succeeded(halide::exportPipeline(
                     pipeline, {}, {{halide::Artefact::object, folder + "/kernel.o"},
                                    {halide::Artefact::stmt, folder + "/kernel.stmt"}})) &&
                 succeeded(halide::exportRuntime("host", folder + "/runtime.o",
                                                 pipeline.getLoc())));
}

attnc::test::Kernel::Kernel(const std::string &ir) : folder(makeFolder()) {
  MLIRContext context;
  loadDialects(context);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += describe(diagnostic);
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(ir, &context);
  if (!module)
    return;
  halide::PipelineOp pipeline = *module->getOps<halide::PipelineOp>().begin();
  if (failed(compile(pipeline, folder)))
    return;
  lowered = readFile(folder + "/kernel.stmt");
  std::string command = std::string(ATTNC_CC) + " -shared -o " + folder + "/kernel.so " + folder +
                        "/kernel.o " + folder + "/runtime.o -lm -lpthread -ldl";
  if (std::system(command.c_str()) == 0)
    library = dlopen((folder + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library)
    function = dlsym(library, pipeline.getSymName().str().c_str());
}

attnc::test::Kernel::~Kernel() {
  if (library)
    dlclose(library);
  std::filesystem::remove_all(folder);
}

int attnc::test::Kernel::operator()(std::vector<halide_buffer_t *> b) const {
  using B = halide_buffer_t *;
  const void *context = nullptr;
  if (!function)
    return -1000;
  switch (b.size()) {
  case 1:
    return reinterpret_cast<int (*)(const void *, B)>(function)(context, b[0]);
  case 2:
    return reinterpret_cast<int (*)(const void *, B, B)>(function)(context, b[0], b[1]);
  case 3:
    return reinterpret_cast<int (*)(const void *, B, B, B)>(function)(context, b[0], b[1], b[2]);
  default:
    return -1001;
  }
}
