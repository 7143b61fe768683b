//===- RegionChain.cpp - limit on dependence chains in regions ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::attn;

/// The ops that compute the scalars among the operands of `op`.
static auto getSources(Operation *op) {
  auto scalars = llvm::make_filter_range(op->getOperands(), [](Value operand) {
    return operand.getDefiningOp() && !isa<ShapedType>(operand.getType());
  });
  return llvm::map_range(scalars, [](Value operand) { return operand.getDefiningOp(); });
}

int64_t attn::getLongestChain(Region &region) {
  SmallVector<Operation *> stack;
  region.walk([&](Operation *op) { stack.push_back(op); });
  DenseMap<Operation *, int64_t> lengths;
  int64_t longest = 0;
  while (!stack.empty()) {
    Operation *op = stack.back();
    // Visits sources first. Before SSA dominance is verified, an op may depend on itself.
    if (lengths.try_emplace(op, 1).second) {
      for (Operation *source : getSources(op))
        if (!lengths.contains(source))
          stack.push_back(source);
      continue;
    }
    stack.pop_back();
    int64_t length = 1;
    for (Operation *source : getSources(op))
      length = std::max(length, lengths.lookup(source) + 1);
    lengths[op] = length;
    longest = std::max(longest, length);
  }
  return longest;
}

LogicalResult attn::verifyChains(Region &region) {
  int64_t longest = getLongestChain(region);
  if (longest <= kLongestChain)
    return success();
  return region.getParentOp()->emitOpError("expected a region whose values depend on at most ")
         << kLongestChain << " ops in a row, found " << longest;
}
