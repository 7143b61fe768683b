//===- RegionInliner.h - regions of attn ops in device code -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_REGIONINLINER_H
#define ATTNC_CONVERSION_ATTNTONVVM_REGIONINLINER_H

#include "KernelBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::attn::nvvm {

/// Rebuilds a region's ops at the insertion point: index becomes i32, or i64 if a comparison needs
/// it; f16 and bf16 become f32, which rounds less; captured tensors become inputs of the kernel.
class RegionInliner {
public:
  RegionInliner(KernelBuilder &k, Region &region);

  bool isEmpty() const { return region.empty(); }
  /// The value that the region yields for `arguments`.
  Reg inlined(ArrayRef<Reg> arguments);
  /// Any value of the region.
  Reg inlined(Value value, ArrayRef<Reg> arguments);

private:
  Reg inlineValue(Value value, IRMapping &mapping);
  Reg inlineOp(Operation *op, IRMapping &mapping);
  Reg inlineConstant(arith::ConstantOp op);
  Reg castIndex(Operation *op, Reg x);
  bool widenIndices(Operation *op, Regs &operands);
  Reg inlineExtract(Operation *op, IRMapping &mapping);
  Reg inlineFunction(Operation *op, ArrayRef<Reg> operands);
  Reg round(Operation *op, Reg x);

  KernelBuilder &k;
  Region &region;
  llvm::DenseSet<Operation *> wideIndices;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_REGIONINLINER_H
