//===- Instructions.cpp - instructions of a warp --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of MLIR's nvvm dialect. Its nvgpu dialect has no products of bf16.
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

namespace mlir::attn::nvvm {

/// As inline assembly with side effects: reads of a special register are one for LLVM.
void readPosition(KernelBuilder &k) {
  auto read = [&](StringRef text) {
    auto assembly = LLVM::InlineAsmOp::create(
        k.b(), k.b().getI32Type(), ValueRange(), text, "=r", /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None, /*asm_dialect=*/nullptr,
        /*operand_attrs=*/nullptr);
    return Reg(k.b(), assembly.getRes());
  };
  k.thread = read("mov.u32 $0, %tid.x;");
  k.block = read("mov.u32 $0, %ctaid.x;");
}
void barrier(KernelBuilder &k) { NVVM::BarrierOp::create(k.b()); }
void barrier(KernelBuilder &k, Reg number, int64_t threads) {
  NVVM::BarrierOp::create(k.b(), Type(), number, k.i32(threads), /*reductionOp=*/nullptr,
                          /*reductionPredicate=*/Value());
}
Reg readFirstLane(KernelBuilder &k, Reg value) {
  return {k.b(), NVVM::ShflOp::create(k.b(), value.getType(), k.i32(-1), value, k.i32(0),
                                      k.i32(kLanes - 1), NVVM::ShflKind::idx, UnitAttr())};
}

Regs unpack(KernelBuilder &k, Value structure) {
  Regs parts;
  for (int64_t i = 0, e = cast<LLVM::LLVMStructType>(structure.getType()).getBody().size(); i < e;
       ++i)
    parts.push_back({k.b(), LLVM::ExtractValueOp::create(k.b(), structure, i)});
  return parts;
}

static LLVM::LLVMStructType structOfFour(Type type) {
  return LLVM::LLVMStructType::getLiteral(type.getContext(), SmallVector<Type>(4, type));
}

Regs loadMatrices(KernelBuilder &k, Reg address, bool isTransposed) {
  auto shape = NVVM::LdStMatrixShapeAttr::get(k.b().getContext(), 8, 8);
  auto layout = isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  Value loaded = NVVM::LdMatrixOp::create(k.b(), structOfFour(k.b().getI32Type()), address,
                                          /*num=*/4, layout, shape, NVVM::LdStMatrixEltType::B16);
  return unpack(k, loaded);
}

/// Pairs of f16 are vectors, those of bf16 integers.
static SmallVector<Value> asOperands(KernelBuilder &k, ArrayRef<Reg> pairs, Type element) {
  Type type = element.isF16() ? Type(VectorType::get({2}, element)) : k.b().getI32Type();
  return llvm::map_to_vector(pairs, [&](Reg pair) { return Value(bitcast(pair, type)); });
}

Regs multiply(KernelBuilder &k, ArrayRef<Reg> a, ArrayRef<Reg> b, ArrayRef<Reg> sums,
              Type element) {
  auto type = element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  auto c = llvm::map_to_vector(sums, [](Reg sum) { return Value(sum); });
  int64_t shape[] = {kTileRows, kTileColumns, kTileDepth};
  Value product = NVVM::MmaOp::create(k.b(), structOfFour(k.b().getF32Type()),
                                      asOperands(k, a, element), asOperands(k, b, element), c,
                                      shape, std::nullopt, std::nullopt, std::array{type, type},
                                      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return unpack(k, product);
}

static Reg callIntrinsic(KernelBuilder &k, StringRef name, Type result, ArrayRef<Value> arguments) {
  auto call = LLVM::CallIntrinsicOp::create(k.b(), result, k.b().getStringAttr(name), arguments);
  return {k.b(), call.getResults()};
}

Reg pack(KernelBuilder &k, Reg low, Reg high, Type element) {
  StringRef name = element.isF16() ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn";
  return bitcast(callIntrinsic(k, name, VectorType::get({2}, element), {high, low}),
                 k.b().getI32Type());
}

Reg exchange(KernelBuilder &k, Reg value, int64_t lanes) {
  return {k.b(), NVVM::ShflOp::create(k.b(), value.getType(), k.i32(-1), value, k.i32(lanes),
                                      k.i32(kLanes - 1), NVVM::ShflKind::bfly, UnitAttr())};
}

Reg combineLanes(KernelBuilder &k, Reg value, Reg (*combine)(Reg, Reg)) {
  for (int64_t lanes : {1, 2})
    value = combine(value, exchange(k, value, lanes));
  return value;
}

Reg isAny(KernelBuilder &k, Reg condition) {
  return {k.b(), NVVM::VoteSyncOp::create(k.b(), k.b().getI1Type(), k.i32(-1), condition,
                                          NVVM::VoteSyncKind::any)};
}

Reg countLanes(KernelBuilder &k, Reg condition) {
  Value lanes = NVVM::VoteSyncOp::create(k.b(), k.b().getI32Type(), k.i32(-1), condition,
                                         NVVM::VoteSyncKind::ballot);
  return {k.b(), LLVM::CtPopOp::create(k.b(), lanes)};
}

void startCopy(KernelBuilder &k, Reg shared, Reg global, Reg bytes) {
  NVVM::CpAsyncOp::create(k.b(), shared, global, kChunkBytes, NVVM::LoadCacheModifierKind::CG,
                          bytes);
}

void endCopyGroup(KernelBuilder &k) { NVVM::CpAsyncCommitGroupOp::create(k.b()); }
void waitForCopyGroups(KernelBuilder &k, int64_t rest) {
  NVVM::CpAsyncWaitGroupOp::create(k.b(), rest);
}
void waitForCopies(KernelBuilder &k) {
  endCopyGroup(k);
  waitForCopyGroups(k, 0);
}

/// As inline assembly: LLVM would add the address of the memory last, in loops.
Reg sharedAddress(KernelBuilder &k, Reg bytes) {
  auto type = LLVM::LLVMPointerType::get(k.b().getContext(), /*shared=*/3);
  auto memory = cuda::SharedMemoryOp::create(k.b(), type);
  Value first = LLVM::PtrToIntOp::create(k.b(), k.b().getI32Type(), memory);
  auto sum = LLVM::InlineAsmOp::create(
      k.b(), k.b().getI32Type(), ValueRange{first, bytes}, "add.u32 $0, $1, $2;", "=r,r,r",
      /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
  return {k.b(), LLVM::IntToPtrOp::create(k.b(), type, sum.getRes())};
}

Reg exp2(KernelBuilder &k, Reg x) {
  return callIntrinsic(k, "llvm.nvvm.ex2.approx.ftz.f", x.getType(), {x});
}
Reg log2(KernelBuilder &k, Reg x) {
  return callIntrinsic(k, "llvm.nvvm.lg2.approx.f", x.getType(), {x});
}
Reg divideFast(KernelBuilder &k, Reg x, Reg y) {
  return callIntrinsic(k, "llvm.nvvm.div.approx.ftz.f", x.getType(), {x, y});
}

} // namespace mlir::attn::nvvm
