//===- SizeChecks.cpp - sizes that only the call tells --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"

#include "Lowerings.h"
#include "Rows.h"

#include "attnc/Dialect/Attn/Attributes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

static void requireHeads(HostFunction &host, Location loc, Value query, Value key) {
  host.requireSame(loc, query, 0, key, 0,
                   "expected batch to match between query side and key side");
  host.requireMultiple(loc, query, 1, key, 1,
                       "expected num_q_heads to be a multiple of num_kv_heads");
}

/// Sizes that the types leave open are not repeated: they are equal. The last `numOwn` dimensions
/// are each tensor's own.
static void requireBroadcast(HostFunction &host, Location loc, ValueRange tensors, int64_t numOwn,
                             const Twine &message) {
  // Counted from the last dimension that broadcasts.
  SmallVector<std::pair<Value, int64_t>> known;
  for (Value input : tensors) {
    ArrayRef<int64_t> sizes = tensorType(input).getShape().drop_back(numOwn);
    known.resize(std::max(known.size(), sizes.size()));
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      auto &[tensor, tensorDim] = known[sizes.size() - 1 - dim];
      if (tensor && size != 1)
        host.requireSame(loc, tensor, tensorDim, input, dim, message);
      else if (size != 1)
        tensor = input, tensorDim = dim;
    }
  }
}

/// Tensors that were combined with a score element for element, before a region read them, have
/// its sizes. `places` are tensors that have them too, for each of the region's coordinates.
static void requireSameAsScore(HostFunction &host, Operation &op,
                               ArrayRef<std::pair<Value, int64_t>> places) {
  op.walk([&](tensor::ExtractOp read) {
    if (!read->hasAttr(kSameSizeAttr))
      return;
    for (auto [dim, index] : llvm::enumerate(read.getIndices()))
      if (auto coord = dyn_cast<BlockArgument>(index)) {
        size_t first = coord.getOwner()->getNumArguments() - places.size();
        auto [tensor, place] = places[coord.getArgNumber() - first];
        host.requireSame(op.getLoc(), tensor, place, read.getTensor(), dim,
                         "expected what is combined with a score to have its sizes");
      }
  });
}

/// A size that the type of a sink leaves open is not broadcast.
static void requireSink(HostFunction &host, AttentionOp op) {
  for (int64_t dim = 0; op.getSink() && dim < 3; ++dim)
    if (tensorType(op.getSink()).getDimSize(dim) != 1)
      host.requireSame(op.getLoc(), op.getQuery(), dim, op.getSink(), dim,
                       "expected batch, num_q_heads and q_len of query and sink to match");
}

static void requireElementwise(HostFunction &host, Operation &op) {
  for (Value operand : llvm::drop_begin(op.getOperands()))
    for (int64_t dim = 0; dim < tensorType(operand).getRank(); ++dim)
      host.requireSame(op.getLoc(), op.getOperand(0), dim, operand, dim,
                       "expected operands of " + op.getName().getStringRef() +
                           " to have the same sizes");
}

void attn::requireSizes(HostFunction &host, Operation &op) {
  Location loc = op.getLoc();
  TypeSwitch<Operation *>(&op)
      .Case([&](ScoreOp score) {
        requireHeads(host, loc, score.getQuery(), score.getKey());
        host.requireSame(loc, score.getQuery(), 3, score.getKey(), 3,
                         "expected head_dim of query and key to match");
      })
      .Case([&](AdditiveScoreOp score) {
        requireHeads(host, loc, score.getQuery(), score.getKey());
        for (auto [tensor, dim] : {std::pair(score.getKey(), 3), {score.getWeight(), 0}})
          host.requireSame(loc, score.getQuery(), 3, tensor, dim,
                           "expected the width of query, key and weight to match");
      })
      .Case([&](AppendCacheOp append) {
        for (int64_t dim : {0, 1, 3})
          host.requireSame(loc, append.getCache(), dim, append.getRows(), dim,
                           "expected batch, heads and width of cache and rows to match");
        host.requireSame(loc, append.getCache(), 0, append.getLength(), 0,
                         "expected a length for each batch of the cache");
      })
      .Case([&](ContextOp context) {
        requireHeads(host, loc, context.getProb(), context.getValue());
        host.requireSame(loc, context.getProb(), 3, context.getValue(), 2,
                         "expected kv_len of prob and value to match");
      })
      .Case([&](AttentionOp attention) {
        Value query = attention.getQuery(), key = attention.getKey(), value = attention.getValue();
        requireHeads(host, loc, query, key);
        host.requireSame(loc, query, 3, key, 3, "expected head_dim of query and key to match");
        for (auto [dim, name] : {std::pair(0, "batch"), {1, "num_kv_heads"}, {2, "kv_len"}})
          host.requireSame(loc, key, dim, value, dim,
                           Twine("expected ") + name + " of key and value to match");
        requireSameAsScore(host, op, {{query, 0}, {query, 1}, {query, 2}, {key, 2}});
        requireSink(host, attention);
      })
      .Case<ModifyScoreOp, MaskOp, ModifyProbOp>([&](auto) {
        Value score = op.getOperand(0);
        requireSameAsScore(host, op, {{score, 0}, {score, 1}, {score, 2}, {score, 3}});
      })
      .Case([&](MapOp map) {
        requireBroadcast(host, loc, map.getInputs(), /*numOwn=*/0,
                         "expected operands of attn.map to have the same sizes");
      })
      .Case([&](MatmulOp matmul) {
        Value left = matmul.getLeft(), right = matmul.getRight();
        host.requireSame(loc, left, tensorType(left).getRank() - 1, right,
                         tensorType(right).getRank() - 2,
                         "expected left's columns and right's rows of attn.matmul to match");
        requireBroadcast(host, loc, {left, right}, /*numOwn=*/2,
                         "expected sizes in front of attn.matmul's matrices to match");
      })
      .Case([&](LayerNormOp norm) {
        int64_t last = norm.getInput().getType().getRank() - 1;
        for (Value parameter : {norm.getScale(), norm.getBias()})
          if (parameter)
            host.requireSame(loc, norm.getInput(), last, parameter, 0,
                             "expected scale and bias of attn.layer_norm to have input's width");
      })
      .Case([&](LinearOp linear) {
        int64_t last = cast<RankedTensorType>(linear.getInput().getType()).getRank() - 1;
        host.requireSame(loc, linear.getInput(), last, linear.getWeight(), 1,
                         "expected in_features of input and weight to match");
        if (linear.getBias())
          host.requireSame(loc, linear.getBias(), 0, linear.getWeight(), 0,
                           "expected out_features of bias and weight to match");
      })
      .Default([&](Operation *) {
        if (isElementwise(&op))
          requireElementwise(host, op);
      });
}
