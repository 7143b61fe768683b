//===- MmaAttention.h - fused attention on tensor cores ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_MMAATTENTION_H
#define ATTNC_CONVERSION_ATTNTONVVM_MMAATTENTION_H

#include "FragmentAttention.h"

namespace mlir::attn::nvvm {

/// The kernel of a `#attn.mma`.
class MmaAttention : FragmentAttention {
public:
  MmaAttention(OpBuilder &builder, StringRef name, AttentionOp op, MmaAttr schedule);
  BuiltKernel build();

private:
  void compute();
  RowState addBlock(RowState state, Reg first);
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_MMAATTENTION_H
