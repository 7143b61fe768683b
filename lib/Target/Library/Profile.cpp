//===- Profile.cpp - times of a library's kernels -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Profile.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <ctime>

using namespace mlir;

/// Nanoseconds of a clock that only moves forward.
static llvm::Value *readClock(llvm::IRBuilder<> &b, llvm::AllocaInst *slot) {
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  auto clock =
      module.getOrInsertFunction("clock_gettime", b.getInt32Ty(), b.getInt32Ty(), slot->getType());
  b.CreateCall(clock, {b.getInt32(CLOCK_MONOTONIC), slot});
  auto readField = [&](unsigned field) -> llvm::Value * {
    return b.CreateLoad(b.getInt64Ty(), b.CreateStructGEP(slot->getAllocatedType(), slot, field));
  };
  return b.CreateAdd(b.CreateMul(readField(0), b.getInt64(1000000000)), readField(1));
}

/// Adds the time of `call` and 1 to the two numbers at `place`.
static void profile(llvm::CallInst *call, llvm::Value *place) {
  llvm::IRBuilder<> b(&*call->getFunction()->getEntryBlock().begin());
  auto *slot = b.CreateAlloca(llvm::StructType::get(b.getInt64Ty(), b.getInt64Ty()));
  b.SetInsertPoint(call);
  llvm::Value *begin = readClock(b, slot);
  b.SetInsertPoint(call->getNextNode());
  llvm::Value *passed = b.CreateSub(readClock(b, slot), begin);
  auto add = [&](llvm::Value *to, llvm::Value *value) {
    b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, to, value, llvm::MaybeAlign(8),
                      llvm::AtomicOrdering::Monotonic);
  };
  add(place, passed);
  add(b.CreateConstGEP1_64(b.getInt64Ty(), place, 1), b.getInt64(1));
}

void attn::profileKernels(llvm::Module &module, ArrayRef<std::string> kernels, StringRef symbol) {
  auto *type =
      llvm::ArrayType::get(llvm::Type::getInt64Ty(module.getContext()), 2 * kernels.size());
  auto *times = new llvm::GlobalVariable(module, type, /*isConstant=*/false,
                                         llvm::GlobalValue::ExternalLinkage,
                                         llvm::Constant::getNullValue(type), symbol);
  llvm::IRBuilder<> b(module.getContext());
  for (auto [index, name] : llvm::enumerate(kernels)) {
    llvm::Function *kernel = module.getFunction(name);
    if (!kernel)
      continue; // not called
    llvm::Value *place = b.CreateConstInBoundsGEP2_64(type, times, 0, 2 * index);
    for (llvm::User *user : llvm::make_early_inc_range(kernel->users()))
      if (auto *call = dyn_cast<llvm::CallInst>(user))
        profile(call, place);
  }
}
