//===- FusedAttention.cpp - the attention ops of ONNX Runtime -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, MultiHeadAttention and RotaryEmbedding of the domain com.microsoft. Padding adds a
// finite number to scores, as in ONNX Runtime: a fully padded row still sums to one.
//
//===----------------------------------------------------------------------===//

#include "FusedAttention.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;
using namespace mlir::attn::imports::fused;

LogicalResult imports::fused::expectInt(Node &node, StringRef name, int64_t wanted) {
  if (int64_t found = node.getInt(name, wanted); found != wanted)
    return node.error() << "expected attribute '" << name << "' of " << wanted << ", found "
                        << found;
  return success();
}

LogicalResult imports::fused::expectNone(Node &node, int index, StringRef name) {
  if (node.input(index))
    return node.error() << "expected no " << name;
  return success();
}

FailureOr<int64_t> imports::fused::getHeads(Node &node, StringRef name) {
  int64_t heads = node.getInt(name, 0);
  if (heads <= 0 || heads > kMostHeads)
    return node.error() << "expected attribute '" << name << "' from 1 to " << kMostHeads
                        << ", found " << heads;
  return heads;
}

LogicalResult imports::fused::checkRank(Node &node, const TensorRef &tensor, int64_t rank,
                                        StringRef what) {
  if (!tensor)
    return node.error() << "expected " << what << ", found none";
  if (tensor->getRank() != rank)
    return node.error() << "expected " << what << " of rank " << rank << ", found "
                        << tensor->getRank();
  return success();
}

FailureOr<TensorRef> imports::fused::takeHeads(Node &node, const TensorRef &rows, int64_t offset,
                                               int64_t count, int64_t heads) {
  FailureOr<TensorRef> part =
      makeSlice(node.body, rows, 2, fixedSize(node, offset), fixedSize(node, count));
  return failed(part) ? part : makeHeads(node.body, *part, heads);
}

FailureOr<Heads> imports::fused::takeAll(Node &node, const TensorRef &rows, int64_t queryHeads,
                                         int64_t keyHeads, ArrayRef<int64_t> widths) {
  int64_t key = widths[0], value = key + widths[1];
  FailureOr<TensorRef> q = takeHeads(node, rows, 0, widths[0], queryHeads),
                       k = takeHeads(node, rows, key, widths[1], keyHeads),
                       v = takeHeads(node, rows, value, widths[2], keyHeads);
  if (failed(q) || failed(k) || failed(v))
    return failure();
  return Heads{*q, *k, *v};
}

LogicalResult imports::fused::checkSizes(Node &node, const TensorRef &tensor,
                                         ArrayRef<OpFoldResult> sizes, StringRef what,
                                         bool broadcasts) {
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

Value imports::fused::readIndex(Body &at, const TensorRef &tensor, ArrayRef<Value> place) {
  return at.make<arith::IndexCastOp>(at.b.getIndexType(), at.read(tensor, place));
}

Value imports::fused::compare(Body &at, arith::CmpIPredicate predicate, Value a, Value b) {
  return at.make<arith::CmpIOp>(predicate, a, b);
}

/// Keeps keys before `ends`, and after the starts that follow them in a mask of twice the batch.
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

/// Reads a padding mask of 0 and 1; null if it hides no key.
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
  // One value for a whole row cancels in its softmax.
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
    Conditions conditions{at};
    conditions.requireWindow(own, place[3], /*left=*/-1, /*right=*/0);
    return conditions.all;
  };
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

LogicalResult imports::fused::checkBias(Node &node, const TensorRef &bias, const Heads &heads) {
  if (!bias)
    return success();
  if (bias->element != heads.query->element)
    return node.error() << "expected attention_bias of type " << heads.query->element << ", found "
                        << bias->element;
  return checkSizes(node, bias, heads.getScoreSizes(), "attention_bias", /*broadcasts=*/true);
}

Value imports::fused::addBias(Body &at, Value score, const TensorRef &bias, ArrayRef<Value> place) {
  if (!bias)
    return score;
  return at.make<arith::AddFOp>(score, at.read(bias, broadcastIndices(at, bias->sizes, place)));
}

/// Attention and MultiHeadAttention from their heads on.
static LogicalResult attend(Node &node, const Heads &heads, OpFoldResult past,
                            const TensorRef &mask, const TensorRef &bias, StringRef maskName) {
  FailureOr<PlaceFn> isKept = readPadding(node, mask, heads.getScoreSizes(), maskName);
  if (failed(isKept) || failed(checkBias(node, bias, heads)))
    return failure();
  Changes changes;
  if (bias || *isKept)
    changes.modify = [=, isKept = *isKept, number = node.getFloat("mask_filter_value", -10000)](
                         Body &at, Value score, ArrayRef<Value> place) -> Value {
      Value sum = addBias(at, score, bias, place);
      if (!isKept)
        return sum;
      Value filter = floatConstant(at, sum.getType(), number);
      return at.make<arith::SelectOp>(isKept(at, place), sum, at.make<arith::AddFOp>(sum, filter));
    };
  bool wantsScore = node.wantsOutput(3);
  if (node.getInt("unidirectional", 0)) {
    changes.isVisible = seeBefore(past);
    if (wantsScore)
      return node.error() << "expected no output 3 where attribute 'unidirectional' is 1";
  }
  FailureOr<Stages> stages = makeAttention(node, heads, changes);
  if (failed(stages))
    return failure();
  if (wantsScore)
    node.setOutput(3, makeComputed(stages->masked, heads.getScoreSizes()));
  return node.setOutput(makeMergedHeads(node.body, stages->context));
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
  return takeAll(node, *product, heads, heads, w);
}

/// One half of [2, batch, heads, length, size]: its keys, or its values.
static FailureOr<TensorRef> takeHalf(Node &node, const TensorRef &past, int64_t index) {
  FailureOr<TensorRef> half =
      makeSlice(node.body, past, 0, fixedSize(node, index), fixedSize(node, 1));
  if (failed(half))
    return failure();
  return makeReshape(node.body, *half, ArrayRef(past->sizes).drop_front());
}

/// Sets the output that stacks keys and values.
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
    FailureOr<TensorRef> keys = takeHalf(node, past, 0), values = takeHalf(node, past, 1);
    if (failed(keys) || failed(values))
      return failure();
    pastKey = *keys;
    pastValue = *values;
  }
  FailureOr<OpFoldResult> length = appendPast(node, pastKey, pastValue, heads->key, heads->value);
  if (failed(length) || failed(setPresent(node, *heads)))
    return failure();
  return attend(node, *heads, *length, node.input(3), node.input(5), "mask_index");
}

//===----------------------------------------------------------------------===//
// com.microsoft.MultiHeadAttention
//===----------------------------------------------------------------------===//

/// [batch, length, heads, parts, size] as `parts` tensors of heads.
static FailureOr<SmallVector<TensorRef>> unpackHeads(Node &node, const TensorRef &packed) {
  SmallVector<TensorRef> heads;
  ArrayRef<OpFoldResult> sizes = packed->sizes;
  for (int64_t part = 0; part < *getStatic(sizes[3]); ++part) {
    FailureOr<TensorRef> slice =
        makeSlice(node.body, packed, 3, fixedSize(node, part), fixedSize(node, 1));
    if (failed(slice))
      return failure();
    TensorRef rows = makeReshape(node.body, *slice, {sizes[0], sizes[1], sizes[2], sizes[4]});
    heads.push_back(makeTranspose(node.body, rows, {0, 2, 1, 3}));
  }
  return heads;
}

FailureOr<TensorRef> imports::fused::splitHeads(Node &node, TensorRef rows, int64_t heads,
                                                const TensorRef &bias, int64_t &offset) {
  auto width = getStatic(rows->sizes[2]);
  if (!width || *width % heads != 0)
    return node.error() << "expected attribute 'num_heads' to divide a known width, found " << heads
                        << " and " << rows->getType();
  if (bias) {
    auto known = getStatic(bias->sizes[0]);
    if (!known || *known < offset + *width)
      return node.error() << "expected a bias for query, key and value, found " << bias->getType();
    FailureOr<TensorRef> part =
        makeSlice(node.body, bias, 0, fixedSize(node, offset), fixedSize(node, *width));
    if (failed(part))
      return failure();
    FailureOr<TensorRef> sum = PartNode(node, "Add", {rows, *part}).import();
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
  FailureOr<SmallVector<TensorRef>> heads = unpackHeads(node, packed);
  if (failed(heads))
    return failure();
  if (!key)
    return Heads{(*heads)[0], (*heads)[1], (*heads)[2]};
  FailureOr<int64_t> count = getHeads(node, "num_heads");
  int64_t offset = 0;
  if (failed(count) || failed(checkRank(node, query, 3, "query")))
    return failure();
  FailureOr<TensorRef> split = splitHeads(node, query, *count, nullptr, offset);
  return failed(split) ? FailureOr<Heads>() : Heads{*split, (*heads)[0], (*heads)[1]};
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
  FailureOr<OpFoldResult> past =
      appendPast(node, node.input(6), node.input(7), heads->key, heads->value);
  if (failed(past))
    return failure();
  node.setOutput(1, heads->key);
  node.setOutput(2, heads->value);
  return attend(node, *heads, *past, node.input(4), node.input(5), "key_padding_mask");
}

//===----------------------------------------------------------------------===//
// com.microsoft.RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Counts positions up from `first` in every batch.
static TensorRef countFrom(Body &body, const TensorRef &first, OpFoldResult batch,
                           OpFoldResult length) {
  return makeGenerate(body, first->element, {batch, length}, {first},
                      [=](Body &at, ArrayRef<Value> place) -> Value {
                        Value start = at.read(first, {at.index(0)});
                        return at.make<arith::AddIOp>(
                            start, at.make<arith::IndexCastOp>(start.getType(), place[1]));
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
    positions = countFrom(node.body, positions, x->sizes[0], x->sizes[x->getRank() - 2]);
  PartNode part(node, "RotaryEmbedding", {x, cos, sin, positions});
  part.take("interleaved").take("rotary_embedding_dim");
  int64_t heads = node.getInt("num_heads", 0);
  // Without a number of heads, a head is as wide as its angles say.
  auto width = getStatic(x->sizes.back()), half = getStatic(cos->sizes.back());
  if (x->getRank() == 3 && heads == 0 && width && half && *half > 0)
    heads = *width / (2 * *half);
  FailureOr<TensorRef> turned = part.set("num_heads", heads).import();
  return node.setOutput(turned);
}
