//===- SizeChecks.cpp - run-time checks of sizes --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"

#include "Lowerings.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

static void requireElementwise(HostFunction &host, Operation &op) {
  for (Value operand : llvm::drop_begin(op.getOperands()))
    for (int64_t dim = 0; dim < tensorType(operand).getRank(); ++dim)
      host.requireSame(op.getLoc(), op.getOperand(0), dim, operand, dim,
                       "expected operands of " + op.getName().getStringRef() +
                           " to have the same sizes");
}

/// Compares equal sizes in pairs of different tensors: key and value may be the same.
static void require(HostFunction &host, Operation &op, const SizeConstraint &constraint) {
  const SizeConstraint::Member *first = constraint.members.begin();
  for (const SizeConstraint::Member &other : llvm::drop_begin(constraint.members)) {
    std::string message = constraint.describe(&op, *first, other);
    if (constraint.isMultiple()) {
      host.requireMultiple(op.getLoc(), first->tensor, first->dim, other.tensor, other.dim,
                           message);
      continue;
    }
    host.requireSame(op.getLoc(), first->tensor, first->dim, other.tensor, other.dim, message,
                     other.extra - first->extra);
    first = &other;
  }
}

void attn::requireSizes(HostFunction &host, Operation &op) {
  if (auto attnOp = dyn_cast<AttnOpInterface>(op))
    for (const SizeConstraint &constraint : attnOp.getSizeConstraints())
      require(host, op, constraint);
  else if (isElementwise(&op))
    requireElementwise(host, op);
}
