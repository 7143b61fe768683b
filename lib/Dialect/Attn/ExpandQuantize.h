//===- ExpandQuantize.h - quantization in terms of maps ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_EXPANDQUANTIZE_H
#define ATTNC_LIB_DIALECT_ATTN_EXPANDQUANTIZE_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replace the op by maps, and a reduction, over blocks of its rows.
void expandQuantize(QuantizeOp op, RewriterBase &rewriter);
void expandDequantize(DequantizeOp op, RewriterBase &rewriter);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_EXPANDQUANTIZE_H
