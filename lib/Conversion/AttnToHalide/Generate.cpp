//===- Generate.cpp - tensor.generate over tensors that may be empty ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
struct OpenDim {
  Value tensor;
  int64_t dim;
  bool operator==(const OpenDim &other) const { return tensor == other.tensor && dim == other.dim; }
};
} // namespace

/// The dimension of an argument that the region indexes freely and that may have size 0, as an
/// empty cache; none if there are several.
static std::optional<OpenDim> findOpenDim(tensor::GenerateOp op) {
  std::optional<OpenDim> found;
  for (auto extract : op.getBody().getOps<tensor::ExtractOp>()) {
    auto argument = dyn_cast<BlockArgument>(extract.getTensor());
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      if (!argument || !extract.getTensor().getType().isDynamicDim(dim) ||
          isa<BlockArgument>(index))
        continue;
      OpenDim open{argument, int64_t(dim)};
      if (found && !(*found == open))
        return std::nullopt;
      found = open;
    }
  }
  return found;
}

/// The same for an empty `tensor`, of which nothing is read.
static tensor::GenerateOp cloneWithout(tensor::GenerateOp op, Value tensor) {
  tensor::GenerateOp clone = op.clone();
  for (auto extract : llvm::make_early_inc_range(clone.getBody().getOps<tensor::ExtractOp>())) {
    if (extract.getTensor() != tensor)
      continue;
    OpBuilder builder(extract);
    Value zero = arith::ConstantOp::create(builder, extract.getLoc(),
                                           builder.getZeroAttr(extract.getType()));
    extract.replaceAllUsesWith(zero);
    extract.erase();
  }
  return clone;
}

static LogicalResult convertGenerate(tensor::GenerateOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  auto callFor = [&](tensor::GenerateOp generate, function_ref<Value()> condition) {
    return converter.call(
        op.getLoc(), "generate", op.getResult(),
        [&](PipelineBuilder &p) { return lowerGenerate(p, generate, converter.getCpu()); },
        condition);
  };
  std::optional<OpenDim> open = findOpenDim(op);
  if (!open)
    return callFor(op, {});
  OwningOpRef<tensor::GenerateOp> without = cloneWithout(op, open->tensor);
  if (failed(callFor(*without, [&] { return host.isEmpty(open->tensor, open->dim); })))
    return failure();
  return callFor(
      op, [&] { return host.isWithin(open->tensor, {open->dim}, /*above=*/0, /*limit=*/0); });
}

void attn::addGenerateLowerings(Lowerings &lowerings) { lowerings.addComputed(convertGenerate); }
