//===- RegionBody.h - regions over (…, batch, head, q, k) -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ops with such regions share.
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
/// The same for formulas; `element` is what the text calls it.
std::vector<std::string> getBodyNames(StringRef element);
std::vector<std::string> getMaskNames();

/// Adds that tensors which were combined with a score element for element, before a region of `op`
/// read them, have its sizes. `places` are dimensions that have them too, for each of the region's
/// coordinates.
void addReads(SizeConstraints &constraints, Operation *op, ArrayRef<SizeConstraint::Member> places);
/// Adds that a sink, null where there is none, broadcasts to (batch, num_q_heads, q_len), the sizes
/// that `like` begins with.
void addSink(SizeConstraints &constraints, Value sink, StringRef name, Value like);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_REGIONBODY_H
