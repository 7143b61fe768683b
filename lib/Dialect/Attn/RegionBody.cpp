//===- RegionBody.cpp - regions over (…, batch, head, q, k) ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionBody.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyBody(Operation *op, StringRef what, Region &body, Type element,
                               Type yielded) {
  SmallVector<Type> expected;
  if (element)
    expected.push_back(element);
  expected.append(4, IndexType::get(op->getContext()));
  Block &block = body.front();
  if (block.getArgumentTypes() != ArrayRef<Type>(expected))
    return op->emitOpError("expected ")
           << what << " to take (" << expected << "), found (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError("expected ")
           << what << " to end with attn.yield, found " << block.getTerminator()->getName();
  if (yield->getOperandTypes() != ArrayRef<Type>(yielded))
    return yield.emitOpError("expected a value of ")
           << yielded << ", found " << yield->getOperandTypes();
  return verifyChains(body);
}

void attn::nameBody(Region &body, StringRef element, OpAsmSetValueNameFn setName) {
  std::vector<std::string> names = element.empty() ? getMaskNames() : getBodyNames(element);
  if (body.empty() || body.getNumArguments() != names.size())
    return;
  for (auto [argument, name] : llvm::zip(body.getArguments(), names))
    setName(argument, name);
}

std::vector<std::string> attn::getBodyNames(StringRef element) {
  return {element.str(), "batch", "head", "q", "k"};
}

std::vector<std::string> attn::getMaskNames() { return {"batch", "head", "q", "k"}; }

static constexpr StringLiteral kSizeNames[] = {"batch", "num_q_heads", "q_len", "kv_len"};

/// The position of `index` among batch, head, q and k of `op`'s regions.
static std::optional<unsigned> getPlace(Operation *op, Value index) {
  auto coord = dyn_cast<BlockArgument>(index);
  if (!coord || coord.getOwner()->getParentOp() != op)
    return std::nullopt;
  unsigned fromLast = coord.getOwner()->getNumArguments() - coord.getArgNumber();
  return fromLast <= 4 ? std::optional(4 - fromLast) : std::nullopt;
}

/// Called by verifiers before the ops in the region are verified.
void attn::addReads(SizeConstraints &constraints, Operation *op,
                    ArrayRef<SizeConstraint::Member> places) {
  op->walk([&](tensor::ExtractOp read) {
    auto type = dyn_cast<RankedTensorType>(read.getTensor().getType());
    if (!read->hasAttr(kSameSizeAttr) || !type)
      return;
    for (auto [dim, index] : llvm::zip(llvm::seq(type.getRank()), read.getIndices()))
      if (std::optional<unsigned> place = getPlace(op, index); place && *place < places.size())
        constraints.push_back(
            {kSizeNames[*place].str(), {places[*place], {"operand", read.getTensor(), dim}}});
  });
}

/// A dynamic size is not broadcast.
void attn::addSink(SizeConstraints &constraints, Value sink,
                   ArrayRef<SizeConstraint::Member> like) {
  for (int64_t dim = 0; sink && dim < 3; ++dim)
    if (cast<RankedTensorType>(sink.getType()).getDimSize(dim) != 1)
      constraints.push_back({kSizeNames[dim].str(), {like[dim], {"sink", sink, dim}}});
}
