//===- FusedAttention.cpp - the attention ops of ONNX Runtime -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, MultiHeadAttention, GroupQueryAttention and RotaryEmbedding of the domain
// com.microsoft. What hides padding adds a finite number to the score there, so that a row of
// padding alone is not empty; it does here, too.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
using PlaceFn = std::function<Value(Body &, ArrayRef<Value>)>;

/// One attention, each operand [batch, heads, length, size].
struct Heads {
  TensorRef query, key, value;
};

/// What becomes of a score; what is null does not.
struct Changes {
  double softcap = 0;
  /// Floats of a shape that broadcasts to the score's.
  TensorRef bias;
  /// Where it holds, at (batch, head, q, k), the score stays what it is; elsewhere it gets
  /// `filter` more.
  PlaceFn isKept;
  double filter = 0;
  /// Which keys a query sees.
  PlaceFn isVisible;
  /// [heads]
  TensorRef sink;
};
} // namespace

/// Refuses an attribute that asks for what there is no op for.
static LogicalResult expectInt(Node &node, StringRef name, int64_t wanted = 0) {
  if (int64_t found = node.getInt(name, wanted); found != wanted)
    return node.error() << "expected attribute '" << name << "' of " << wanted << ", found "
                        << found;
  return success();
}

static LogicalResult expectNone(Node &node, int index, StringRef name) {
  if (node.input(index))
    return node.error() << "expected no " << name;
  return success();
}

static FailureOr<int64_t> getHeads(Node &node, StringRef name) {
  int64_t heads = node.getInt(name, 0);
  if (heads <= 0)
    return node.error() << "expected attribute '" << name << "' of 1 or more, found " << heads;
  return heads;
}

static LogicalResult checkRank(Node &node, const TensorRef &tensor, int64_t rank, StringRef what) {
  if (!tensor)
    return node.error() << "expected " << what << ", found none";
  if (tensor->getRank() != rank)
    return node.error() << "expected " << what << " of rank " << rank << ", found "
                        << tensor->getRank();
  return success();
}

/// `count` columns from `offset` on of [batch, length, columns], as heads.
static TensorRef takeHeads(Node &node, const TensorRef &rows, int64_t offset, int64_t count,
                           int64_t heads) {
  TensorRef part = makeSlice(node.body, rows, 2, fixedSize(node, offset), fixedSize(node, count));
  return makeHeads(node.body, part, heads);
}

static LogicalResult checkSizes(Node &node, const TensorRef &tensor, ArrayRef<OpFoldResult> sizes,
                                StringRef what, bool broadcasts = false) {
  if (failed(checkRank(node, tensor, sizes.size(), what)))
    return failure();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    auto known = getStatic(size), found = getStatic(tensor->sizes[dim]);
    if (known && found && *known != *found && !(broadcasts && *found == 1))
      return node.error() << "expected dimension " << dim << " of " << what << " to be " << *known
                          << ", found " << *found;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static Value readIndex(Body &at, const TensorRef &tensor, ArrayRef<Value> place) {
  return at.make<arith::IndexCastOp>(at.b.getIndexType(), at.read(tensor, place));
}

static Value compare(Body &at, arith::CmpIPredicate predicate, Value a, Value b) {
  return at.make<arith::CmpIOp>(predicate, a, b);
}

/// Keys before an end, and behind the starts that a mask of twice the batch has as well.
static PlaceFn keepBetween(const TensorRef &ends, OpFoldResult batch) {
  bool hasStarts = !sameSize(ends->sizes[0], batch);
  return [=](Body &at, ArrayRef<Value> place) -> Value {
    Value isBefore =
        compare(at, arith::CmpIPredicate::slt, place[3], readIndex(at, ends, {place[0]}));
    if (!hasStarts)
      return isBefore;
    Value row = at.make<arith::AddIOp>(place[0], toIndex(at, batch));
    Value isBehind = compare(at, arith::CmpIPredicate::sge, place[3], readIndex(at, ends, {row}));
    return at.make<arith::AndIOp>(isBefore, isBehind);
  };
}

/// Where a mask of 0 and 1 keeps the score; null where it always does.
static FailureOr<PlaceFn> readPadding(Node &node, const TensorRef &mask,
                                      ArrayRef<OpFoldResult> score, StringRef what) {
  if (!mask)
    return PlaceFn();
  if (!isa<IntegerType>(mask->element))
    return node.error() << "expected integers as " << what << ", found " << mask->element;
  OpFoldResult batch = score[0];
  int64_t rank = mask->getRank();
  if (rank == 1) {
    auto count = getStatic(mask->sizes[0]), known = getStatic(batch);
    if (!sameSize(mask->sizes[0], batch) && !(count && known && *count == 2 * *known))
      return node.error() << "expected " << what << " of rank 1 to have one or two numbers a batch"
                          << ", found " << mask->getType();
    return keepBetween(mask, batch);
  }
  if (rank != 2 && rank != 3)
    return node.error() << "expected " << what << " of rank 1 to 3, found " << rank;
  // One column for all keys shifts all of a row.
  if (rank == 2 && getStatic(mask->sizes[1]) == 1 && getStatic(score[3]) != 1)
    return PlaceFn();
  SmallVector<OpFoldResult> sizes = {batch, score[3]};
  if (rank == 3)
    sizes.insert(sizes.begin() + 1, score[2]);
  if (failed(checkSizes(node, mask, sizes, what)))
    return failure();
  return PlaceFn([=](Body &at, ArrayRef<Value> place) -> Value {
    SmallVector<Value> own = {place[0], place[3]};
    if (rank == 3)
      own.insert(own.begin() + 1, place[2]);
    Value zero = arith::ConstantOp::create(at.b, at.loc, at.b.getIntegerAttr(mask->element, 0));
    return compare(at, arith::CmpIPredicate::sgt, at.read(mask, own), zero);
  });
}

/// Keys up to the query's own place, which is behind the past.
static PlaceFn seeBefore(OpFoldResult past) {
  return [=](Body &at, ArrayRef<Value> place) -> Value {
    Value own =
        getStatic(past) == 0 ? place[2] : at.make<arith::AddIOp>(place[2], toIndex(at, past));
    return compare(at, arith::CmpIPredicate::sle, place[3], own);
  };
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static Value changeScore(Node &node, Value score, const Changes &changes) {
  score = makeSoftcap(node.body, score, changes.softcap);
  if (changes.bias || changes.isKept)
    score = makeModify<ModifyScoreOp>(
        node.body, score, [&](Body &at, Value sum, ArrayRef<Value> place) {
          if (const TensorRef &bias = changes.bias)
            sum = at.make<arith::AddFOp>(sum,
                                         at.read(bias, broadcastIndices(at, bias->sizes, place)));
          if (!changes.isKept)
            return sum;
          Value filter = floatConstant(at, sum.getType(), changes.filter);
          return at.make<arith::SelectOp>(changes.isKept(at, place), sum,
                                          at.make<arith::AddFOp>(sum, filter));
        });
  return changes.isVisible ? makeMask(node.body, score, changes.isVisible) : score;
}

/// Sets the first output, [batch, length, heads * size], and the changed score where it is one.
static LogicalResult makeAttention(Node &node, const Heads &heads, const Changes &changes,
                                   int scoreOutput = -1) {
  SmallVector<OpFoldResult> sizes;
  if (failed(checkAttention(node, heads.query, heads.key, heads.value)))
    return failure();
  FailureOr<Value> score = makeScore(node, heads.query, heads.key, sizes);
  if (failed(score))
    return failure();
  if (const TensorRef &bias = changes.bias) {
    if (bias->element != heads.query->element)
      return node.error() << "expected attention_bias of type " << heads.query->element
                          << ", found " << bias->element;
    if (failed(checkSizes(node, bias, sizes, "attention_bias", /*broadcasts=*/true)))
      return failure();
  }
  Value changed = changeScore(node, *score, changes), sink;
  if (scoreOutput >= 0)
    node.setOutput(scoreOutput, makeComputed(changed, sizes));
  if (changes.sink)
    sink = node.materialize(
        makeReshape(node.body, changes.sink, {fixedSize(node, 1), sizes[1], fixedSize(node, 1)}));
  Value prob = makeProb(node, changed, sink);
  return node.setOutput(
      makeMergedHeads(node.body, makeContext(node, heads.query, prob, heads.value)));
}

/// Puts keys and values behind those of the past; tells how many these are.
static FailureOr<OpFoldResult> appendPast(Node &node, const TensorRef &pastKey,
                                          const TensorRef &pastValue, Heads &heads) {
  if (bool(pastKey) != bool(pastValue))
    return node.error() << "expected past_key and past_value together";
  if (!pastKey)
    return fixedSize(node, 0);
  FailureOr<TensorRef> key = makeConcat(node, pastKey, heads.key),
                       value = makeConcat(node, pastValue, heads.value);
  if (failed(key) || failed(value))
    return failure();
  heads.key = *key;
  heads.value = *value;
  return pastKey->sizes[2];
}

/// What Attention and MultiHeadAttention have in common once there are heads.
static LogicalResult attend(Node &node, const Heads &heads, OpFoldResult past,
                            const TensorRef &mask, const TensorRef &bias, StringRef maskName) {
  SmallVector<OpFoldResult> score = {heads.query->sizes[0], heads.query->sizes[1],
                                     heads.query->sizes[2], heads.key->sizes[2]};
  FailureOr<PlaceFn> isKept = readPadding(node, mask, score, maskName);
  if (failed(isKept))
    return failure();
  Changes changes;
  changes.bias = bias;
  changes.isKept = *isKept;
  changes.filter = node.getFloat("mask_filter_value", -10000);
  bool wantsScore = node.wantsOutput(3);
  if (node.getInt("unidirectional", 0)) {
    changes.isVisible = seeBefore(past);
    if (wantsScore)
      return node.error() << "expected no output 3 where attribute 'unidirectional' is 1";
  }
  return makeAttention(node, heads, changes, wantsScore ? 3 : -1);
}

//===----------------------------------------------------------------------===//
// com.microsoft.Attention
//===----------------------------------------------------------------------===//

/// The widths of query, key and value among a product's columns.
static FailureOr<SmallVector<int64_t>> getWidths(Node &node, const TensorRef &product,
                                                 int64_t heads) {
  auto whole = getStatic(product->sizes[2]);
  if (!whole)
    return node.error() << "expected weights of a known width, found " << node.input(1)->getType();
  SmallVector<int64_t> widths =
      node.getInts("qkv_hidden_sizes").value_or(SmallVector<int64_t>(3, *whole / 3));
  bool fits = widths.size() == 3 && llvm::sum_of(widths) == *whole && widths[0] == widths[1] &&
              llvm::all_of(widths, [&](int64_t width) { return width % heads == 0; });
  if (!fits)
    return node.error() << "expected weights of query, key and value for " << heads
                        << " heads, found " << *whole << " columns";
  return widths;
}

static FailureOr<Heads> projectHeads(Node &node, int64_t heads) {
  if (failed(checkRank(node, node.input(0), 3, "input")) ||
      failed(checkRank(node, node.input(1), 2, "weights")))
    return failure();
  FailureOr<TensorRef> product = PartNode(node, "MatMul", {node.input(0), node.input(1)}).import();
  if (succeeded(product) && node.input(2))
    product = PartNode(node, "Add", {*product, node.input(2)}).import();
  if (failed(product))
    return failure();
  FailureOr<SmallVector<int64_t>> widths = getWidths(node, *product, heads);
  if (failed(widths))
    return failure();
  ArrayRef<int64_t> w = *widths;
  return Heads{takeHeads(node, *product, 0, w[0], heads),
               takeHeads(node, *product, w[0], w[1], heads),
               takeHeads(node, *product, w[0] + w[1], w[2], heads)};
}

/// One half of [2, batch, heads, length, size]: its keys, or its values.
static TensorRef takeHalf(Node &node, const TensorRef &past, int64_t index) {
  TensorRef half = makeSlice(node.body, past, 0, fixedSize(node, index), fixedSize(node, 1));
  return makeReshape(node.body, half, ArrayRef(past->sizes).drop_front());
}

/// Keys and values as one result.
static LogicalResult setPresent(Node &node, const Heads &heads) {
  if (!node.wantsOutput(1))
    return success();
  auto raise = [&](const TensorRef &tensor) {
    SmallVector<OpFoldResult> sizes = {fixedSize(node, 1)};
    llvm::append_range(sizes, tensor->sizes);
    return makeReshape(node.body, tensor, sizes);
  };
  FailureOr<TensorRef> present = PartNode(node, "Concat", {raise(heads.key), raise(heads.value)})
                                     .set("axis", int64_t(0))
                                     .import();
  if (failed(present))
    return failure();
  node.setOutput(1, *present);
  return success();
}

LogicalResult imports::importFusedAttention(Node &node) {
  FailureOr<int64_t> count = getHeads(node, "num_heads");
  if (failed(count) || failed(expectInt(node, "do_rotary")) ||
      failed(expectInt(node, "past_present_share_buffer")))
    return failure();
  FailureOr<Heads> heads = projectHeads(node, *count);
  if (failed(heads))
    return failure();
  TensorRef past = node.input(4), pastKey, pastValue;
  if (past) {
    if (failed(checkRank(node, past, 5, "past")))
      return failure();
    if (getStatic(past->sizes[0]) != 2)
      return node.error() << "expected past to hold keys and values, found " << past->getType();
    pastKey = takeHalf(node, past, 0);
    pastValue = takeHalf(node, past, 1);
  }
  FailureOr<OpFoldResult> length = appendPast(node, pastKey, pastValue, *heads);
  if (failed(length) || failed(setPresent(node, *heads)))
    return failure();
  return attend(node, *heads, *length, node.input(3), node.input(5), "mask_index");
}

//===----------------------------------------------------------------------===//
// com.microsoft.MultiHeadAttention
//===----------------------------------------------------------------------===//

/// [batch, length, heads, parts, size] as `parts` tensors of heads.
static SmallVector<TensorRef> unpackHeads(Node &node, const TensorRef &packed) {
  SmallVector<TensorRef> heads;
  ArrayRef<OpFoldResult> sizes = packed->sizes;
  for (int64_t part = 0; part < *getStatic(sizes[3]); ++part) {
    TensorRef slice = makeSlice(node.body, packed, 3, fixedSize(node, part), fixedSize(node, 1));
    heads.push_back(makeTranspose(
        makeReshape(node.body, slice, {sizes[0], sizes[1], sizes[2], sizes[4]}), {0, 2, 1, 3}));
  }
  return heads;
}

/// Rows [batch, length, width] with their part of the bias, as heads.
static FailureOr<TensorRef> splitHeads(Node &node, TensorRef rows, int64_t heads,
                                       const TensorRef &bias, int64_t &offset) {
  auto width = getStatic(rows->sizes[2]);
  if (!width || *width % heads != 0)
    return node.error() << "expected attribute 'num_heads' to divide a known width, found " << heads
                        << " and " << rows->getType();
  if (bias) {
    auto known = getStatic(bias->sizes[0]);
    if (!known || *known < offset + *width)
      return node.error() << "expected a bias for query, key and value, found " << bias->getType();
    TensorRef part =
        makeSlice(node.body, bias, 0, fixedSize(node, offset), fixedSize(node, *width));
    FailureOr<TensorRef> sum = PartNode(node, "Add", {rows, part}).import();
    if (failed(sum))
      return failure();
    rows = *sum;
    offset += *width;
  }
  return makeHeads(node.body, rows, heads);
}

static FailureOr<Heads> readPacked(Node &node) {
  TensorRef query = node.input(0), key = node.input(1);
  int64_t parts = key ? 2 : 3;
  const TensorRef &packed = key ? key : query;
  if (failed(expectNone(node, 2, "value beside packed heads")) ||
      failed(expectNone(node, 3, "bias beside packed heads")) ||
      failed(checkRank(node, packed, 5, "packed heads")))
    return failure();
  if (getStatic(packed->sizes[3]) != parts)
    return node.error() << "expected " << parts << " packed tensors, found " << packed->getType();
  SmallVector<TensorRef> heads = unpackHeads(node, packed);
  if (!key)
    return Heads{heads[0], heads[1], heads[2]};
  FailureOr<int64_t> count = getHeads(node, "num_heads");
  int64_t offset = 0;
  if (failed(count) || failed(checkRank(node, query, 3, "query")))
    return failure();
  FailureOr<TensorRef> split = splitHeads(node, query, *count, nullptr, offset);
  return failed(split) ? FailureOr<Heads>() : Heads{*split, heads[0], heads[1]};
}

static FailureOr<Heads> readHeads(Node &node) {
  TensorRef query = node.input(0), key = node.input(1), value = node.input(2), bias = node.input(3);
  if (!key || key->getRank() == 5)
    return readPacked(node);
  FailureOr<int64_t> count = getHeads(node, "num_heads");
  if (failed(count) || failed(checkRank(node, query, 3, "query")) ||
      (bias && failed(checkRank(node, bias, 1, "bias"))))
    return failure();
  int64_t offset = 0;
  FailureOr<TensorRef> q = splitHeads(node, query, *count, bias, offset);
  if (failed(q))
    return failure();
  // Heads of another layer had their bias there.
  if (key->getRank() == 4) {
    if (failed(checkRank(node, value, 4, "value")))
      return failure();
    return Heads{*q, key, value};
  }
  if (failed(checkRank(node, key, 3, "key")) || failed(checkRank(node, value, 3, "value")))
    return failure();
  FailureOr<TensorRef> k = splitHeads(node, key, *count, bias, offset);
  if (failed(k))
    return failure();
  FailureOr<TensorRef> v = splitHeads(node, value, *count, bias, offset);
  return failed(v) ? FailureOr<Heads>() : Heads{*q, *k, *v};
}

LogicalResult imports::importMultiHeadAttention(Node &node) {
  FailureOr<Heads> heads = readHeads(node);
  if (failed(heads))
    return failure();
  OpFoldResult rows = heads->query->sizes[2];
  if (node.getInt("unidirectional", 0) && !sameSize(rows, heads->key->sizes[2]))
    return node.error() << "expected as many keys as queries where 'unidirectional' is 1";
  FailureOr<OpFoldResult> past = appendPast(node, node.input(6), node.input(7), *heads);
  if (failed(past))
    return failure();
  node.setOutput(1, heads->key);
  node.setOutput(2, heads->value);
  return attend(node, *heads, *past, node.input(4), node.input(5), "key_padding_mask");
}

//===----------------------------------------------------------------------===//
// com.microsoft.RotaryEmbedding
//===----------------------------------------------------------------------===//

/// One position a row: those of the first row, counted up, where only the first is given.
static TensorRef countFrom(const TensorRef &first, OpFoldResult batch, OpFoldResult length) {
  return makeLazy(first->element, {batch, length}, [=](Body &at, ArrayRef<Value> place) -> Value {
    Value start = at.read(first, {at.index(0)});
    return at.make<arith::AddIOp>(start, at.make<arith::IndexCastOp>(start.getType(), place[1]));
  });
}

LogicalResult imports::importFusedRotaryEmbedding(Node &node) {
  TensorRef x = node.input(0), positions = node.input(1), cos = node.input(2), sin = node.input(3);
  if (failed(expectInt(node, "is_packed_batching")))
    return failure();
  if (double scale = node.getFloat("scale", 1); scale != 1)
    return node.error() << "expected attribute 'scale' of 1, found " << scale;
  if (x->getRank() != 3 && x->getRank() != 4)
    return node.error() << "expected an input of rank 3 or 4, found " << x->getRank();
  if (positions->getRank() == 1 && isa<IntegerType>(positions->element))
    positions = countFrom(positions, x->sizes[0], x->sizes[x->getRank() - 2]);
  PartNode part(node, "RotaryEmbedding", {x, cos, sin, positions});
  part.take("interleaved").take("rotary_embedding_dim");
  int64_t heads = node.getInt("num_heads", 0);
  // Without a number of heads, a head is as wide as its angles say.
  auto width = getStatic(x->sizes.back()), half = getStatic(cos->sizes.back());
  if (x->getRank() == 3 && heads == 0 && width && half && *half > 0)
    heads = *width / (2 * *half);
  FailureOr<TensorRef> turned = part.set("num_heads", heads).import();
  return failed(turned) ? failure() : node.setOutput(*turned);
}

//===----------------------------------------------------------------------===//
// com.microsoft.GroupQueryAttention
//===----------------------------------------------------------------------===//

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
  /// How many keys each batch has, less one: [batch].
  TensorRef last;
  /// The most keys of any batch.
  OpFoldResult total;
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
    heads = {takeHeads(node, query, 0, wide, *count), takeHeads(node, query, wide, narrow, *groups),
             takeHeads(node, query, wide + narrow, narrow, *groups)};
    return success();
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

/// How many keys a batch had before: none at the first prompt, whose shorter rows end in padding.
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

/// The place of each query. Of those that the model tells, a first prompt takes the first alone.
FailureOr<TensorRef> GroupQuery::getPositions() {
  TensorRef given = node.input(Positions);
  OpFoldResult batch = heads.query->sizes[0], rows = heads.query->sizes[2];
  Type type = body.b.getI64Type();
  if (!given)
    return makeLazy(type, {batch, rows},
                    [past = pastLength, type](Body &at, ArrayRef<Value> place) -> Value {
                      Value sum = at.make<arith::AddIOp>(past(at, place[0]), place[1]);
                      return at.make<arith::IndexCastOp>(type, sum);
                    });
  if (!given->element.isInteger(64) ||
      failed(checkSizes(node, given, {batch, rows}, "position_ids")))
    return node.error() << "expected position_ids of type i64, found " << given->element;
  return makeLazy(
      type, {batch, rows}, [given, rows, total = total](Body &at, ArrayRef<Value> place) -> Value {
        Value isFirst =
            compare(at, arith::CmpIPredicate::eq, toIndex(at, rows), toIndex(at, total));
        Value zero = at.index(0), start = at.read(given, {zero, zero});
        Value counted =
            at.make<arith::AddIOp>(start, at.make<arith::IndexCastOp>(start.getType(), place[1]));
        return at.make<arith::SelectOp>(isFirst, counted, at.read(given, place));
      });
}

/// Query and key with a norm of each head, where the model has one.
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

/// A cache with the rows behind what each batch holds of it.
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
  if (known && wanted)
    sizes[2] = total;
  else
    sizes[2] = body.make<arith::MaxSIOp>(toIndex(body, room), toIndex(body, total));
  FailureOr<TensorRef> both = makeConcat(node, past, rows);
  if (failed(both))
    return failure();
  // The rows stand behind all of the cache here, and behind what the batch holds of it there.
  auto build = [both = *both, room, rows, before = pastLength](Body &at,
                                                               ArrayRef<Value> place) -> Value {
    Value start = before(at, place[0]), length = toIndex(at, rows->sizes[2]);
    Value own = at.make<arith::SubIOp>(place[2], start);
    Value isNew = at.make<arith::AndIOp>(compare(at, arith::CmpIPredicate::sge, own, at.index(0)),
                                         compare(at, arith::CmpIPredicate::slt, own, length));
    Value end = at.make<arith::SubIOp>(toIndex(at, both->sizes[2]), at.index(1));
    Value found =
        at.make<arith::SelectOp>(isNew, at.make<arith::AddIOp>(own, toIndex(at, room)), place[2]);
    SmallVector<Value> from(place);
    from[2] = at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(found, end), at.index(0));
    return at.read(both, from);
  };
  return makeLazy(rows->element, sizes, build);
}

TensorRef GroupQuery::appendRows(const TensorRef &cache, const TensorRef &rows) {
  Type type = body.b.getI64Type();
  TensorRef lengths =
      makeLazy(type, {cache->sizes[0]},
               [before = pastLength, type](Body &at, ArrayRef<Value> place) -> Value {
                 return at.make<arith::IndexCastOp>(type, before(at, place[0]));
               });
  return makeComputed(AppendCacheOp::create(body.b, body.loc, cache->getType(),
                                            node.materialize(cache), node.materialize(rows),
                                            node.materialize(lengths)),
                      cache->sizes);
}

/// A number for each head that joins the softmax's sum; null for none.
TensorRef GroupQuery::getSink() {
  if (node.input(Sink) || !node.getInt("smooth_softmax", 0))
    return node.input(Sink);
  Value zero = floatConstant(body, heads.query->element, 0);
  return makeExpand(makeElements(body, zero.getType(), {zero}, {}), {heads.query->sizes[1]});
}

PlaceFn GroupQuery::getVisible() {
  bool isCausal = node.getInt("causal", 1);
  int64_t window = node.getInt("local_window_size", -1);
  return [=, last = last, past = pastLength](Body &at, ArrayRef<Value> place) -> Value {
    Value q = place[2], k = place[3];
    if (!isCausal)
      return compare(at, arith::CmpIPredicate::sle, k, readIndex(at, last, {place[0]}));
    Value own = at.make<arith::AddIOp>(q, past(at, place[0]));
    Value isBefore = compare(at, arith::CmpIPredicate::sle, k, own);
    if (window <= 0)
      return isBefore;
    // The query's own key is one of the window.
    Value first = at.make<arith::SubIOp>(own, at.index(window - 1));
    return at.make<arith::AndIOp>(isBefore, compare(at, arith::CmpIPredicate::sle, first, k));
  };
}

LogicalResult GroupQuery::import() {
  if (bool(node.input(PastKey)) != bool(node.input(PastValue)))
    return node.error() << "expected past_key and past_value together";
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
  Changes changes;
  changes.softcap = node.getFloat("softcap", 0);
  changes.bias = node.input(Bias);
  changes.isVisible = getVisible();
  changes.sink = getSink();
  return makeAttention(node, heads, changes);
}

LogicalResult imports::importGroupQueryAttention(Node &node) { return GroupQuery(node).import(); }
