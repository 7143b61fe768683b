//===- Shard.cpp - spread sequences over several processes ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function computes what each rank has of the whole: ops that work row by row stay as they are,
// regions of attention see positions in the whole sequence, and keys of other ranks are exchanged.
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSHARD
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
class Sharder {
public:
  Sharder(func::FuncOp function, Spread &spread, const Cluster &cluster)
      : function(function), spread(spread), cluster(cluster),
        b(function.getLoc(), function.getContext()) {}

  void rewrite(const ShardedAttention &attention);

private:
  using MovePlace = function_ref<Value(ImplicitLocOpBuilder &, Value place)>;

  PlacesOp getPlaces(StringAttr size);
  Value readPlaces(ImplicitLocOpBuilder &at, StringAttr size, PlacesElement element);
  Value getPositions(StringAttr size);
  void widenSizes(Region &region);
  void movePlace(Region &region, Value place, MovePlace move);
  void movePlaces(const ShardedAttention &attention, Region &region);
  Value buildFirstOfHalo(ImplicitLocOpBuilder &at, const ShardedAttention &attention);
  AttentionOp withLse(AttentionOp op);
  SmallVector<Value> buildEmpty(AttentionOp op);
  MergeOp merge(ValueRange a, ValueRange b);
  Value pad(Value tensor, int64_t dim, Value size);
  void hideKeysFrom(AttentionOp op, Value rows);
  SmallVector<Value> sendAround(const ShardedAttention &attention, AttentionOp op,
                                ValueRange inits);
  SmallVector<Value> reduce(const ShardedAttention &attention, AttentionOp op);
  void gather(const ShardedAttention &attention);
  Value buildCount(const ShardedAttention &attention);
  Value buildSinkLse(Value sink, Value lse);

  func::FuncOp function;
  Spread &spread;
  const Cluster &cluster;
  ImplicitLocOpBuilder b;
  llvm::DenseMap<StringAttr, Value> positions;
  llvm::DenseMap<StringAttr, PlacesOp> places;
};
} // namespace

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// Where the shard lies, at the function's start.
PlacesOp Sharder::getPlaces(StringAttr size) {
  PlacesOp &known = places[size];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  auto [tensor, dim] = spread.findDim(size);
  Value rows = tensor::DimOp::create(b, tensor, dim);
  auto type = RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type());
  return known = PlacesOp::create(b, type, rows, spread.getLayout(size));
}

Value Sharder::readPlaces(ImplicitLocOpBuilder &at, StringAttr size, PlacesElement element) {
  Value number = tensor::ExtractOp::create(at, getPlaces(size), ValueRange{constant(at, element)});
  return arith::IndexCastOp::create(at, at.getIndexType(), number);
}

/// The places in the whole sequence of the rank's rows.
Value Sharder::getPositions(StringAttr size) {
  Value &known = positions[size];
  if (known)
    return known;
  PlacesOp at = getPlaces(size);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(at);
  auto build = [&](OpBuilder &builder, Location loc, ValueRange rows) {
    ImplicitLocOpBuilder inner(loc, builder);
    auto read = [&](PlacesElement element) { return readPlaces(inner, size, element); };
    Value row = rows.front(), early = read(kEarlyPlace);
    Value steps = arith::MulIOp::create(inner, row, read(kStepPlace));
    Value inEarly = arith::AddIOp::create(inner, read(kFirstPlace), steps);
    Value behind = arith::SubIOp::create(inner, row, early);
    Value inLate = arith::AddIOp::create(inner, read(kLatePlace), behind);
    Value isEarly = arith::CmpIOp::create(inner, arith::CmpIPredicate::slt, row, early);
    Value place = arith::SelectOp::create(inner, isEarly, inEarly, inLate);
    tensor::YieldOp::create(inner, arith::IndexCastOp::create(inner, b.getI32Type(), place));
  };
  auto type = RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type());
  return known = tensor::GenerateOp::create(b, type, ValueRange{at.getRows()}, build);
}

/// A region's sizes are those of the whole sequence.
void Sharder::widenSizes(Region &region) {
  ImplicitLocOpBuilder inner =
      ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &region.front());
  for (Operation &op : llvm::make_early_inc_range(region.front()))
    for (OpOperand &operand : op.getOpOperands())
      if (getSpreadSize(operand.get().getDefiningOp(), spread) && !isa<tensor::DimOp>(op)) {
        inner.setInsertionPoint(&op);
        StringAttr size = getSpreadSize(operand.get().getDefiningOp(), spread);
        operand.set(readPlaces(inner, size, kWholePlace));
      }
}

/// Replaces a coordinate, except where tensors of the shard are read.
void Sharder::movePlace(Region &region, Value place, MovePlace move) {
  auto isLocal = [&](OpOperand &use) {
    auto read = dyn_cast<tensor::ExtractOp>(use.getOwner());
    return read && use.getOperandNumber() > 0 &&
           spread.get(read.getTensor(), use.getOperandNumber() - 1);
  };
  SmallVector<OpOperand *> moved;
  for (OpOperand &use : place.getUses())
    if (!isLocal(use))
      moved.push_back(&use);
  if (moved.empty())
    return;
  auto inner = ImplicitLocOpBuilder::atBlockBegin(b.getLoc(), &region.front());
  Value position = move(inner, place);
  for (OpOperand *use : moved)
    use->set(position);
}

/// The place of the first key of a halo.
Value Sharder::buildFirstOfHalo(ImplicitLocOpBuilder &at, const ShardedAttention &attention) {
  Value first = readPlaces(at, attention.keys, kFirstPlace);
  Value before = arith::SubIOp::create(at, first, constant(at, *attention.reach.before));
  return arith::MaxSIOp::create(at, before, constant(at, 0));
}

/// Replaces q and k by positions in the whole sequence. Keys that were gathered are in its order.
void Sharder::movePlaces(const ShardedAttention &attention, Region &region) {
  auto readPosition = [&](StringAttr size) {
    return [this, size](ImplicitLocOpBuilder &inner, Value place) -> Value {
      Value read = tensor::ExtractOp::create(inner, getPositions(size), ValueRange{place});
      return arith::IndexCastOp::create(inner, inner.getIndexType(), read);
    };
  };
  auto addFirst = [&](ImplicitLocOpBuilder &inner, Value place) -> Value {
    return arith::AddIOp::create(inner, place, buildFirstOfHalo(inner, attention));
  };
  SmallVector<Value> coordinates = getQueryAndKey(region);
  if (attention.rows)
    movePlace(region, coordinates[0], readPosition(attention.rows));
  if (attention.strategy == ShardStrategy::halo)
    movePlace(region, coordinates[1], addFirst);
  else if (attention.keys && attention.strategy != ShardStrategy::all_gather)
    movePlace(region, coordinates[1], readPosition(attention.keys));
}

/// The same op without a sink and with an lse.
AttentionOp Sharder::withLse(AttentionOp op) {
  auto context = cast<RankedTensorType>(op.getResult().getType());
  Type element = context.getElementType();
  Type wide = element.getIntOrFloatBitWidth() < 32 ? Type(b.getF32Type()) : element;
  Type lse = op.getLse() ? op.getLse().getType()
                         : RankedTensorType::get(context.getShape().drop_back(), wide);
  auto copy = AttentionOp::create(b, context, lse, op.getQuery(), op.getKey(), op.getValue(),
                                  op.getScaleAttr());
  if (Value scales = op.getKeyScales())
    copy.getKeyScalesMutable().assign(scales);
  if (Value scales = op.getValueScales())
    copy.getValueScalesMutable().assign(scales);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions()))
    to.takeBody(from);
  return copy;
}

/// Context and lse of no key, of the op's sizes.
SmallVector<Value> Sharder::buildEmpty(AttentionOp op) {
  SmallVector<Value> empty;
  auto fill = [&](Value like, double value) {
    auto type = cast<RankedTensorType>(like.getType());
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(dim < 3 ? tensor::DimOp::create(b, op.getQuery(), dim)
                                : tensor::DimOp::create(b, op.getValue(), dim));
    Value scalar = arith::ConstantOp::create(b, b.getFloatAttr(type.getElementType(), value));
    empty.push_back(tensor::SplatOp::create(b, scalar, type, sizes));
  };
  fill(op.getResult(), 0);
  fill(op.getLse(), -std::numeric_limits<double>::infinity());
  return empty;
}

MergeOp Sharder::merge(ValueRange one, ValueRange other) {
  return MergeOp::create(b, one[0].getType(), one[1].getType(), one[0], one[1], other[0], other[1]);
}

/// A tensor of `size` rows, of which the last ones are zeros or other ranks' rows.
Value Sharder::pad(Value tensor, int64_t dim, Value size) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), tensor), padded = sizes;
  padded[dim] = size;
  Value empty = tensor::EmptyOp::create(b, padded, getElementTypeOrSelf(tensor));
  SmallVector<OpFoldResult> zeros(sizes.size(), b.getIndexAttr(0)),
      ones(sizes.size(), b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(b, tensor, empty, zeros, sizes, ones);
}

/// Hides the keys from `rows`[0] on.
void Sharder::hideKeysFrom(AttentionOp op, Value rows) {
  Region &mask = op.getMask();
  ImplicitLocOpBuilder inner(op.getLoc(), op.getContext());
  if (mask.empty())
    inner.createBlock(&mask, {}, SmallVector<Type>(4, inner.getIndexType()),
                      SmallVector<Location>(4, op.getLoc()));
  else
    inner.setInsertionPoint(mask.front().getTerminator());
  Value read = tensor::ExtractOp::create(inner, rows, ValueRange{constant(inner, 0)});
  Value count = arith::IndexCastOp::create(inner, inner.getIndexType(), read);
  Value key = mask.getArguments().back();
  Value isVisible = arith::CmpIOp::create(inner, arith::CmpIPredicate::slt, key, count);
  if (mask.front().mightHaveTerminator()) {
    Operation *yield = mask.front().getTerminator();
    yield->setOperand(0, arith::AndIOp::create(inner, isVisible, yield->getOperand(0)));
  } else {
    YieldOp::create(inner, isVisible);
  }
}

/// Replaces `tensor` by `other` where it is stored, and where regions read it at a key.
static void replaceAtKeys(AttentionOp op, Value tensor, Value other,
                          function_ref<bool(tensor::ExtractOp)> isAtKey) {
  op.walk([&](tensor::ExtractOp read) {
    if (read.getTensor() == tensor && isAtKey(read))
      read.getTensorMutable().assign(other);
  });
  for (OpOperand *stored : op.getStoredOperands())
    if (stored->get() == tensor)
      stored->set(other);
}

/// All rows see all keys: those of each rank, and what regions read of them, go around. Blocks are
/// as long as the longest one.
SmallVector<Value> Sharder::sendAround(const ShardedAttention &attention, AttentionOp op,
                                       ValueRange inits) {
  llvm::MapVector<Value, int64_t> ofKeys = collectOfKeys(op, spread);
  auto isAtKey = [&](tensor::ExtractOp read) {
    return llvm::is_contained(read.getIndices(), read->getBlock()->getArguments().back());
  };
  op.walk([&](tensor::ExtractOp read) {
    if (read.getTensor() == positions.lookup(attention.keys) && isAtKey(read))
      ofKeys[read.getTensor()] = 0;
  });
  Value longest = readPlaces(b, attention.keys, kLongestPlace);
  SmallVector<Value> travelling;
  for (auto [tensor, dim] : ofKeys)
    travelling.push_back(pad(tensor, dim, longest));
  travelling.push_back(tensor::ExtractSliceOp::create(
      b, RankedTensorType::get({1}, b.getI32Type()), Value(getPlaces(attention.keys)),
      ArrayRef<OpFoldResult>(b.getIndexAttr(kRowsPlace)), ArrayRef<OpFoldResult>(b.getIndexAttr(1)),
      ArrayRef<OpFoldResult>(b.getIndexAttr(1))));
  auto ring = RingOp::create(b, inits.getTypes(), travelling, inits);
  ring->setAttr(kEstimatesAttr, describeEstimates(attention, spread, cluster));
  SmallVector<Type> types(ring->getOperandTypes());
  Block *body =
      b.createBlock(&ring.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  op->moveBefore(body, body->end());
  for (auto [entry, block] : llvm::zip(ofKeys, body->getArguments()))
    replaceAtKeys(op, entry.first, block, isAtKey);
  hideKeysFrom(op, body->getArgument(ofKeys.size()));
  b.setInsertionPointToEnd(body);
  YieldOp::create(b, merge(body->getArguments().take_back(2), op.getResults()).getResults());
  b.setInsertionPointAfter(ring);
  return ring.getResults();
}

/// Each rank has all rows: their results over its keys are merged with the others'.
SmallVector<Value> Sharder::reduce(const ShardedAttention &attention, AttentionOp op) {
  auto all = AllReduceOp::create(b, op.getResultTypes(), op.getResults());
  all->setAttr(kEstimatesAttr, describeEstimates(attention, spread, cluster));
  SmallVector<Type> twice(op.getResultTypes());
  llvm::append_range(twice, op.getResultTypes());
  Block *body = b.createBlock(&all.getBody(), {}, twice, SmallVector<Location>(4, op.getLoc()));
  YieldOp::create(
      b, merge(body->getArguments().take_front(2), body->getArguments().take_back(2)).getResults());
  b.setInsertionPointAfter(all);
  return all.getResults();
}

/// The number of keys that a rank gathers.
Value Sharder::buildCount(const ShardedAttention &attention) {
  auto read = [&](PlacesElement element) { return readPlaces(b, attention.keys, element); };
  Value whole = read(kWholePlace);
  if (attention.strategy == ShardStrategy::all_gather)
    return whole;
  Value end = arith::AddIOp::create(b, read(kFirstPlace), read(kRowsPlace));
  end = arith::AddIOp::create(b, end, constant(b, *attention.reach.behind));
  end = arith::MinSIOp::create(b, end, whole);
  Value count = arith::SubIOp::create(b, end, buildFirstOfHalo(b, attention));
  return arith::MaxSIOp::create(b, count, constant(b, 0));
}

/// Each rank gets the keys of all ranks that its rows see.
void Sharder::gather(const ShardedAttention &attention) {
  AttentionOp op = attention.op;
  DenseI64ArrayAttr halo;
  if (attention.strategy == ShardStrategy::halo)
    halo = b.getDenseI64ArrayAttr({*attention.reach.before, *attention.reach.behind});
  Value count = buildCount(attention);
  ArrayAttr estimates = describeEstimates(attention, spread, cluster);
  for (auto [tensor, dim] : collectOfKeys(op, spread)) {
    auto all = AllGatherOp::create(b, tensor.getType(), tensor, getPlaces(attention.keys),
                                   spread.getLayout(attention.keys), dim, count, halo);
    if (estimates)
      all->setAttr(kEstimatesAttr, estimates);
    estimates = {};
    auto isAtKey = [&](tensor::ExtractOp read) { return findKeyDim(read, spread).has_value(); };
    replaceAtKeys(op, tensor, all.getResult(), isAtKey);
  }
}

/// The sink as the lse of a part of its own.
Value Sharder::buildSinkLse(Value sink, Value lse) {
  auto type = cast<RankedTensorType>(lse.getType()), given = cast<RankedTensorType>(sink.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(tensor::DimOp::create(b, lse, dim));
  return tensor::GenerateOp::create(
      b, type, sizes, [&](OpBuilder &builder, Location loc, ValueRange at) {
        ImplicitLocOpBuilder inner(loc, builder);
        SmallVector<Value> place(at);
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          if (given.getDimSize(dim) == 1)
            place[dim] = constant(inner, 0);
        Value score = tensor::ExtractOp::create(inner, sink, place);
        if (score.getType() != type.getElementType())
          score = arith::ExtFOp::create(inner, type.getElementType(), score);
        tensor::YieldOp::create(inner, score);
      });
}

void Sharder::rewrite(const ShardedAttention &attention) {
  AttentionOp op = attention.op;
  b.setLoc(op.getLoc());
  for (Region *region : {&op.getScoreMod(), &op.getMask(), &op.getProbMod()})
    if (!region->empty()) {
      widenSizes(*region);
      movePlaces(attention, *region);
    }
  if (!attention.keys)
    return;
  b.setInsertionPoint(op);
  if (attention.strategy == ShardStrategy::all_gather || attention.strategy == ShardStrategy::halo)
    return gather(attention);
  SmallVector<Value> empty;
  AttentionOp local = withLse(op);
  if (attention.rows || op.getSink())
    empty = buildEmpty(local);
  SmallVector<Value> results =
      attention.rows ? sendAround(attention, local, empty) : reduce(attention, local);
  if (op.getLse())
    spread.replace(op.getLse(), results[1]);
  // A sink is no key: it is merged once, as a part of its own.
  if (op.getSink())
    results = merge(results, {empty[0], buildSinkLse(op.getSink(), results[1])}).getResults();
  spread.replace(op.getResult(), results[0]);
  op.erase();
}

namespace {
struct AttnShardPass : attn::impl::AttnShardBase<AttnShardPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Attribute given = function->getAttr(kShardAttr);
    if (!given || function.isExternal())
      return;
    if (failed(run(function, given)))
      return signalPassFailure();
    function->removeAttr(kShardAttr);
  }

  LogicalResult run(func::FuncOp function, Attribute given) {
    auto shards = dyn_cast<DictionaryAttr>(given);
    if (!shards)
      return function.emitError("expected attn.shard to be a dictionary, found ") << given;
    if (!function.getBody().hasOneBlock())
      return function.emitError("expected a function of one block under attn.shard");
    if (failed(verifyDims(function)))
      return failure();
    FailureOr<Cluster> known = Cluster::parse(cluster, [&] { return function.emitError(); });
    Spread spread(function);
    SmallVector<ShardedAttention> found;
    if (failed(known) || failed(spread.readLayouts(shards)) ||
        failed(collectSharded(function, spread, *known, found)))
      return failure();
    Sharder sharder(function, spread, *known);
    for (const ShardedAttention &attention : found)
      sharder.rewrite(attention);
    return success();
  }
};
} // namespace
