//===- RegionBody.h - regions over (…, batch, head, q, k) -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the ops with such regions.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_REGIONBODY_H
#define ATTNC_LIB_DIALECT_ATTN_REGIONBODY_H

#include "attnc/Dialect/Attn/OpSizes.h"

#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

/// The block of a body takes `element` (none for a mask), then batch, head, q
/// and k; it yields `yielded`.
LogicalResult verifyBody(Operation *op, StringRef what, Region &body, Type element, Type yielded);

/// Names the arguments; `element` is empty for a mask.
void nameBody(Region &body, StringRef element, OpAsmSetValueNameFn setName);
/// Argument names for formulas; `element` is the element's name.
std::vector<std::string> getBodyNames(StringRef element);
std::vector<std::string> getMaskNames();

/// Adds constraints that tensors raised from elementwise ops into a region of `op` have the score's
/// sizes. `places` lists, for each of the region's coordinates, other dimensions of that size.
void addReads(SizeConstraints &constraints, Operation *op, ArrayRef<SizeConstraint::Member> places);
/// Adds constraints that a sink, if any, broadcasts to (batch, num_q_heads, q_len), the sizes of
/// `like`.
void addSink(SizeConstraints &constraints, Value sink, ArrayRef<SizeConstraint::Member> like);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_REGIONBODY_H
