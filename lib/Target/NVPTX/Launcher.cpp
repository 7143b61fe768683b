//===- Launcher.cpp - the host's part of a CUDA kernel --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel becomes constants with the layouts of attnc_cuda_kernel.h, which the support code of a
// library launches.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include "llvm/IR/IRBuilder.h"

using namespace mlir;
using namespace mlir::cuda;

namespace {
/// Builds the functions of one kernel.
class LauncherBuilder {
public:
  LauncherBuilder(KernelOp kernel, const DeviceCode &code, llvm::Module &module)
      : kernel(kernel), code(code), module(module), b(module.getContext()), i32(b.getInt32Ty()),
        pointer(b.getPtrTy()) {}

  void build();

private:
  llvm::Constant *text(StringRef value) {
    return b.CreateGlobalString(value, "text", /*AddressSpace=*/0, &module);
  }
  llvm::GlobalVariable *constant(llvm::Constant *value);
  llvm::Constant *numbers(ArrayRef<int64_t> rows);
  llvm::Constant *blocks();
  llvm::Constant *maps();
  llvm::Constant *fallback();
  llvm::Constant *describe();
  llvm::Function *buildPacked();
  void buildPlain(llvm::Function *packed);

  KernelOp kernel;
  const DeviceCode &code;
  llvm::Module &module;
  llvm::IRBuilder<> b;
  llvm::Type *i32;
  llvm::PointerType *pointer;
};
} // namespace

/// attnc_cuda_most_dims
static constexpr size_t kMostDims = 5;

llvm::GlobalVariable *LauncherBuilder::constant(llvm::Constant *value) {
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::PrivateLinkage, value);
}

/// int64_t[], or null.
llvm::Constant *LauncherBuilder::numbers(ArrayRef<int64_t> values) {
  if (values.empty())
    return llvm::ConstantPointerNull::get(pointer);
  SmallVector<uint64_t> elements(values.begin(), values.end());
  return constant(llvm::ConstantDataArray::get(b.getContext(), ArrayRef(elements)));
}

/// attnc_cuda_blocks[]
llvm::Constant *LauncherBuilder::blocks() {
  SmallVector<int64_t> fields;
  for (KernelOp::Blocks factor : kernel.getBlockFactors())
    fields.append({factor.buffer, factor.dim, factor.dims, factor.divisor, factor.addedBuffer,
                   factor.addedDim});
  return numbers(fields);
}

/// attnc_cuda_map[]
llvm::Constant *LauncherBuilder::maps() {
  SmallVector<int64_t> fields;
  for (const KernelOp::Map &map : kernel.getMaps()) {
    fields.push_back(map.buffer);
    fields.append(map.box);
    fields.append(kMostDims - map.box.size(), 0);
  }
  return numbers(fields);
}

static std::string getPackedName(StringRef kernel) { return (kernel + "_argv").str(); }

llvm::Constant *LauncherBuilder::fallback() {
  std::optional<StringRef> name = kernel.getFallback();
  if (!name)
    return llvm::ConstantPointerNull::get(pointer);
  auto *type = llvm::FunctionType::get(i32, {pointer}, /*isVarArg=*/false);
  return cast<llvm::Function>(module.getOrInsertFunction(getPackedName(*name), type).getCallee());
}

/// attnc_cuda_kernel
llvm::Constant *LauncherBuilder::describe() {
  auto number = [&](int64_t value) { return b.getInt32(value); };
  return constant(llvm::ConstantStruct::getAnon(
      {text(kernel.getSymName()), text(code.ptx), blocks(), maps(), fallback(),
       number(kernel.getBlocks().size()), number(kernel.getMaps().size()),
       number(kernel.getTypes().size()), number(kernel.getNumInputs()), number(kernel.getThreads()),
       number(kernel.getSharedBytes()), number(code.capability), number(code.isExact),
       number(code.ptxVersion), number(code.cudaVersion)}));
}

/// The entry on an array: the address of the context, then the buffers.
llvm::Function *LauncherBuilder::buildPacked() {
  auto *packed = llvm::Function::Create(llvm::FunctionType::get(i32, {pointer}, /*isVarArg=*/false),
                                        llvm::GlobalValue::ExternalLinkage,
                                        getPackedName(kernel.getSymName()), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "", packed));
  auto launch = module.getOrInsertFunction(
      "attnc_cuda_launch", llvm::FunctionType::get(i32, {pointer, pointer}, /*isVarArg=*/false));
  b.CreateRet(b.CreateCall(launch, {describe(), packed->getArg(0)}));
  return packed;
}

void LauncherBuilder::buildPlain(llvm::Function *packed) {
  SmallVector<llvm::Type *> types(kernel.getTypes().size() + 1, pointer);
  auto *plain =
      llvm::Function::Create(llvm::FunctionType::get(i32, types, /*isVarArg=*/false),
                             llvm::GlobalValue::ExternalLinkage, kernel.getSymName(), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "", plain));
  llvm::Value *context = b.CreateAlloca(pointer);
  llvm::Value *places = b.CreateAlloca(llvm::ArrayType::get(pointer, types.size()));
  b.CreateStore(plain->getArg(0), context);
  b.CreateStore(context, places);
  for (unsigned i = 1; i < types.size(); ++i)
    b.CreateStore(plain->getArg(i), b.CreateConstInBoundsGEP1_64(pointer, places, i));
  b.CreateRet(b.CreateCall(packed, {places}));
}

void LauncherBuilder::build() { buildPlain(buildPacked()); }

std::unique_ptr<llvm::Module> cuda::buildLauncher(KernelOp kernel, const DeviceCode &code,
                                                  llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("launcher", context);
  LauncherBuilder(kernel, code, *module).build();
  return module;
}
