//===- KernelKindTest.cpp - a second kind of kernel
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect of one op, compiled from C: nothing outside this folder knows of it.
//
//===----------------------------------------------------------------------===//

#include "attnc/Pipelines/Pipelines.h"
#include "attnc/Target/Library/Library.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Host/Host.h"
#include "attnc/Dialect/Host/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "dlpack.h"
#include "gtest/gtest.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>

using namespace mlir;
using attn::Access;
using attn::KernelOpInterface;
using attn::KernelTargetOpInterface;

namespace attnc::test {

/// y = factor · x, and sum += x: one parameter of each access.
class ScaleOp
    : public Op<ScaleOp, OpTrait::ZeroRegions, OpTrait::ZeroResults, OpTrait::ZeroSuccessors,
                OpTrait::ZeroOperands, SymbolOpInterface::Trait, KernelOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "unit.scale"; }
  static ArrayRef<StringRef> getAttributeNames() {
    static StringRef names[] = {"sym_name", "factor"};
    return names;
  }

  int64_t getFactor() { return (*this)->getAttrOfType<IntegerAttr>("factor").getInt(); }
  SmallVector<attn::KernelParameter> getParameters() {
    auto f32 = Float32Type::get(getContext());
    auto open = MemRefType::get({ShapedType::kDynamic}, f32);
    return {{"x", open, Access::read},
            {"sum", MemRefType::get({1}, f32), Access::read_write},
            {"y", open, Access::write}};
  }
  std::string describeSchedule() { return "one loop"; }
};

struct UnitDialect : Dialect {
  explicit UnitDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<UnitDialect>()) {
    addOperations<ScaleOp>();
  }
  static StringRef getDialectNamespace() { return "unit"; }
};

} // namespace attnc::test

MLIR_DECLARE_EXPLICIT_TYPE_ID(attnc::test::ScaleOp)
MLIR_DEFINE_EXPLICIT_TYPE_ID(attnc::test::ScaleOp)
MLIR_DECLARE_EXPLICIT_TYPE_ID(attnc::test::UnitDialect)
MLIR_DEFINE_EXPLICIT_TYPE_ID(attnc::test::UnitDialect)

namespace {

using namespace attnc::test;

constexpr char source[] = R"c(
#include <stdint.h>
typedef struct { int32_t min, extent, stride; uint32_t flags; } dim;
typedef struct {
  uint64_t device; void *device_interface; float *host; uint64_t flags;
  uint32_t type; int32_t dimensions; dim *dim; void *padding;
} buffer;
int32_t NAME(void *context, const buffer *x, buffer *sum, buffer *y) {
  (void)context;
  if (x->dim->extent != y->dim->extent)
    return -4;
  for (int32_t i = 0; i < x->dim->extent; ++i) {
    y->host[i] = FACTOR * x->host[i];
    *sum->host += x->host[i];
  }
  return 0;
}
)c";

struct CompileC : KernelTargetOpInterface::ExternalModel<CompileC, ScaleOp> {
  LogicalResult compileKernel(Operation *op, StringRef target,
                              const attn::ArtefactPaths &files) const {
    auto scale = cast<ScaleOp>(op);
    for (const auto &[artefact, path] : files) {
      std::ofstream(path + ".c") << source;
      std::string command =
          std::string(ATTNC_CC) + " -O1 -fPIC -c -DNAME=" + scale.getName().str() +
          " -DFACTOR=" + std::to_string(scale.getFactor()) + " " + path + ".c -o " + path;
      if (artefact != attn::Artefact::object || std::system(command.c_str()) != 0)
        return op->emitOpError("expected to be compiled to an object");
    }
    return success();
  }
};

constexpr char spec[] = R"mlir(
"unit.scale"() {sym_name = "triple", factor = 3} : () -> ()
func.func @f(%x: memref<?xf32, strided<[1], offset: ?>> {attn.name = "x", attn.dims = ["n"]},
             %sum: memref<1xf32, strided<[1], offset: ?>> {attn.name = "sum", attn.result},
             %y: memref<?xf32, strided<[1], offset: ?>> {attn.name = "y", attn.dims = ["n"], attn.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32, strided<[1], offset: ?>>
  %t = memref.alloc(%n) : memref<?xf32>
  host.call @triple(%x, %sum, %t) : memref<?xf32, strided<[1], offset: ?>>, memref<1xf32, strided<[1], offset: ?>>, memref<?xf32>
  host.call @triple(%t, %sum, %y) : memref<?xf32>, memref<1xf32, strided<[1], offset: ?>>, memref<?xf32, strided<[1], offset: ?>>
  return
}
)mlir";

class KernelKind : public testing::Test {
protected:
  KernelKind() : handler(&context, [this](Diagnostic &d) { errors += d.str() + "\n"; }) {
    DialectRegistry registry;
    attn::registerAllDialects(registry);
    registry.insert<UnitDialect>();
    context.appendDialectRegistry(registry);
    context.loadDialect<UnitDialect>();
  }

  OwningOpRef<ModuleOp> parse(const char *text) {
    return parseSourceString<ModuleOp>(text, ParserConfig(&context));
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
};

DLTensor tensor(float *data, int64_t *shape) {
  return {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
}

TEST_F(KernelKind, LowersLikeAnyOther) {
  for (bool onDevice : {false, true}) {
    OwningOpRef<ModuleOp> module = parse(spec);
    ASSERT_TRUE(module) << errors;
    PassManager passes(&context);
    passes.addPass(host::createHostPlanWorkspace());
    passes.addPass(createConvertHostToLLVM({onDevice}));
    ASSERT_TRUE(succeeded(passes.run(*module))) << errors;
    auto declared = module->lookupSymbol<LLVM::LLVMFuncOp>(onDevice ? "triple_argv" : "triple");
    ASSERT_TRUE(declared);
    // A user context before the buffers, or an array of all of them.
    EXPECT_EQ(declared.getNumArguments(), onDevice ? 1u : 4u);
  }
}

TEST_F(KernelKind, ChecksBuffers) {
  EXPECT_FALSE(parse(R"mlir(
"unit.scale"() {sym_name = "triple", factor = 3} : () -> ()
func.func @f(%x: memref<?xf32>, %sum: memref<2xf32>) {
  host.call @triple(%x, %sum, %x) : memref<?xf32>, memref<2xf32>, memref<?xf32>
  return
}
)mlir"));
  EXPECT_NE(errors.find("expected buffer 1 to be 'memref<1xf32>'"), std::string::npos) << errors;
}

TEST_F(KernelKind, NeedsAHostFunction) {
  OwningOpRef<ModuleOp> module = parse("func.func @f(%x: i32) { return }");
  ASSERT_TRUE(module) << errors;
  attn::LibrarySource sources[] = {{"host", *module}};
  EXPECT_TRUE(failed(attn::buildLibrary(sources, {})));
  EXPECT_NE(errors.find("expected one host function"), std::string::npos) << errors;
}

TEST_F(KernelKind, BecomesPartOfALibrary) {
  ScaleOp::attachInterface<CompileC>(context);
  OwningOpRef<ModuleOp> module = parse(spec);
  ASSERT_TRUE(module) << errors;
  attn::LibrarySource sources[] = {{"host", *module}};
  FailureOr<attn::Library> library = attn::buildLibrary(sources, {});
  ASSERT_TRUE(succeeded(library)) << errors;
  std::string folder = (std::filesystem::temp_directory_path() / "attnc-unit-XXXXXX").string();
  ASSERT_TRUE(mkdtemp(folder.data()));
  std::string path = folder + "/libf.so";
  ASSERT_TRUE(succeeded(attn::writeSharedLibrary(*library, path, module->getLoc()))) << errors;
  void *loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(loaded) << dlerror();
  auto f = reinterpret_cast<int (*)(DLTensor *, DLTensor *, DLTensor *)>(dlsym(loaded, "f"));
  ASSERT_TRUE(f);

  float in[] = {1, 2, 5}, total[] = {0}, out[3] = {};
  int64_t three[] = {3}, one[] = {1};
  DLTensor x = tensor(in, three), sum = tensor(total, one), y = tensor(out, three);
  EXPECT_EQ(f(&x, &sum, &y), 0);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(out[i], 9 * in[i]);
  EXPECT_EQ(total[0], 8 + 24);
  dlclose(loaded);
}

TEST_F(KernelKind, IsRefusedWithoutACompiler) {
  OwningOpRef<ModuleOp> module = parse(spec);
  ASSERT_TRUE(module) << errors;
  attn::LibrarySource sources[] = {{"host", *module}};
  EXPECT_TRUE(failed(attn::buildLibrary(sources, {})));
  EXPECT_NE(errors.find("expected a kernel that this build of attnc compiles"), std::string::npos)
      << errors;
}

} // namespace
