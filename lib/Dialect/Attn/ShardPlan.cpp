//===- ShardPlan.cpp - what is spread, and how keys are exchanged ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that can't be spread is found before anything is rewritten.
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// What can be spread
//===----------------------------------------------------------------------===//

/// Whether an op computes each row from the rows of the same place: its dimensions but the last
/// ones, of features, may be spread.
static bool isRowwise(Operation &op, Spread &spread) {
  auto areOuter = [&](Value value) {
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    return llvm::all_of(spread.getDims(value), [&](int64_t dim) { return dim + 1 < rank; });
  };
  auto haveOuter = [&] {
    return llvm::all_of(op.getOperands(), areOuter) && llvm::all_of(op.getResults(), areOuter);
  };
  if (isa<MapOp>(op)) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    return captured.empty();
  }
  if (isa<LinearOp, LayerNormOp, SplitHeadsOp, MergeHeadsOp>(op))
    return haveOuter();
  return isa<TransposeOp>(op) || OpTrait::hasElementwiseMappableTraits(&op);
}

/// The sizes that an attention's regions use: those of its own, of captured tensors by place. A
/// tensor of rows and keys, of both of which a rank has some, has not all that its rows see.
static LogicalResult verifyRead(const ShardedAttention &attention, tensor::ExtractOp read,
                                ArrayRef<Value> places, Spread &spread) {
  if (spread.getDims(read.getTensor()).size() > 1)
    return read.emitOpError("expected a tensor with one dimension that attn.shard spreads, found ")
           << spread.getDims(read.getTensor()).size();
  for (int64_t dim : spread.getDims(read.getTensor())) {
    StringAttr size = spread.get(read.getTensor(), dim);
    Value at = read.getIndices()[dim];
    if ((at == places[0] && size == attention.rows) || (at == places[1] && size == attention.keys))
      continue;
    return read.emitOpError("expected dimension ")
           << dim << ", which attn.shard spreads, to be read at q or k itself";
  }
  return success();
}

SmallVector<Value> attn::getQueryAndKey(Region &region) {
  return llvm::to_vector_of<Value>(region.getArguments().take_back(2));
}

StringAttr attn::getSpreadSize(Operation *op, Spread &spread) {
  auto dim = dyn_cast_or_null<tensor::DimOp>(op);
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  return index ? spread.get(dim.getSource(), *index) : StringAttr();
}

static bool isSpreadSize(Operation *op, Spread &spread) { return bool(getSpreadSize(op, spread)); }

/// Of an unordered sequence the length is unknown.
static LogicalResult verifySize(Operation *user, Value scalar, Spread &spread) {
  StringAttr size = getSpreadSize(scalar.getDefiningOp(), spread);
  if (size && spread.getLayout(size) == ShardLayout::unordered)
    return user->emitOpError("expected no use of the size ") << size << ", which is unordered";
  return success();
}

/// A scalar from outside that a region reads must not be computed from a local size.
static LogicalResult verifyScalar(Operation *user, Value scalar, Spread &spread) {
  Operation *def = scalar.getDefiningOp();
  if (!def || isSpreadSize(def, spread))
    return success();
  SetVector<Operation *> slice;
  (void)getBackwardSlice(def, &slice);
  for (Operation *op : slice)
    if (isSpreadSize(op, spread))
      return user->emitOpError("expected a size that attn.shard spreads to be read by the region "
                               "itself, found one computed outside");
  return success();
}

static LogicalResult verifyRegion(const ShardedAttention &attention, Region &region,
                                  Spread &spread) {
  if (region.empty())
    return success();
  SmallVector<Value> places = getQueryAndKey(region);
  for (Operation &op : region.front()) {
    auto read = dyn_cast<tensor::ExtractOp>(op);
    if (read && failed(verifyRead(attention, read, places, spread)))
      return failure();
    for (Value operand : op.getOperands())
      if (failed(verifySize(&op, operand, spread)) ||
          (operand.getParentRegion() != &region && !isa<TensorType>(operand.getType()) &&
           failed(verifyScalar(&op, operand, spread))))
        return failure();
  }
  // Positions of an unordered sequence are unknown.
  for (auto [place, size] : llvm::zip(places, attention.getSizes()))
    for (Operation *user : place.getUsers())
      if (size && spread.getLayout(size) == ShardLayout::unordered &&
          (!isa<tensor::ExtractOp>(user) ||
           spread.getDims(cast<tensor::ExtractOp>(user).getTensor()).empty()))
        return user->emitOpError("expected no use of a position of ")
               << size << ", which is unordered";
  return success();
}

static LogicalResult verifyAttention(const ShardedAttention &attention, Spread &spread) {
  AttentionOp op = attention.op;
  if (op.getPages() || op.getOffsets() || op.getKvOffsets())
    return op.emitOpError("expected neither pages nor packed rows under attn.shard");
  for (Value operand : op.getOperands())
    for (int64_t dim : spread.getDims(operand))
      if (dim != 2)
        return op.emitOpError("expected attn.shard to spread rows or keys, found dimension ")
               << dim << " of an operand";
  for (Region *region : {&op.getScoreMod(), &op.getMask(), &op.getProbMod()})
    if (failed(verifyRegion(attention, *region, spread)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// How keys are exchanged
//===----------------------------------------------------------------------===//

std::optional<int64_t> attn::findKeyDim(tensor::ExtractOp read, Spread &spread) {
  Value place = read->getBlock()->getArguments().back();
  for (auto [dim, index] : llvm::enumerate(read.getIndices()))
    if (index == place && spread.get(read.getTensor(), dim))
      return dim;
  return std::nullopt;
}

llvm::MapVector<Value, int64_t> attn::collectOfKeys(AttentionOp op, Spread &spread) {
  llvm::MapVector<Value, int64_t> tensors;
  for (OpOperand *stored : op.getStoredOperands())
    tensors[stored->get()] = 2;
  op.walk([&](tensor::ExtractOp read) {
    if (std::optional<int64_t> dim = findKeyDim(read, spread))
      tensors[read.getTensor()] = *dim;
  });
  return tensors;
}

/// The bytes of a row of a tensor, of one batch.
static double countRowBytes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  double bytes = getElementBytes(type.getElementType());
  for (int64_t size : type.getShape())
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

/// Why ranks can't have the keys that their rows see from neighbours alone.
static std::string explainNoHalo(const ShardedAttention &attention, ShardLayout layout) {
  if (attention.rows != attention.keys)
    return "as rows and keys have different sizes";
  if (layout != ShardLayout::blocks)
    return "as the layout is not blocks";
  if (!attention.reach.before || !attention.reach.behind)
    return "as the mask has no constant bound on both sides of a row's place";
  return "";
}

static Exchange describeExchange(const ShardedAttention &attention, Spread &spread) {
  AttentionOp op = attention.op;
  Exchange exchange{op, spread.getLayout(attention.keys), bool(attention.rows)};
  for (auto [tensor, dim] : collectOfKeys(op, spread))
    exchange.keyBytes += countRowBytes(tensor);
  exchange.resultBytes = countRowBytes(op.getResult());
  exchange.before = attention.reach.before;
  exchange.behind = attention.reach.behind;
  exchange.noHalo = explainNoHalo(attention, exchange.layout);
  return exchange;
}

/// Takes the strategy that is named, or the fastest one.
static LogicalResult selectStrategy(ShardedAttention &attention, Spread &spread,
                                    const Cluster &cluster) {
  attention.reach = MaskAnalysis(attention.op.getMask()).getReach();
  attention.estimates = estimate(describeExchange(attention, spread), cluster);
  ShardStrategy named = spread.getStrategy(attention.keys);
  attention.strategy =
      named == ShardStrategy::chosen ? choose(attention.estimates).strategy : named;
  auto *known = llvm::find_if(attention.estimates, [&](const Estimate &each) {
    return each.strategy == attention.strategy;
  });
  if (known == attention.estimates.end())
    return attention.op.emitOpError("expected a strategy for ")
           << (attention.rows ? "rows that are spread" : "rows that are whole") << ", found "
           << stringifyShardStrategy(named);
  if (!known->reason.empty())
    return attention.op.emitOpError("expected another strategy than ")
           << stringifyShardStrategy(named) << ", " << known->reason;
  return success();
}

ArrayAttr attn::describeEstimates(const ShardedAttention &attention, Spread &spread,
                                  const Cluster &cluster) {
  Builder builder(AttentionOp(attention.op).getContext());
  bool isNamed = spread.getStrategy(attention.keys) != ShardStrategy::chosen;
  std::string first = stringifyShardStrategy(attention.strategy).str();
  first += isNamed ? ", as attn.shard names it"
                   : ", which takes least memory of those within 5 % of the fastest";
  SmallVector<Attribute> lines = {builder.getStringAttr(first)};
  for (const Estimate &each : attention.estimates)
    lines.push_back(builder.getStringAttr(each.str()));
  lines.push_back(builder.getStringAttr("for " + cluster.str()));
  return builder.getArrayAttr(lines);
}

/// Fails if a strategy is named for a size that is not one of the keys.
static LogicalResult verifyStrategies(func::FuncOp function, const Spread &spread,
                                      ArrayRef<ShardedAttention> attentions) {
  for (auto [size, shard] : spread.getShards())
    if (shard.getStrategy() != ShardStrategy::chosen &&
        llvm::none_of(attentions,
                      [size = size](const ShardedAttention &each) { return each.keys == size; }))
      return function.emitError("expected a strategy for a size of keys alone, found ")
             << stringifyShardStrategy(shard.getStrategy()) << " for " << size;
  return success();
}

LogicalResult attn::collectSharded(func::FuncOp function, Spread &spread, const Cluster &cluster,
                                   SmallVectorImpl<ShardedAttention> &found) {
  for (Operation &op : function.getBody().front()) {
    auto isSpread = [&](Value value) { return !spread.getDims(value).empty(); };
    for (Value result : op.getResults())
      if (failed(spread.verifySizes(op, result)))
        return failure();
    if (isa<func::ReturnOp>(op) ||
        (llvm::none_of(op.getOperands(), isSpread) && llvm::none_of(op.getResults(), isSpread)))
      continue;
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      found.push_back(
          {attention, spread.get(attention.getQuery(), 2), spread.get(attention.getKey(), 2)});
      if (failed(verifyAttention(found.back(), spread)) ||
          (found.back().keys && failed(selectStrategy(found.back(), spread, cluster))))
        return failure();
      continue;
    }
    auto readsInRegion = [](Operation *user) { return isa<AttentionOp>(user->getParentOp()); };
    bool isFit = isSpreadSize(&op, spread) ? llvm::all_of(op.getUsers(), readsInRegion)
                                           : isRowwise(op, spread);
    if (!isFit)
      return op.emitOpError("expected an op that works row by row, or attention that fuses, on a "
                            "dimension that attn.shard spreads");
  }
  return verifyStrategies(function, spread, found);
}
