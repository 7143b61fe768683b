//===- Warpgroup.cpp - instructions of a warpgroup ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inline assembly: MLIR's nvvm dialect has no products whose left operand is in registers. Those of
// a group are one statement, so that LLVM puts no copy of a register between them.
//
//===----------------------------------------------------------------------===//

#include "Warpgroup.h"

#include "Assembly.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

/// `{$3, $4}`
static std::string listOperands(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = first; i < first + count; ++i)
    text += (text.empty() ? "$" : ", $") + std::to_string(i);
  return "{" + text + "}";
}

/// `adds` tells whether sums are added to.
static void addProduct(Assembly &assembly, int64_t sums, const Twine &left, int64_t right,
                       bool adds, StringRef turns, Type element) {
  StringRef type = element.isF16() ? "f16" : "bf16";
  assembly.addLine("wgmma.mma_async.sync.aligned.m64n" + Twine(2 * sums) + "k16.f32." + type + "." +
                   type + " " + listOperands(0, sums) + ", " + left + ", $" + Twine(right) + ", " +
                   Twine(int(adds)) + ", 1, 1, " + turns + ";");
}

namespace mlir::attn::nvvm {

Regs startProducts(KernelBuilder &k, ArrayRef<Reg> left, ArrayRef<Reg> right, int64_t columns,
                   Type element) {
  int64_t sums = columns / 2;
  Assembly assembly(k);
  assembly.addResults(sums);
  int64_t a = assembly.add(left, "l"), b = assembly.add(right, "l");
  assembly.addLine("wgmma.fence.sync.aligned;");
  for (size_t i = 0; i < left.size(); ++i)
    addProduct(assembly, sums, "$" + Twine(a + i), b + i, /*adds=*/i != 0, "0, 0", element);
  assembly.addLine("wgmma.commit_group.sync.aligned;");
  return assembly.finish();
}

Regs startProductsInRegisters(KernelBuilder &k, ArrayRef<Reg> sums, ArrayRef<Reg> left,
                              ArrayRef<Reg> right, Type element) {
  constexpr int64_t kLeft = 4;
  Assembly assembly(k);
  assembly.addTied(sums);
  int64_t a = assembly.add(left, "r"), b = assembly.add(right, "l");
  assembly.addLine("wgmma.fence.sync.aligned;");
  for (size_t i = 0; i < right.size(); ++i)
    addProduct(assembly, sums.size(), listOperands(a + kLeft * i, kLeft), b + i, /*adds=*/true, "1",
               element);
  assembly.addLine("wgmma.commit_group.sync.aligned;");
  return assembly.finish();
}

Regs waitForProducts(KernelBuilder &k, int64_t rest, ArrayRef<Reg> values) {
  Assembly assembly(k);
  assembly.addTied(values);
  assembly.addLine("wgmma.wait_group.sync.aligned " + Twine(rest) + ";");
  return assembly.finish();
}

void fenceProxy(KernelBuilder &k) {
  Assembly assembly(k);
  assembly.addLine("fence.proxy.async.shared::cta;");
  assembly.finish();
}

} // namespace mlir::attn::nvvm
