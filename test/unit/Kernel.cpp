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

static LogicalResult compile(halide::PipelineOp pipeline, const std::string &target,
                             const std::string &folder) {
  return halide::exportPipeline(pipeline, target,
                                {{halide::Artefact::object, folder + "/kernel.o"},
                                 {halide::Artefact::stmt, folder + "/kernel.stmt"}});
}

/// Halide's runtime, compiled once for all tests.
static const std::string &getRuntime(MLIRContext &context) {
  static std::string path;
  if (path.empty()) {
    path = makeFolder() + "/runtime.o";
    (void)halide::exportRuntime("host", halide::Artefact::object, path, UnknownLoc::get(&context));
  }
  return path;
}

/// A C function that calls the kernel with as many buffers as it takes.
static void writeCaller(halide::PipelineOp pipeline, const std::string &path) {
  Region &body = pipeline.getBody();
  size_t count = llvm::range_size(body.getOps<halide::InputOp>()) +
                 llvm::range_size(body.getOps<halide::OutputOp>());
  std::ofstream file(path);
  std::string name = pipeline.getSymName().str();
  file << "int " << name << "();\nint call(void **b) { return " << name << "((void *)0";
  for (size_t i = 0; i < count; ++i)
    file << ", b[" << i << "]";
  file << "); }\n";
}

static void *link(const std::string &folder, const std::string &runtime) {
  std::string command = std::string(ATTNC_CC) + " -std=c99 -w -shared -fPIC -o " + folder +
                        "/kernel.so " + folder + "/caller.c " + folder + "/kernel.o " + runtime +
                        " -lm -lpthread -ldl";
  if (std::system(command.c_str()) != 0)
    return nullptr;
  return dlopen((folder + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

attnc::test::Kernel::Kernel(const std::string &ir, const std::string &target)
    : folder(makeFolder()) {
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
  if (failed(compile(pipeline, target, folder)))
    return;
  lowered = readFile(folder + "/kernel.stmt");
  if (target != "host")
    return;
  writeCaller(pipeline, folder + "/caller.c");
  library = link(folder, getRuntime(context));
  if (library)
    function = reinterpret_cast<int (*)(void **)>(dlsym(library, "call"));
}

attnc::test::Kernel::~Kernel() {
  if (library)
    dlclose(library);
  std::filesystem::remove_all(folder);
}

int attnc::test::Kernel::operator()(std::vector<halide_buffer_t *> buffers) const {
  return function ? function(reinterpret_cast<void **>(buffers.data())) : -1000;
}
