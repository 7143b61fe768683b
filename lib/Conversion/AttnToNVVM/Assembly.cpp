//===- Assembly.cpp - inline assembly of PTX ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"

#include "Instructions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

void Assembly::addResults(int64_t count) {
  results = count;
  constraints.append(count, "=f");
}

void Assembly::addTied(ArrayRef<Reg> values) {
  addResults(values.size());
  for (auto [index, value] : llvm::enumerate(values)) {
    constraints.push_back(std::to_string(index));
    operands.push_back(value);
  }
}

int64_t Assembly::add(ArrayRef<Reg> values, StringRef constraint) {
  int64_t first = constraints.size();
  constraints.append(values.size(), constraint.str());
  llvm::append_range(operands, values);
  return first;
}

Regs Assembly::finish() {
  constraints.push_back("~{memory}");
  Type f32 = k.b().getF32Type();
  SmallVector<Type> types(results, f32);
  Type type = results == 0   ? Type()
              : results == 1 ? f32
                             : LLVM::LLVMStructType::getLiteral(k.b().getContext(), types);
  auto assembly = LLVM::InlineAsmOp::create(
      k.b(), results == 0 ? TypeRange() : TypeRange(type), operands, StringRef(text).trim(),
      llvm::join(constraints, ","), /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
  if (results == 0)
    return {};
  return results == 1 ? Regs{{k.b(), assembly.getRes()}} : unpack(k, assembly.getRes());
}
