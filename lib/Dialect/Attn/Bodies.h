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

/// Creates the block of a body over (element, batch, head, q, k); a mask's has no element.
Block *createBody(OpBuilder &builder, Region &body, Type element, Location loc);

/// The value that a body yields.
Value yieldedValue(Region &body);

/// Inlines `body` for `arguments` at the insertion point and returns the value that it yields.
Value cloneBody(OpBuilder &builder, Region &body, ValueRange arguments);

/// `scale` times the constant by which `multiply`, an arith.mulf or arith.divf on scalars or
/// tensors, multiplies `value`; none for other ops, or if the product would overflow or underflow.
std::optional<double> scaledBy(const APFloat &scale, Operation *multiply, Value value);

/// Erases dead ops of a region, in reverse order. Returns whether there were any.
bool eraseDead(RewriterBase &rewriter, Region &body);

/// Whether `body` maps -inf to -inf, apart from NaN and +inf in other operands: it adds to the
/// score, or multiplies it by a positive constant.
bool keepsHidden(Region &body);

/// Normalises the regions of a fused attention: conditions that only select between a score and
/// -inf move to `mask`, a constant factor of the plain score to `scale`, and identity regions are
/// dropped. Returns whether anything changed.
///
/// A score that a -inf bias hides counts as masked, whatever its value, even if the sum would be
/// NaN.
bool simplifyAttention(RewriterBase &rewriter, AttentionOp op);

/// Transposes tensors that regions read at [q, k, head] or other orders in which the key is not the
/// innermost dimension, so that a vector of keys is one load and no gather. Returns whether there
/// are any. A single query row reads each element once, as a transpose would: it is left alone.
bool moveKeysLast(RewriterBase &rewriter, AttentionOp op);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_BODIES_H
