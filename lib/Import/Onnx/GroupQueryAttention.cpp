//===- GroupQueryAttention.cpp - ONNX Runtime's attention of decoders -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedAttention.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;
using namespace mlir::attn::imports::fused;

namespace {
/// One node, taken apart in order.
class GroupQuery {
public:
  explicit GroupQuery(Node &node) : node(node), body(node.body) {}
  LogicalResult import();

private:
  enum Input {
    Query,
    Key,
    Value_,
    PastKey,
    PastValue,
    Lengths,
    TotalLength,
    Cos,
    Sin,
    Positions,
    Bias,
    Sink,
    KeyScale,
    ValueScale,
    QueryNorm,
    KeyNorm
  };

  LogicalResult checkAttributes();
  LogicalResult readHeads();
  LogicalResult readLengths();
  LogicalResult normalize();
  LogicalResult rotate();
  void findPastLength();
  FailureOr<TensorRef> getPositions();
  FailureOr<TensorRef> append(Input input, const TensorRef &rows);
  TensorRef appendRows(const TensorRef &cache, const TensorRef &rows);
  TensorRef getSink();
  PlaceFn getVisible();

  Node &node;
  Body &body;
  Heads heads;
  /// The last visible key of each batch: [batch].
  TensorRef last;
  /// The most keys of any batch.
  OpFoldResult total;
  /// The length of the grown caches.
  OpFoldResult grown;
  std::function<Value(Body &, Value)> pastLength;
};
} // namespace

LogicalResult GroupQuery::checkAttributes() {
  for (StringRef name : {"kv_cache_bit_width", "qk_output", "sliding_window_cache"})
    if (failed(expectInt(node, name)))
      return failure();
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (StringRef kind = node.getString(name, "NONE"); kind != "NONE")
      return node.error() << "expected attribute '" << name << "' NONE, found " << kind;
  if (failed(expectNone(node, KeyScale, "k_scale")) ||
      failed(expectNone(node, ValueScale, "v_scale")))
    return failure();
  if (!node.getInt("causal", 1))
    return expectInt(node, "local_window_size", -1);
  return success();
}

LogicalResult GroupQuery::readHeads() {
  FailureOr<int64_t> count = getHeads(node, "num_heads"), groups = getHeads(node, "kv_num_heads");
  if (failed(count) || failed(groups))
    return failure();
  TensorRef query = node.input(Query), key = node.input(Key), value = node.input(Value_);
  if (failed(checkRank(node, query, 3, "query")))
    return failure();
  if (!key && !value) {
    auto width = getStatic(query->sizes[2]);
    int64_t all = *count + 2 * *groups;
    if (!width || *width % all != 0)
      return node.error() << "expected a packed query for " << *count << " and twice " << *groups
                          << " heads, found " << query->getType();
    int64_t size = *width / all, wide = *count * size, narrow = *groups * size;
    FailureOr<Heads> taken = takeAll(node, query, *count, *groups, {wide, narrow, narrow});
    if (succeeded(taken))
      heads = *taken;
    return taken;
  }
  if (failed(checkRank(node, key, 3, "key")) || failed(checkRank(node, value, 3, "value")))
    return failure();
  int64_t none = 0;
  FailureOr<TensorRef> q = splitHeads(node, query, *count, nullptr, none),
                       k = splitHeads(node, key, *groups, nullptr, none),
                       v = splitHeads(node, value, *groups, nullptr, none);
  if (failed(q) || failed(k) || failed(v))
    return failure();
  heads = {*q, *k, *v};
  return success();
}

LogicalResult GroupQuery::readLengths() {
  last = node.input(Lengths);
  if (!last || !isa<IntegerType>(last->element))
    return node.error() << "expected seqlens_k as integers";
  OpFoldResult batch = heads.query->sizes[0];
  if (last->getRank() == 2 && getStatic(last->sizes[1]) == 1)
    last = makeReshape(body, last, {last->sizes[0]});
  if (failed(checkSizes(node, last, {batch}, "seqlens_k")))
    return failure();
  if (!node.input(TotalLength))
    return node.error() << "expected total_sequence_length, found none";
  FailureOr<SmallVector<Value>> list = getList(node, TotalLength, "a total_sequence_length");
  if (failed(list))
    return failure();
  if (list->size() != 1)
    return node.error() << "expected one total_sequence_length, found " << list->size();
  total = toSize(body, list->front());
  return success();
}

/// The past length of a batch: 0 at the first prompt, where shorter rows are padded at the end.
void GroupQuery::findPastLength() {
  if (!node.input(PastKey)) {
    pastLength = [](Body &at, Value) { return at.index(0); };
    return;
  }
  pastLength = [last = last, rows = heads.query->sizes[2]](Body &at, Value batch) -> Value {
    Value count = at.make<arith::AddIOp>(readIndex(at, last, {batch}), at.index(1));
    Value before = at.make<arith::SubIOp>(count, toIndex(at, rows));
    return at.make<arith::MaxSIOp>(before, at.index(0));
  };
}

/// The position of each query. A first prompt counts up from the first of `position_ids`.
FailureOr<TensorRef> GroupQuery::getPositions() {
  TensorRef given = node.input(Positions);
  OpFoldResult batch = heads.query->sizes[0], rows = heads.query->sizes[2];
  Type type = body.b.getI64Type();
  if (!given)
    return makeGenerate(body, type, {batch, rows}, {last},
                        [past = pastLength, type](Body &at, ArrayRef<Value> place) -> Value {
                          Value sum = at.make<arith::AddIOp>(past(at, place[0]), place[1]);
                          return at.make<arith::IndexCastOp>(type, sum);
                        });
  if (!given->element.isInteger(64) ||
      failed(checkSizes(node, given, {batch, rows}, "position_ids")))
    return node.error() << "expected position_ids of type i64, found " << given->element;
  return makeGenerate(body, type, {batch, rows}, {given},
                      [given, rows, total = total](Body &at, ArrayRef<Value> place) -> Value {
                        Value isFirst = compare(at, arith::CmpIPredicate::eq, toIndex(at, rows),
                                                toIndex(at, total));
                        Value zero = at.index(0), start = at.read(given, {zero, zero});
                        Value counted = at.make<arith::AddIOp>(
                            start, at.make<arith::IndexCastOp>(start.getType(), place[1]));
                        return at.make<arith::SelectOp>(isFirst, counted, at.read(given, place));
                      });
}

/// Applies the RMS norm of query and key heads, where the model has one.
LogicalResult GroupQuery::normalize() {
  auto apply = [&](TensorRef &tensor, Input scale) {
    if (!node.input(scale))
      return success();
    FailureOr<TensorRef> norm = PartNode(node, "RMSNormalization", {tensor, node.input(scale)})
                                    .set("epsilon", node.getFloat("qk_norm_epsilon", 1e-6f))
                                    .import();
    if (succeeded(norm))
      tensor = *norm;
    return LogicalResult(norm);
  };
  if (failed(apply(heads.query, QueryNorm)))
    return failure();
  return apply(heads.key, KeyNorm);
}

LogicalResult GroupQuery::rotate() {
  if (!node.getInt("do_rotary", 0))
    return success();
  TensorRef cos = node.input(Cos), sin = node.input(Sin);
  if (failed(checkRank(node, cos, 2, "cos_cache")) || failed(checkRank(node, sin, 2, "sin_cache")))
    return failure();
  auto half = getStatic(cos->sizes[1]);
  if (!half)
    return node.error() << "expected a known number of angles, found " << cos->getType();
  FailureOr<TensorRef> positions = getPositions();
  if (failed(positions))
    return failure();
  for (TensorRef *tensor : {&heads.query, &heads.key}) {
    FailureOr<TensorRef> turned = PartNode(node, "RotaryEmbedding", {*tensor, cos, sin, *positions})
                                      .take("rotary_interleaved", "interleaved")
                                      .set("rotary_embedding_dim", 2 * *half)
                                      .import();
    if (failed(turned))
      return failure();
    *tensor = *turned;
  }
  return success();
}

/// Appends rows to each batch of a cache; a cache that grows is filled up with zeros.
FailureOr<TensorRef> GroupQuery::append(Input input, const TensorRef &rows) {
  TensorRef past = node.input(input);
  if (!past)
    return rows;
  SmallVector<OpFoldResult> sizes(rows->sizes);
  OpFoldResult room = past->sizes[2];
  sizes[2] = room;
  if (past->element != rows->element || failed(checkSizes(node, past, sizes, "a cache")))
    return node.error() << "expected a cache of type " << rows->element << ", found "
                        << past->element;
  auto known = getStatic(room), wanted = getStatic(total);
  if (sameSize(room, total) || (known && wanted && *known >= *wanted))
    return appendRows(past, rows);
  // A cache without room for all grows.
  if (!grown)
    grown = known && wanted ? total
                            : body.make<arith::MaxSIOp>(toIndex(body, room), toIndex(body, total));
  sizes[2] = grown;
  auto build = [past, rows, total = total, before = pastLength](Body &at,
                                                                ArrayRef<Value> place) -> Value {
    auto isLess = [&](Value a, Value b) { return compare(at, arith::CmpIPredicate::slt, a, b); };
    auto clamp = [&](Value index, Value size) -> Value {
      Value end = at.make<arith::SubIOp>(size, at.index(1));
      return at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(index, end), at.index(0));
    };
    Value room = toIndex(at, past->sizes[2]), length = toIndex(at, rows->sizes[2]);
    Value start = before(at, place[0]), own = at.make<arith::SubIOp>(place[2], start);
    // Rows of a cache with room beyond the appended ones are kept.
    Value end = at.make<arith::SelectOp>(isLess(room, toIndex(at, total)), start, room);
    SmallVector<Value> inPast(place), inRows(place);
    inPast[2] = clamp(place[2], room);
    inRows[2] = clamp(own, length);
    Value old = floatConstant(at, rows->element, 0);
    if (getStatic(past->sizes[2]) != 0) // else there is nothing to read, wherever
      old = at.make<arith::SelectOp>(isLess(place[2], end), at.read(past, inPast), old);
    Value row = at.make<arith::SelectOp>(isLess(own, length), at.read(rows, inRows), old);
    return at.make<arith::SelectOp>(isLess(own, at.index(0)), old, row);
  };
  return makeGenerate(body, rows->element, sizes, {past, rows}, build);
}

TensorRef GroupQuery::appendRows(const TensorRef &cache, const TensorRef &rows) {
  Type type = body.b.getI64Type();
  TensorRef lengths =
      makeGenerate(body, type, {cache->sizes[0]}, {last},
                   [before = pastLength, type](Body &at, ArrayRef<Value> place) -> Value {
                     return at.make<arith::IndexCastOp>(type, before(at, place[0]));
                   });
  return makeComputed(AppendCacheOp::create(body.b, body.loc, cache->getType(),
                                            node.materialize(cache), node.materialize(rows),
                                            node.materialize(lengths)),
                      cache->sizes);
}

/// The softmax sink of each head; null for none.
TensorRef GroupQuery::getSink() {
  if (node.input(Sink) || !node.getInt("smooth_softmax", 0))
    return node.input(Sink);
  Value zero = floatConstant(body, heads.query->element, 0);
  return makeExpand(body, makeElements(body, zero.getType(), {zero}, {}), {heads.query->sizes[1]});
}

PlaceFn GroupQuery::getVisible() {
  bool isCausal = node.getInt("causal", 1);
  int64_t window = node.getInt("local_window_size", -1);
  return [=, last = last, past = pastLength](Body &at, ArrayRef<Value> place) -> Value {
    Value q = place[2], k = place[3];
    if (!isCausal)
      return compare(at, arith::CmpIPredicate::sle, k, readIndex(at, last, {place[0]}));
    Value own = at.make<arith::AddIOp>(q, past(at, place[0]));
    Conditions conditions{at};
    // The query's own key is one of the window.
    conditions.requireWindow(own, k, window <= 0 ? -1 : window - 1, /*right=*/0);
    return conditions.all;
  };
}

LogicalResult GroupQuery::import() {
  if (failed(checkPast(node, node.input(PastKey), node.input(PastValue))))
    return failure();
  if (failed(checkAttributes()) || failed(readHeads()) || failed(readLengths()))
    return failure();
  findPastLength();
  if (failed(normalize()) || failed(rotate()))
    return failure();
  FailureOr<TensorRef> key = append(PastKey, heads.key), value = append(PastValue, heads.value);
  if (failed(key) || failed(value))
    return failure();
  heads.key = *key;
  heads.value = *value;
  node.setOutput(1, heads.key);
  node.setOutput(2, heads.value);
  if (failed(checkBias(node, node.input(Bias), heads)))
    return failure();
  Changes changes;
  changes.softcap = node.getFloat("softcap", 0);
  if (TensorRef bias = node.input(Bias))
    changes.modify = [bias](Body &at, Value score, ArrayRef<Value> place) {
      return addBias(at, score, bias, place);
    };
  changes.isVisible = getVisible();
  changes.sink = getSink();
  FailureOr<Stages> stages = makeAttention(node, heads, changes);
  return failed(stages) ? failure() : node.setOutput(makeMergedHeads(body, stages->context));
}

LogicalResult imports::importGroupQueryAttention(Node &node) { return GroupQuery(node).import(); }
