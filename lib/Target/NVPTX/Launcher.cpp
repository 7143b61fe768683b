//===- Launcher.cpp - the host's part of a CUDA kernel --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halide's CUDA runtime (HalideRuntimeCuda.h) loads the PTX and launches the kernel, as it does for
// Halide's own: they share its context, stream and device memory.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include "llvm/IR/IRBuilder.h"

#include <limits>

using namespace mlir;
using namespace mlir::cuda;

namespace {
/// Builds the functions of one kernel.
class LauncherBuilder {
public:
  LauncherBuilder(KernelOp kernel, StringRef ptx, llvm::Module &module)
      : kernel(kernel), module(module), b(module.getContext()), i8(b.getInt8Ty()),
        i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()),
        code(b.CreateGlobalString(ptx, "ptx", /*AddressSpace=*/0, &module)), codeBytes(ptx.size()),
        state(new llvm::GlobalVariable(module, pointer, /*isConstant=*/false,
                                       llvm::GlobalValue::InternalLinkage,
                                       llvm::ConstantPointerNull::get(pointer), "state")) {}

  void build();

private:
  void buildPacked(llvm::Function *function);
  void returnIf(llvm::Value *condition, llvm::Value *status);
  llvm::Value *call(StringRef name, llvm::Type *result, ArrayRef<llvm::Value *> arguments);
  llvm::Value *at(llvm::Value *base, int64_t bytes) {
    return b.CreateConstInBoundsGEP1_64(i8, base, bytes);
  }
  llvm::Value *getDimension(int64_t buffer, int64_t dim);
  llvm::Value *multiply(llvm::Value *x, llvm::Value *y);
  llvm::Value *countBlocks();
  llvm::Value *run(llvm::Value *blocks);
  void markWritten();

  KernelOp kernel;
  llvm::Module &module;
  llvm::IRBuilder<> b;
  llvm::Type *i8, *i32, *i64;
  llvm::PointerType *pointer;
  llvm::Value *code;
  int64_t codeBytes;
  llvm::GlobalVariable *state;
  llvm::Function *launch = nullptr;
};
} // namespace

/// Offsets in halide_buffer_t and halide_dimension_t.
static constexpr int64_t kFlags = 24, kDims = 40, kDimBytes = 16, kExtent = 4, kStride = 8;
static constexpr int64_t kDeviceDirty = 2;
/// halide_error_code_generic_error
static constexpr int32_t kError = -1;

llvm::Value *LauncherBuilder::call(StringRef name, llvm::Type *result,
                                   ArrayRef<llvm::Value *> arguments) {
  auto types = llvm::map_to_vector(arguments, [](llvm::Value *value) { return value->getType(); });
  auto type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
  return b.CreateCall(module.getOrInsertFunction(name, type), arguments);
}

void LauncherBuilder::returnIf(llvm::Value *condition, llvm::Value *status) {
  auto *left = llvm::BasicBlock::Create(b.getContext(), "", launch),
       *next = llvm::BasicBlock::Create(b.getContext(), "", launch);
  b.CreateCondBr(condition, left, next);
  b.SetInsertPoint(left);
  b.CreateRet(status);
  b.SetInsertPoint(next);
}

/// The address of a buffer's halide_dimension_t, of which Halide lists the innermost first.
llvm::Value *LauncherBuilder::getDimension(int64_t buffer, int64_t dim) {
  llvm::Value *dims = b.CreateLoad(pointer, at(launch->getArg(buffer + 1), kDims));
  return at(dims, (kernel.getType(buffer).getRank() - 1 - dim) * kDimBytes);
}

/// Ends the launch with an error where the product is above 2^31 - 1. Both are below 2^32, so the
/// product does not wrap around.
llvm::Value *LauncherBuilder::multiply(llvm::Value *x, llvm::Value *y) {
  llvm::Value *product = b.CreateMul(x, y);
  llvm::Value *isTooLarge =
      b.CreateICmpUGT(product, b.getInt64(std::numeric_limits<int32_t>::max()));
  auto *refuse = llvm::BasicBlock::Create(b.getContext(), "", launch),
       *next = llvm::BasicBlock::Create(b.getContext(), "", launch);
  b.CreateCondBr(isTooLarge, refuse, next);
  b.SetInsertPoint(refuse);
  call("halide_error", b.getVoidTy(),
       {launch->getArg(0), b.CreateGlobalString("expected sizes of at most 2^31 - 1 blocks of "
                                                "threads, found more")});
  b.CreateRet(b.getInt32(kError));
  b.SetInsertPoint(next);
  return product;
}

llvm::Value *LauncherBuilder::countBlocks() {
  llvm::Value *count = b.getInt64(1);
  for (KernelOp::Blocks factor : kernel.getBlockFactors()) {
    llvm::Value *size = b.getInt64(1);
    for (int64_t dim = factor.dim; dim < factor.dim + factor.dims; ++dim) {
      llvm::Value *extent = b.CreateLoad(i32, at(getDimension(factor.buffer, dim), kExtent));
      size = multiply(size, b.CreateZExt(extent, i64));
    }
    llvm::Value *above = b.CreateAdd(size, b.getInt64(factor.divisor - 1));
    count = multiply(count, b.CreateUDiv(above, b.getInt64(factor.divisor)));
  }
  return b.CreateTrunc(count, i32);
}

/// Arguments are passed by address: a buffer, then its sizes, then its strides.
llvm::Value *LauncherBuilder::run(llvm::Value *blocks) {
  SmallVector<llvm::Value *> values;
  SmallVector<llvm::Constant *> sizes, areBuffers;
  auto add = [&](llvm::Value *value, int64_t bytes, bool isBuffer) {
    values.push_back(value);
    sizes.push_back(b.getInt64(bytes));
    areBuffers.push_back(b.getInt8(isBuffer));
  };
  for (int64_t buffer = 0, count = kernel.getTypes().size(); buffer < count; ++buffer) {
    add(launch->getArg(buffer + 1), /*bytes=*/8, true);
    for (int64_t field : {kExtent, kStride})
      for (int64_t dim = 0; dim < kernel.getType(buffer).getRank(); ++dim)
        add(at(getDimension(buffer, dim), field), /*bytes=*/4, false);
  }
  sizes.push_back(b.getInt64(0));
  auto makeConstant = [&](llvm::Type *type, ArrayRef<llvm::Constant *> elements) {
    auto *array = llvm::ConstantArray::get(llvm::ArrayType::get(type, elements.size()), elements);
    return new llvm::GlobalVariable(module, array->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::InternalLinkage, array);
  };
  llvm::IRBuilder<> atEntry(&launch->getEntryBlock(), launch->getEntryBlock().begin());
  llvm::Value *places =
      atEntry.CreateAlloca(llvm::ArrayType::get(pointer, values.size()), nullptr, "places");
  for (auto [index, value] : llvm::enumerate(values))
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(pointer, places, index));
  llvm::Value *one = b.getInt32(1);
  llvm::Value *name = b.CreateGlobalString(kernel.getSymName());
  return call("halide_cuda_run", i32,
              {launch->getArg(0), b.CreateLoad(pointer, state), name, blocks, one, one,
               b.getInt32(kernel.getThreads()), one, one, b.getInt32(kernel.getSharedBytes()),
               makeConstant(i64, sizes), places, makeConstant(i8, areBuffers)});
}

void LauncherBuilder::markWritten() {
  for (auto [index, parameter] : llvm::enumerate(kernel.getParameters()))
    if (parameter.isWritten()) {
      llvm::Value *flags = at(launch->getArg(index + 1), kFlags);
      b.CreateStore(b.CreateOr(b.CreateLoad(i64, flags), b.getInt64(kDeviceDirty)), flags);
    }
}

void LauncherBuilder::build() {
  SmallVector<llvm::Type *> types(kernel.getTypes().size() + 1, pointer);
  launch = llvm::Function::Create(llvm::FunctionType::get(i32, types, /*isVarArg=*/false),
                                  llvm::GlobalValue::ExternalLinkage, kernel.getSymName(), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "", launch));
  llvm::Value *blocks = countBlocks();
  returnIf(b.CreateICmpEQ(blocks, b.getInt32(0)), b.getInt32(0));
  llvm::Value *context = launch->getArg(0);
  llvm::Value *loaded = call("halide_cuda_initialize_kernels", i32,
                             {context, state, code, b.getInt32(codeBytes + 1)});
  returnIf(b.CreateICmpNE(loaded, b.getInt32(0)), loaded);
  llvm::Value *status = run(blocks);
  markWritten();
  call("halide_cuda_finalize_kernels", b.getVoidTy(), {context, b.CreateLoad(pointer, state)});
  b.CreateRet(status);
  buildPacked(launch);
}

/// The entry on an array: the address of the context, then the buffers.
void LauncherBuilder::buildPacked(llvm::Function *function) {
  auto *packed = llvm::Function::Create(llvm::FunctionType::get(i32, {pointer}, /*isVarArg=*/false),
                                        llvm::GlobalValue::ExternalLinkage,
                                        (kernel.getSymName() + "_argv").str(), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "", packed));
  SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0; i < function->arg_size(); ++i)
    arguments.push_back(
        b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, packed->getArg(0), i)));
  arguments[0] = b.CreateLoad(pointer, arguments[0]);
  b.CreateRet(b.CreateCall(function, arguments));
}

std::unique_ptr<llvm::Module> cuda::buildLauncher(KernelOp kernel, StringRef ptx,
                                                  llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("launcher", context);
  LauncherBuilder(kernel, ptx, *module).build();
  return module;
}
