//===- Shard.cpp - spread sequences over several processes ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function computes what each rank has of the whole: ops that work row by row stay as they are,
// regions of attention see positions in the whole sequence, and keys of other ranks are exchanged.
// All that can't be spread is found before anything is rewritten.
//
//===----------------------------------------------------------------------===//

#include "ShardCost.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/ConstantBytes.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

#include <array>
#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSHARD
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Which dimensions of a function's tensors are spread, by the name of their size.
class Spread {
public:
  explicit Spread(func::FuncOp function) : function(function), tracer(function) {}

  LogicalResult readLayouts(DictionaryAttr given);
  ShardLayout getLayout(StringAttr size) const { return shards.lookup(size).getLayout(); }
  ShardStrategy getStrategy(StringAttr size) const { return shards.lookup(size).getStrategy(); }
  /// Fails if a strategy is named for a size that is not one of the keys.
  LogicalResult verifyStrategies(ArrayRef<struct ShardedAttention> attentions);
  /// The name of a dimension's size, null if the dimension is whole, as in tensors made since.
  StringAttr get(Value tensor, int64_t dim);
  /// Notes that `tensor` has taken the place of `other`.
  void replace(Value other, Value tensor);
  /// The dimensions of a value that are spread.
  SmallVector<int64_t> getDims(Value value);
  /// Fails, with an error at `op`, if a size of a value is computed from one that is spread.
  LogicalResult verifySizes(Operation &op, Value value);
  /// An argument's dimension of this size.
  std::pair<Value, int64_t> findDim(StringAttr size);

private:
  void trace(Value value);

  func::FuncOp function;
  SizeTracer tracer;
  llvm::MapVector<StringAttr, ShardAttr> shards;
  /// The names of the spread dimensions of all tensors, traced before the function changes.
  llvm::DenseMap<Value, SmallVector<StringAttr, 4>> sizesOf;
};

/// An attn.attention, and which of its sizes are spread; null for one that is whole.
struct ShardedAttention {
  AttentionOp op;
  StringAttr rows, keys;
  /// If keys are spread: how they are exchanged, and what the cost model estimates.
  ShardStrategy strategy = ShardStrategy::chosen;
  SmallVector<Estimate> estimates = {};
  MaskAnalysis::Reach reach = {};

  std::array<StringAttr, 2> getSizes() const { return {rows, keys}; }
};

} // namespace

//===----------------------------------------------------------------------===//
// What is spread
//===----------------------------------------------------------------------===//

LogicalResult Spread::readLayouts(DictionaryAttr given) {
  for (NamedAttribute entry : given) {
    auto shard = dyn_cast<ShardAttr>(entry.getValue());
    if (!shard)
      return function.emitError("expected #attn.shard<...> for ")
             << entry.getName() << " in attn.shard, found " << entry.getValue();
    shards[entry.getName()] = shard;
    if (!findDim(entry.getName()).first)
      return function.emitError("expected a dynamic size of an argument that attn.dims calls ")
             << entry.getName() << ", found none";
  }
  for (BlockArgument argument : function.getArguments())
    trace(argument);
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      trace(result);
  return success();
}

std::pair<Value, int64_t> Spread::findDim(StringAttr size) {
  for (BlockArgument argument : function.getArguments()) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), kDimsAttr);
    for (auto [dim, symbol] : llvm::enumerate(dims ? dims.getValue() : ArrayRef<Attribute>()))
      if (symbol == size && cast<RankedTensorType>(argument.getType()).isDynamicDim(dim))
        return {argument, dim};
  }
  return {};
}

void Spread::trace(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    std::optional<Size> size = tracer.trace(value, dim);
    StringAttr symbol = size ? tracer.getSymbol(*size) : StringAttr();
    sizesOf[value].push_back(shards.contains(symbol) ? symbol : StringAttr());
  }
}

StringAttr Spread::get(Value tensor, int64_t dim) {
  auto sizes = sizesOf.find(tensor);
  return sizes == sizesOf.end() ? StringAttr() : sizes->second[dim];
}

void Spread::replace(Value other, Value tensor) {
  SmallVector<StringAttr, 4> sizes = sizesOf.lookup(other);
  sizesOf[tensor] = sizes;
  other.replaceAllUsesWith(tensor);
}

SmallVector<int64_t> Spread::getDims(Value value) {
  SmallVector<int64_t> dims;
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (get(value, dim))
        dims.push_back(dim);
  return dims;
}

LogicalResult Spread::verifySizes(Operation &op, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim) || get(value, dim))
      continue;
    SizeSum sum = tracer.sum(value, dim);
    for (const std::string &symbol : sum.symbols)
      if (shards.contains(StringAttr::get(op.getContext(), symbol)))
        return op.emitOpError("expected sizes that are spread as a whole, found ") << sum.str();
  }
  return success();
}

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

/// The coordinates q and k of a region.
static SmallVector<Value> getPlaces(Region &region) {
  return llvm::to_vector_of<Value>(region.getArguments().take_back(2));
}

/// The size that a tensor.dim gives, if it is spread; null for other ops and sizes.
static StringAttr getSpreadSize(Operation *op, Spread &spread) {
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
  SmallVector<Value> places = getPlaces(region);
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

/// The dimension along which a region's read of a tensor follows the keys; none if it does not.
static std::optional<int64_t> findKeyDim(tensor::ExtractOp read, Spread &spread) {
  Value place = read->getBlock()->getArguments().back();
  for (auto [dim, index] : llvm::enumerate(read.getIndices()))
    if (index == place && spread.get(read.getTensor(), dim))
      return dim;
  return std::nullopt;
}

/// The tensors of keys, values, and what regions read of them, each with the keys' dimension.
static llvm::MapVector<Value, int64_t> collectOfKeys(AttentionOp op, Spread &spread) {
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

/// What explain prints of a choice.
static ArrayAttr describeEstimates(const ShardedAttention &attention, Spread &spread,
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

LogicalResult Spread::verifyStrategies(ArrayRef<ShardedAttention> attentions) {
  for (auto [size, shard] : shards)
    if (shard.getStrategy() != ShardStrategy::chosen &&
        llvm::none_of(attentions,
                      [size = size](const ShardedAttention &each) { return each.keys == size; }))
      return function.emitError("expected a strategy for a size of keys alone, found ")
             << stringifyShardStrategy(shard.getStrategy()) << " for " << size;
  return success();
}

/// Finds the attention whose rows or keys are spread; fails at ops that can't be.
static LogicalResult collect(func::FuncOp function, Spread &spread, const Cluster &cluster,
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
  return spread.verifyStrategies(found);
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

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
      if (isSpreadSize(operand.get().getDefiningOp(), spread) && !isa<tensor::DimOp>(op)) {
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
  SmallVector<Value> coordinates = ::getPlaces(region);
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
  for (auto [entry, block] : llvm::zip(ofKeys, body->getArguments())) {
    op.walk([&, tensor = entry.first, block = block](tensor::ExtractOp read) {
      if (read.getTensor() == tensor && isAtKey(read))
        read.getTensorMutable().assign(block);
    });
    for (OpOperand *stored : op.getStoredOperands())
      if (stored->get() == entry.first)
        stored->set(block);
  }
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
    op.walk([&, tensor = tensor](tensor::ExtractOp read) {
      if (read.getTensor() == tensor && findKeyDim(read, spread))
        read.getTensorMutable().assign(all.getResult());
    });
    for (OpOperand *stored : op.getStoredOperands())
      if (stored->get() == tensor)
        stored->set(all.getResult());
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
        failed(collect(function, spread, *known, found)))
      return failure();
    Sharder sharder(function, spread, *known);
    for (const ShardedAttention &attention : found)
      sharder.rewrite(attention);
    return success();
  }
};
} // namespace
