//===- Attention.cpp - ONNX's Attention -----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
enum Input { Query, Key, Value_, Mask, PastKey, PastValue, NonpadLengths };
enum Output { Context_, PresentKey, PresentValue, Qk };

/// One node of op Attention, taken apart in order.
class AttentionNode {
public:
  explicit AttentionNode(Node &node) : node(node), body(node.body) {}
  LogicalResult import();

private:
  LogicalResult readOperands();
  FailureOr<TensorRef> readHeads(Input input, StringRef count);
  LogicalResult checkMask();
  Changes getChanges();
  Value addMask(Body &at, Value score, ArrayRef<Value> indices);
  Value isVisible(Body &at, ArrayRef<Value> indices);
  std::pair<int64_t, int64_t> getWindow();
  LogicalResult setOutputs(const Stages &stages);

  Node &node;
  Body &body;
  Heads heads;
  SmallVector<OpFoldResult> scoreSizes;
  OpFoldResult pastLength;
  /// Of i1, or of floats that are added; null if there is none.
  TensorRef mask;
};
} // namespace

FailureOr<TensorRef> AttentionNode::readHeads(Input input, StringRef count) {
  TensorRef tensor = node.input(input);
  if (tensor->getRank() == 4)
    return tensor;
  if (tensor->getRank() != 3)
    return node.error() << "expected query, key and value of rank 3 or 4, found "
                        << tensor->getRank();
  int64_t heads = node.getInt(count, 0);
  if (heads <= 0 || heads > kMostHeads)
    return node.error() << "expected attribute '" << count << "' from 1 to " << kMostHeads
                        << " beside inputs of rank 3, found " << heads;
  auto width = getStatic(tensor->sizes[2]);
  if (width && *width % heads != 0)
    return node.error() << "expected '" << count << "' to divide the width " << *width << ", found "
                        << heads;
  return makeHeads(body, tensor, heads);
}

LogicalResult AttentionNode::readOperands() {
  for (StringRef name : {"left_window_size", "right_window_size"})
    if (int64_t size = node.getInt(name, -1); size < -1)
      return node.error() << "expected attribute '" << name << "' of -1 or more, found " << size;
  if (TensorRef lengths = node.input(NonpadLengths); lengths && lengths->getRank() != 1)
    return node.error() << "expected nonpad_kv_seqlen of rank 1, found " << lengths->getRank();
  if (node.input(NonpadLengths) && (node.input(PastKey) || node.input(PastValue)))
    return node.error() << "expected either nonpad_kv_seqlen or past_key and past_value";
  FailureOr<TensorRef> q = readHeads(Query, "q_num_heads"), k, v;
  if (failed(q) || failed(k = readHeads(Key, "kv_num_heads")) ||
      failed(v = readHeads(Value_, "kv_num_heads")))
    return failure();
  heads = {*q, *k, *v};
  FailureOr<OpFoldResult> past =
      appendPast(node, node.input(PastKey), node.input(PastValue), heads.key, heads.value);
  if (failed(past))
    return failure();
  pastLength = *past;
  node.setOutput(PresentKey, heads.key);
  node.setOutput(PresentValue, heads.value);
  scoreSizes = heads.getScoreSizes();
  return success();
}

/// The mask at `indices`, and whether it is long enough for key k: null if it always is.
static std::pair<Value, Value> readMask(Body &at, const TensorRef &mask, ArrayRef<Value> indices,
                                        ArrayRef<OpFoldResult> scoreSizes) {
  OpFoldResult length = mask->sizes.back();
  SmallVector<Value> own = broadcastIndices(at, mask->sizes, indices);
  if (getStatic(length) == 1 || sameSize(length, scoreSizes.back()))
    return {at.read(mask, own), nullptr};
  Value size = toIndex(at, length), k = own.back();
  Value last = at.make<arith::SubIOp>(size, at.index(1));
  own.back() = arith::MinSIOp::create(at.b, at.loc, k, last);
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(at.b, at.loc, predicate, x, y);
  };
  Value within = compare(arith::CmpIPredicate::slt, k, size);
  if (!getStatic(length)) { // one element is that of all keys, as where its size is known
    Value isOne = compare(arith::CmpIPredicate::eq, size, at.index(1));
    within = arith::OrIOp::create(at.b, at.loc, within, isOne);
  }
  return {at.read(mask, own), within};
}

Value AttentionNode::addMask(Body &at, Value score, ArrayRef<Value> indices) {
  auto [bias, within] = readMask(at, mask, indices, scoreSizes);
  Value sum = arith::AddFOp::create(at.b, at.loc, score, bias);
  if (!within)
    return sum;
  Value hidden = floatConstant(at, score.getType(), -INFINITY);
  return arith::SelectOp::create(at.b, at.loc, within, sum, hidden);
}

Value AttentionNode::isVisible(Body &at, ArrayRef<Value> indices) {
  Conditions conditions{at};
  Value q = indices[2], k = indices[3];
  if (mask && mask->element.isInteger(1)) {
    auto [isOn, within] = readMask(at, mask, indices, scoreSizes);
    if (within)
      conditions.require(within);
    conditions.require(isOn);
  }
  Value length, position = q;
  if (TensorRef lengths = node.input(NonpadLengths))
    length = arith::IndexCastOp::create(at.b, at.loc, at.b.getIndexType(),
                                        at.read(lengths, {indices[0]}));
  // With nonpad_kv_seqlen the last keys are those of the queries.
  if (length)
    position =
        at.make<arith::AddIOp>(q, at.make<arith::SubIOp>(length, toIndex(at, scoreSizes[2])));
  else if (getStatic(pastLength) != 0)
    position = at.make<arith::AddIOp>(q, toIndex(at, pastLength));
  auto [left, right] = getWindow();
  conditions.requireWindow(position, k, left, right);
  if (length)
    conditions.require(arith::CmpIOp::create(at.b, at.loc, arith::CmpIPredicate::slt, k, length));
  return conditions.all;
}

/// The window (left, right) around a query's position; -1 is unbounded.
std::pair<int64_t, int64_t> AttentionNode::getWindow() {
  int64_t right = node.getInt("right_window_size", -1);
  return {node.getInt("left_window_size", -1), node.getInt("is_causal", 0) ? 0 : right};
}

LogicalResult AttentionNode::checkMask() {
  mask = node.input(Mask);
  if (!mask)
    return success();
  if (mask->getRank() > 4 || mask->getRank() < 1)
    return node.error() << "expected attn_mask of rank 1 to 4, found " << mask->getRank();
  for (int64_t dim = 0; dim < mask->getRank(); ++dim) {
    auto found = getStatic(mask->sizes[dim]),
         wanted = getStatic(scoreSizes[4 - mask->getRank() + dim]);
    bool maybeShorter = dim == mask->getRank() - 1 && found && wanted && *found < *wanted;
    if (found && wanted && *found != 1 && *found != *wanted && !maybeShorter)
      return node.error() << "expected dimension " << dim << " of attn_mask to be 1 or " << *wanted
                          << ", found " << *found;
  }
  if (!mask->element.isInteger(1) && mask->element != heads.query->element)
    return node.error() << "expected attn_mask of i1 or " << heads.query->element << ", found "
                        << mask->element;
  return success();
}

Changes AttentionNode::getChanges() {
  Changes changes;
  changes.softcap = node.getFloat("softcap", 0);
  bool hasBools = mask && mask->element.isInteger(1);
  if (mask && !hasBools)
    changes.modify = [this](Body &at, Value score, ArrayRef<Value> indices) {
      return addMask(at, score, indices);
    };
  if (hasBools || getWindow() != std::pair<int64_t, int64_t>(-1, -1) || node.input(NonpadLengths))
    changes.isVisible = [this](Body &at, ArrayRef<Value> indices) {
      return isVisible(at, indices);
    };
  return changes;
}

LogicalResult AttentionNode::setOutputs(const Stages &stages) {
  bool isMerged = node.input(Query)->getRank() == 3;
  node.setOutput(Context_, isMerged ? makeMergedHeads(body, stages.context) : stages.context);
  if (!node.wantsOutput(Qk))
    return success();
  Value byMode[] = {stages.score, stages.capped, stages.masked, stages.prob};
  uint64_t mode = node.getInt("qk_matmul_output_mode", 0);
  if (mode >= std::size(byMode))
    return node.error() << "expected qk_matmul_output_mode 0 to 3, found " << int64_t(mode);
  node.setOutput(Qk, makeComputed(byMode[mode], scoreSizes));
  return success();
}

LogicalResult AttentionNode::import() {
  if (failed(readOperands()) || failed(checkPrecision(node)) || failed(checkMask()))
    return failure();
  FailureOr<Stages> stages = makeAttention(node, heads, getChanges());
  return failed(stages) ? failure() : setOutputs(*stages);
}

static LogicalResult importAttention(Node &node) { return AttentionNode(node).import(); }

ArrayRef<OpEntry> imports::getAttentionOps() {
  static const OpEntry entries[] = {
      {"",
       "Attention",
       "fffx?f?f?i?",
       "xx?x?x?",
       {{"is_causal", Int},
        {"kv_num_heads", Int},
        {"left_window_size", Int},
        {"q_num_heads", Int},
        {"qk_matmul_output_mode", Int},
        {"right_window_size", Int},
        {"scale", Float},
        {"softcap", Float},
        {"softmax_precision", Int}},
       importAttention,
       23},
      {"",
       "RotaryEmbedding",
       "fffi?",
       "x",
       {{"interleaved", Int}, {"num_heads", Int}, {"rotary_embedding_dim", Int}},
       importRotaryEmbedding},
      {"", "TensorScatter", "ffi?", "x", {{"axis", Int}, {"mode", String}}, importTensorScatter},
      {"ai.onnx.preview",
       "FlexAttention",
       "fff",
       "x",
       {{"prob_mod", Graph}, {"scale", Float}, {"score_mod", Graph}, {"softmax_precision", Int}},
       importFlexAttention},
      {"com.microsoft",
       "Attention",
       "fff?i?f?f?",
       "xx?",
       {{"do_rotary", Int},
        {"mask_filter_value", Float},
        {"num_heads", Int},
        {"past_present_share_buffer", Int},
        {"qkv_hidden_sizes", Ints},
        {"rotary_embedding_dim", Int},
        {"scale", Float},
        {"unidirectional", Int}},
       importFusedAttention},
      {"com.microsoft",
       "GroupQueryAttention",
       "ff?f?f?f?iif?f?i?f?f?f?f?f?f?",
       "xx?x?x?",
       {{"causal", Int},
        {"do_rotary", Int},
        {"k_quant_type", String},
        {"kv_cache_bit_width", Int},
        {"kv_num_heads", Int},
        {"local_window_size", Int},
        {"num_heads", Int},
        {"qk_norm_epsilon", Float},
        {"qk_output", Int},
        {"rotary_interleaved", Int},
        {"scale", Float},
        {"sliding_window_cache", Int},
        {"smooth_softmax", Int},
        {"softcap", Float},
        {"v_quant_type", String}},
       importGroupQueryAttention},
      {"com.microsoft",
       "MultiHeadAttention",
       "ff?f?f?i?f?f?f?",
       "xx?x?x?",
       {{"mask_filter_value", Float},
        {"num_heads", Int},
        {"scale", Float},
        {"unidirectional", Int}},
       importMultiHeadAttention},
      {"com.microsoft",
       "RotaryEmbedding",
       "fiff",
       "x",
       {{"interleaved", Int},
        {"is_packed_batching", Int},
        {"num_heads", Int},
        {"rotary_embedding_dim", Int},
        {"scale", Float}},
       importFusedRotaryEmbedding},
  };
  return entries;
}
