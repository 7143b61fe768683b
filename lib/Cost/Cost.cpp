//===- Cost.cpp - FLOPs and bytes of ops ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Cost/Cost.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;
using namespace attnc;

SymbolicCount::Factor CostModel::getSize(Value tensor, int64_t dim) {
  std::optional<Size> size = tracer.trace(tensor, dim);
  if (size && size->isConstant())
    return {size->constant, std::nullopt};
  StringAttr symbol = size ? tracer.getSymbol(*size) : StringAttr();
  return {1, symbol ? SizeSum{{symbol.str()}} : tracer.sum(tensor, dim)};
}

SmallVector<SymbolicCount::Factor> CostModel::getSizes(Value tensor) {
  SmallVector<SymbolicCount::Factor> sizes;
  for (int64_t dim = 0; dim < cast<RankedTensorType>(tensor.getType()).getRank(); ++dim)
    sizes.push_back(getSize(tensor, dim));
  return sizes;
}

std::string CostModel::describeSize(Value tensor, int64_t dim) {
  SymbolicCount::Factor size = getSize(tensor, dim);
  return size.sum ? size.sum->str() : std::to_string(size.number);
}

std::string CostModel::describe(Value tensor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getElementTypeOrSelf(tensor.getType()) << '[';
  auto dims = llvm::seq(cast<RankedTensorType>(tensor.getType()).getRank());
  llvm::interleaveComma(dims, os, [&](int64_t dim) { os << describeSize(tensor, dim); });
  os << ']';
  return text;
}

/// Of a pool, the pages in the table are read; of an embedding's table, a row per id. What is
/// appended in place is the rows.
SmallVector<SymbolicCount::Factor> CostModel::getSizesRead(Operation *op, Value tensor) {
  if (auto embedding = dyn_cast<EmbeddingOp>(op); embedding && tensor == embedding.getTable())
    return getSizes(embedding.getResult());
  if (getArgumentInPlace(op) && tensor == op->getResult(0))
    return getSizes(isa<AppendCacheOp>(op) ? cast<AppendCacheOp>(op).getRows()
                                           : cast<AppendPagesOp>(op).getRows());
  if (auto lengths = dyn_cast<PageLengthsOp>(op); lengths && tensor == lengths.getPool())
    return {{0, std::nullopt}}; // its sizes alone
  SmallVector<SymbolicCount::Factor> sizes = getSizes(tensor);
  PagedTensors paged = getPagedTensors(op);
  if (llvm::is_contained(paged.pools, tensor)) {
    sizes.front() = getSize(paged.table, 0);
    if (!paged.offsets)
      sizes.push_back(getSize(paged.table, paged.getPageDim()));
  }
  return sizes;
}

/// The tensors that a rank sends at a time.
static ValueRange getSent(Operation *op) {
  if (auto ring = dyn_cast<RingOp>(op))
    return ring.getBlocks();
  if (isa<AllGatherOp>(op))
    return op->getOperands().take_front();
  return isa<AllReduceOp>(op) ? ValueRange(op->getOperands()) : ValueRange();
}

SymbolicCount CostModel::countSent(Operation *op) {
  SymbolicCount sent;
  for (Value tensor : getSent(op)) {
    SmallVector<SymbolicCount::Factor> sizes = getSizes(tensor);
    auto gather = dyn_cast<AllGatherOp>(op);
    if (std::optional<ArrayRef<int64_t>> halo = gather ? gather.getHalo() : std::nullopt)
      sizes[gather.getDim()] = {halo->front() + halo->back(), std::nullopt};
    sent.add(getElementBytes(getElementTypeOrSelf(tensor)), sizes);
  }
  return sent;
}

Cost CostModel::get(Operation *op) {
  Cost cost;
  if (auto attnOp = dyn_cast<AttnOpInterface>(op))
    for (const SizeProduct &product : attnOp.getFlops())
      cost.flops.add(product.factor, llvm::map_to_vector(product.sizes, [&](const TensorDim &size) {
                       return getSize(size.tensor.value, size.dim);
                     }));
  llvm::SetVector<Value> tensors; // a region may read an operand as well
  getUsedValuesDefinedAbove(op->getRegions(), tensors);
  tensors.insert_range(op->getOperands());
  tensors.insert_range(op->getResults());
  tensors.remove(getArgumentInPlace(op));
  if (auto attention = dyn_cast<AttentionOp>(op); attention && areValuesInKeys(attention))
    tensors.remove(attention.getValue());
  cost.sent = countSent(op);
  for (Value tensor : tensors)
    if (auto type = dyn_cast<RankedTensorType>(tensor.getType()))
      cost.bytes.add(getElementBytes(type.getElementType()), getSizesRead(op, tensor));
  return cost;
}

SymbolicCount attnc::countFlops(func::FuncOp function) {
  CostModel costs(function);
  SymbolicCount flops;
  function.walk([&](Operation *op) { flops.add(costs.get(op).flops); });
  return flops;
}
