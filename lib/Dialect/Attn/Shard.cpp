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

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
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

  LogicalResult readLayouts(DictionaryAttr shards);
  ShardLayout getLayout(StringAttr size) const { return layouts.lookup(size); }
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
  llvm::MapVector<StringAttr, ShardLayout> layouts;
  /// The names of the spread dimensions of all tensors, traced before the function changes.
  llvm::DenseMap<Value, SmallVector<StringAttr, 4>> sizesOf;
};

/// An attn.attention, and which of its sizes are spread; null for one that is whole.
struct ShardedAttention {
  AttentionOp op;
  StringAttr rows, keys;

  std::array<StringAttr, 2> getSizes() const { return {rows, keys}; }
};

} // namespace

//===----------------------------------------------------------------------===//
// What is spread
//===----------------------------------------------------------------------===//

LogicalResult Spread::readLayouts(DictionaryAttr shards) {
  for (NamedAttribute entry : shards) {
    auto shard = dyn_cast<ShardAttr>(entry.getValue());
    if (!shard)
      return function.emitError("expected #attn.shard<...> for ")
             << entry.getName() << " in attn.shard, found " << entry.getValue();
    layouts[entry.getName()] = shard.getLayout();
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
    sizesOf[value].push_back(layouts.contains(symbol) ? symbol : StringAttr());
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
      if (layouts.contains(StringAttr::get(op.getContext(), symbol)))
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

/// The sizes that an attention's regions use: those of its own, of captured tensors by place.
static LogicalResult verifyRead(const ShardedAttention &attention, tensor::ExtractOp read,
                                ArrayRef<Value> places, Spread &spread) {
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

/// Finds the attention whose rows or keys are spread; fails at ops that can't be.
static LogicalResult collect(func::FuncOp function, Spread &spread,
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
      if (failed(verifyAttention(found.back(), spread)))
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
  return success();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {
class Sharder {
public:
  Sharder(func::FuncOp function, Spread &spread)
      : function(function), spread(spread), b(function.getLoc(), function.getContext()) {}

  void rewrite(const ShardedAttention &attention);

private:
  using Build = function_ref<Value(ImplicitLocOpBuilder &, Value index)>;

  ThisRankOp getRank();
  Value getLength(StringAttr size);
  Value readRank(ImplicitLocOpBuilder &at, int64_t element);
  Value getPositions(StringAttr size);
  Value buildPosition(ImplicitLocOpBuilder &at, ShardLayout layout, Value index, Value length);
  void widenSizes(Region &region);
  void movePlaces(const ShardedAttention &attention, Region &region);
  AttentionOp withLse(AttentionOp op);
  SmallVector<Value> buildEmpty(AttentionOp op);
  MergeOp merge(ValueRange a, ValueRange b);
  SmallVector<Value> sendAround(AttentionOp op, StringAttr keys, ValueRange inits);
  SmallVector<Value> reduce(AttentionOp op);
  Value buildSinkLse(Value sink, Value lse);

  func::FuncOp function;
  Spread &spread;
  ImplicitLocOpBuilder b;
  ThisRankOp rank;
  llvm::DenseMap<StringAttr, Value> positions, lengths;
};
} // namespace

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// The rank, defined at the function's start.
ThisRankOp Sharder::getRank() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  if (!rank)
    rank = ThisRankOp::create(b, RankedTensorType::get({2}, b.getI32Type()), ValueRange());
  return rank;
}

/// The length of a shard, the same on all ranks.
Value Sharder::getLength(StringAttr size) {
  Value &known = lengths[size];
  if (known)
    return known;
  ThisRankOp rank = getRank();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(rank);
  auto [tensor, dim] = spread.findDim(size);
  known = tensor::DimOp::create(b, tensor, dim);
  rank.getSizesMutable().append(known);
  return known;
}

Value Sharder::readRank(ImplicitLocOpBuilder &at, int64_t element) {
  Value number = tensor::ExtractOp::create(at, getRank(), ValueRange{constant(at, element)});
  return arith::IndexCastOp::create(at, at.getIndexType(), number);
}

/// The place in the whole sequence of row `index` of a shard of `length` rows.
Value Sharder::buildPosition(ImplicitLocOpBuilder &at, ShardLayout layout, Value index,
                             Value length) {
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(at, x, y).getResult(); };
  auto sub = [&](Value x, Value y) { return arith::SubIOp::create(at, x, y).getResult(); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(at, x, y).getResult(); };
  Value rank = readRank(at, 0), ranks = readRank(at, 1);
  if (layout == ShardLayout::striped)
    return add(mul(index, ranks), rank);
  if (layout == ShardLayout::blocks)
    return add(mul(rank, length), index);
  Value early = arith::DivUIOp::create(at, add(length, constant(at, 1)), constant(at, 2));
  Value late = sub(length, early), behind = sub(sub(ranks, constant(at, 1)), rank);
  Value inEarly = add(mul(rank, early), index);
  Value inLate = add(add(mul(ranks, early), mul(behind, late)), sub(index, early));
  Value isEarly = arith::CmpIOp::create(at, arith::CmpIPredicate::slt, index, early);
  return arith::SelectOp::create(at, isEarly, inEarly, inLate);
}

Value Sharder::getPositions(StringAttr size) {
  Value &known = positions[size];
  if (known)
    return known;
  Value length = getLength(size);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(rank);
  auto type = RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type());
  known = tensor::GenerateOp::create(
      b, type, ValueRange{length}, [&](OpBuilder &builder, Location loc, ValueRange at) {
        ImplicitLocOpBuilder inner(loc, builder);
        Value position = buildPosition(inner, spread.getLayout(size), at.front(), length);
        tensor::YieldOp::create(inner, arith::IndexCastOp::create(inner, b.getI32Type(), position));
      });
  return known;
}

/// A region's sizes are those of the whole sequence.
void Sharder::widenSizes(Region &region) {
  ImplicitLocOpBuilder inner =
      ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &region.front());
  for (Operation &op : llvm::make_early_inc_range(region.front()))
    for (OpOperand &operand : op.getOpOperands())
      if (isSpreadSize(operand.get().getDefiningOp(), spread) && !isa<tensor::DimOp>(op)) {
        inner.setInsertionPoint(&op);
        Value length = getLength(getSpreadSize(operand.get().getDefiningOp(), spread));
        operand.set(arith::MulIOp::create(inner, length, readRank(inner, 1)));
      }
}

/// Replaces q and k by positions in the whole sequence, except where tensors of the shard are read.
void Sharder::movePlaces(const ShardedAttention &attention, Region &region) {
  for (auto [place, size] : llvm::zip(getPlaces(region), attention.getSizes())) {
    auto isLocal = [&](OpOperand &use) {
      auto read = dyn_cast<tensor::ExtractOp>(use.getOwner());
      return read && use.getOperandNumber() > 0 &&
             spread.get(read.getTensor(), use.getOperandNumber() - 1);
    };
    auto isMoved = [&](OpOperand &use) { return !isLocal(use); };
    if (!size || llvm::none_of(place.getUses(), isMoved))
      continue;
    auto inner = ImplicitLocOpBuilder::atBlockBegin(b.getLoc(), &region.front());
    Value read = tensor::ExtractOp::create(inner, getPositions(size), ValueRange{place});
    Value position = arith::IndexCastOp::create(inner, inner.getIndexType(), read);
    place.replaceUsesWithIf(position, [&](OpOperand &use) {
      return use.getOwner() != read.getDefiningOp() && !isLocal(use);
    });
  }
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

/// All rows see all keys: those of each rank, and what regions read of them, go around.
SmallVector<Value> Sharder::sendAround(AttentionOp op, StringAttr keys, ValueRange inits) {
  llvm::SetVector<Value> travelling;
  for (OpOperand *stored : op.getStoredOperands())
    travelling.insert(stored->get());
  auto isAtKey = [&](tensor::ExtractOp read) {
    Value place = read->getBlock()->getArguments().back(), tensor = read.getTensor();
    return llvm::is_contained(read.getIndices(), place) &&
           (tensor == positions.lookup(keys) || !spread.getDims(tensor).empty());
  };
  op.walk([&](tensor::ExtractOp read) {
    if (isAtKey(read))
      travelling.insert(read.getTensor());
  });
  auto ring = RingOp::create(b, inits.getTypes(), travelling.getArrayRef(), inits);
  SmallVector<Type> types(ring->getOperandTypes());
  Block *body =
      b.createBlock(&ring.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  op->moveBefore(body, body->end());
  for (auto [tensor, block] : llvm::zip(travelling, body->getArguments())) {
    op.walk([&, tensor = tensor, block = block](tensor::ExtractOp read) {
      if (read.getTensor() == tensor && isAtKey(read))
        read.getTensorMutable().assign(block);
    });
    for (OpOperand *stored : op.getStoredOperands())
      if (stored->get() == tensor)
        stored->set(block);
  }
  b.setInsertionPointToEnd(body);
  YieldOp::create(b, merge(body->getArguments().take_back(2), op.getResults()).getResults());
  b.setInsertionPointAfter(ring);
  return ring.getResults();
}

/// Each rank has all rows: their results over its keys are merged with the others'.
SmallVector<Value> Sharder::reduce(AttentionOp op) {
  auto all = AllReduceOp::create(b, op.getResultTypes(), op.getResults());
  SmallVector<Type> twice(op.getResultTypes());
  llvm::append_range(twice, op.getResultTypes());
  Block *body = b.createBlock(&all.getBody(), {}, twice, SmallVector<Location>(4, op.getLoc()));
  YieldOp::create(
      b, merge(body->getArguments().take_front(2), body->getArguments().take_back(2)).getResults());
  b.setInsertionPointAfter(all);
  return all.getResults();
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
  SmallVector<Value> empty;
  AttentionOp local = withLse(op);
  if (attention.rows || op.getSink())
    empty = buildEmpty(local);
  SmallVector<Value> results =
      attention.rows ? sendAround(local, attention.keys, empty) : reduce(local);
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
    Spread spread(function);
    SmallVector<ShardedAttention> found;
    if (failed(spread.readLayouts(shards)) || failed(collect(function, spread, found)))
      return failure();
    Sharder sharder(function, spread);
    for (const ShardedAttention &attention : found)
      sharder.rewrite(attention);
    return success();
  }
};
} // namespace
