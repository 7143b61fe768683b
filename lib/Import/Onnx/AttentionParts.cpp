//===- AttentionParts.cpp - parts of ONNX's attention ops -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

Sizes Heads::getScoreSizes() const {
  return {query->sizes[0], query->sizes[1], query->sizes[2], key->sizes[2]};
}

LogicalResult imports::checkAttention(Node &node, const Heads &heads) {
  const auto &[query, key, value] = heads;
  auto check = [&](const TensorRef &a, const TensorRef &b, int64_t dim, StringRef what) {
    auto known = getStatic(a->sizes[dim]), other = getStatic(b->sizes[dim]);
    if (!known || !other || *known == *other)
      return success();
    return LogicalResult(node.error()
                         << "expected " << what << " " << *known << ", found " << *other);
  };
  if (query->element != key->element || key->element != value->element)
    return node.error() << "expected query, key and value of one type, found " << query->element
                        << ", " << key->element << " and " << value->element;
  if (failed(check(query, key, 0, "batch of query and key to match: ")) ||
      failed(check(query, key, 3, "head size of query and key to match: ")) ||
      failed(check(key, value, 0, "batch of key and value to match: ")) ||
      failed(check(key, value, 1, "heads of key and value to match: ")) ||
      failed(check(key, value, 2, "length of key and value to match: ")))
    return failure();
  auto qHeads = getStatic(query->sizes[1]), kvHeads = getStatic(key->sizes[1]);
  if (qHeads && kvHeads && (*kvHeads == 0 || *qHeads % *kvHeads != 0))
    return node.error() << "expected query heads to be a multiple of the " << *kvHeads
                        << " key heads, found " << *qHeads;
  return success();
}

TensorRef imports::makeHeads(Body &body, const TensorRef &tensor, int64_t heads) {
  OpFoldResult width = tensor->sizes[2];
  if (auto known = getStatic(width))
    width = fixedSize(body.b.getContext(), *known / heads);
  else
    width = body.make<arith::DivUIOp>(toIndex(body, width), body.index(heads));
  SmallVector<OpFoldResult> sizes = {tensor->sizes[0], fixedSize(body.b.getContext(), heads),
                                     tensor->sizes[1], width};
  return makeComputed(SplitHeadsOp::create(body.b, body.loc, getTensorType(tensor->element, sizes),
                                           materialize(body, tensor), heads, Layout::batch_first),
                      sizes);
}

TensorRef imports::makeMergedHeads(Body &body, const TensorRef &tensor) {
  SmallVector<OpFoldResult> sizes = {tensor->sizes[0], tensor->sizes[2],
                                     multiply(body, {tensor->sizes[1], tensor->sizes[3]})};
  return makeComputed(MergeHeadsOp::create(body.b, body.loc, getTensorType(tensor->element, sizes),
                                           materialize(body, tensor), Layout::batch_first),
                      sizes);
}

LogicalResult imports::checkPrecision(Node &node) {
  FailureOr<Type> wanted = node.getType("softmax_precision");
  if (succeeded(wanted) && *wanted && !isa<FloatType>(*wanted))
    return node.error() << "expected a type of floats as softmax_precision, found " << *wanted;
  return wanted;
}

static Value castElements(Body &body, Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType()).clone(element);
  auto op = MapOp::create(body.b, body.loc, type, tensor);
  OpBuilder::InsertionGuard guard(body.b);
  Block *block = body.b.createBlock(
      &op.getBody(), {}, cast<RankedTensorType>(tensor.getType()).getElementType(), body.loc);
  Body inner{body.b, body.loc};
  YieldOp::create(body.b, body.loc, castScalar(inner, block->getArgument(0), element));
  return op.getResult();
}

Value imports::makeProb(Node &node, Value score, Value sink) {
  Body &body = node.body;
  const auto *attribute = node.getAttribute("softmax_precision");
  Type own = cast<RankedTensorType>(score.getType()).getElementType();
  // Sums are in f32 or wider whatever the type; only f64 has to be asked for.
  bool isWide =
      attribute && getElementType(attribute->i(), node.model.context).isF64() && !own.isF64();
  if (isWide)
    score = castElements(body, score, body.b.getF64Type());
  Value prob = SoftmaxOp::create(body.b, body.loc, score.getType(), score, sink,
                                 body.b.getI64IntegerAttr(-1));
  return isWide ? castElements(body, prob, own) : prob;
}

FailureOr<Value> imports::makeScore(Node &node, const Heads &heads) {
  auto headDim = getStatic(heads.query->sizes[3]);
  if (!headDim && !node.getAttribute("scale"))
    return node.error() << "expected attribute 'scale' where the head size is not known";
  RankedTensorType type = getTensorType(heads.query->element, heads.getScoreSizes());
  double scale = node.getFloat("scale", 0);
  // ONNX Runtime's ops may say that they have none by a 0.
  if (!node.getAttribute("scale") || (scale == 0 && !node.proto.domain().empty()))
    scale = 1 / std::sqrt(double(headDim.value_or(1)));
  Value score = ScoreOp::create(node.body.b, node.body.loc, type, node.materialize(heads.query),
                                node.materialize(heads.key), APFloat(scale));
  return score;
}

static Value makeSoftcap(Body &body, Value score, double cap) {
  if (cap == 0)
    return score;
  return makeModify<ModifyScoreOp>(body, score, [&](Body &at, Value element, ArrayRef<Value>) {
    Value limit = floatConstant(at, element.getType(), cap);
    Value part = arith::DivFOp::create(at.b, at.loc, element, limit);
    return arith::MulFOp::create(at.b, at.loc, math::TanhOp::create(at.b, at.loc, part), limit)
        .getResult();
  });
}

static Value makeMask(Body &body, Value score, const PlaceFn &isVisible) {
  auto op = MaskOp::create(body.b, body.loc, score.getType(), score);
  OpBuilder::InsertionGuard guard(body.b);
  Block *block = body.b.createBlock(&op.getBody(), {}, SmallVector<Type>(4, body.b.getIndexType()),
                                    SmallVector<Location>(4, body.loc));
  Body inner{body.b, body.loc};
  SmallVector<Value> indices(block->getArguments());
  YieldOp::create(body.b, body.loc, isVisible(inner, indices));
  return op.getResult();
}

void Conditions::require(Value condition) {
  all = all ? at.make<arith::AndIOp>(all, condition) : condition;
}

void Conditions::requireWindow(Value position, Value k, int64_t left, int64_t right) {
  auto isAtMost = [&](Value a, Value b) {
    return at.make<arith::CmpIOp>(arith::CmpIPredicate::sle, a, b);
  };
  if (right >= 0)
    require(isAtMost(k, right == 0 ? position : at.make<arith::AddIOp>(position, at.index(right))));
  if (left >= 0)
    require(isAtMost(at.make<arith::SubIOp>(position, at.index(left)), k));
}

TensorRef imports::makeContext(Node &node, const Heads &heads, Value prob) {
  Sizes sizes = heads.getScoreSizes();
  sizes.back() = heads.value->sizes[3];
  return makeComputed(ContextOp::create(node.body.b, node.body.loc,
                                        getTensorType(heads.query->element, sizes), prob,
                                        node.materialize(heads.value)),
                      sizes);
}

FailureOr<Stages> imports::makeAttention(Node &node, const Heads &heads, const Changes &changes) {
  if (failed(checkAttention(node, heads)))
    return failure();
  FailureOr<Value> score = makeScore(node, heads);
  if (failed(score))
    return failure();
  Body &body = node.body;
  Stages stages;
  stages.score = *score;
  stages.masked = stages.capped = makeSoftcap(body, stages.score, changes.softcap);
  if (changes.modify)
    stages.masked = makeModify<ModifyScoreOp>(body, stages.masked, changes.modify);
  if (changes.isVisible)
    stages.masked = makeMask(body, stages.masked, changes.isVisible);
  Value sink;
  if (changes.sink)
    sink = node.materialize(makeReshape(
        body, changes.sink, {fixedSize(node, 1), heads.query->sizes[1], fixedSize(node, 1)}));
  stages.prob = makeProb(node, stages.masked, sink);
  stages.context = makeContext(node, heads, stages.prob);
  return stages;
}

FailureOr<TensorRef> imports::makeConcat(Node &node, const TensorRef &past,
                                         const TensorRef &tensor) {
  if (past->getRank() != 4 || past->element != tensor->element)
    return node.error() << "expected past key and value of rank 4 and type " << tensor->element
                        << ", found " << past->getType();
  for (int64_t dim : {0, 1, 3})
    if (getStatic(past->sizes[dim]) && getStatic(tensor->sizes[dim]) &&
        !sameSize(past->sizes[dim], tensor->sizes[dim]))
      return node.error() << "expected dimension " << dim << " of past key and value to be "
                          << *getStatic(tensor->sizes[dim]) << ", found "
                          << *getStatic(past->sizes[dim]);
  SmallVector<OpFoldResult> sizes(tensor->sizes);
  auto old = getStatic(past->sizes[2]), added = getStatic(sizes[2]);
  if (old && added)
    sizes[2] = fixedSize(node.body.b.getContext(), *old + *added);
  else
    sizes[2] = node.body.make<arith::AddIOp>(toIndex(node.body, past->sizes[2]),
                                             toIndex(node.body, sizes[2]));
  RankedTensorType type = getTensorType(tensor->element, sizes);
  Value whole =
      tensor::ConcatOp::create(node.body.b, node.body.loc, type, 2,
                               ValueRange{node.materialize(past), node.materialize(tensor)});
  return makeComputed(whole, sizes);
}

LogicalResult imports::checkPast(Node &node, const TensorRef &key, const TensorRef &value) {
  if (bool(key) != bool(value))
    return node.error() << "expected past_key and past_value together";
  return success();
}

FailureOr<OpFoldResult> imports::appendPast(Node &node, const TensorRef &pastKey,
                                            const TensorRef &pastValue, TensorRef &key,
                                            TensorRef &value) {
  if (failed(checkPast(node, pastKey, pastValue)))
    return failure();
  if (!pastKey)
    return fixedSize(node, 0);
  FailureOr<TensorRef> keys = makeConcat(node, pastKey, key),
                       values = makeConcat(node, pastValue, value);
  if (failed(keys) || failed(values))
    return failure();
  key = *keys;
  value = *values;
  return pastKey->sizes[2];
}
