//===- Bodies.h - rewriting the regions of attention ops --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_BODIES_H
#define ATTNC_LIB_DIALECT_ATTN_BODIES_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Opens a body over (element, batch, head, q, k), or that of a mask, which has no element, over
/// the last four.
Block *createBody(OpBuilder &builder, Region &body, Type element, Location loc);

/// The value that a body with one block yields.
Value yieldedValue(Region &body);

/// Clones what `body` computes for `arguments` to the insertion point and
/// returns the value it would yield.
Value cloneBody(OpBuilder &builder, Region &body, ValueRange arguments);

/// `scale` times the constant by which `multiply`, an arith.mulf or arith.divf on
/// scalars or tensors, multiplies `value`; nothing where it does something else
/// or where the product would overflow or vanish.
std::optional<double> scaledBy(const APFloat &scale, Operation *multiply, Value value);

/// Erases, last first, the ops of a region that nothing reads. Returns whether there were any.
bool eraseDead(RewriterBase &rewriter, Region &body);

/// Whether `body` makes -inf of -inf, of NaN and +inf beside it aside: it adds something, or
/// multiplies by what is positive.
bool keepsHidden(Region &body);

/// Brings the regions of a fused attention into the form that analyses expect:
/// conditions that only choose between a score and -inf stand in `mask`, a
/// constant factor on the plain score in `scale`, and a region that changes
/// nothing is left out. Returns whether anything changed.
///
/// A score that a -inf bias hides counts as masked: it takes no part whatever
/// its value, even where the sum would be NaN.
bool simplifyAttention(RewriterBase &rewriter, AttentionOp op);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_BODIES_H
