//===- JoinScores.cpp - sums of scores as one score -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Apart, all scores of one term would be kept in memory, and values that are keys of the other
// would be read twice.
//
//===----------------------------------------------------------------------===//

#include "JoinScores.h"

#include "Shapes.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A score that the body of a step adds to the element that it is given.
struct AddedScore {
  arith::AddFOp sum;
  tensor::ExtractOp read;
  ScoreOp score;
};
} // namespace

/// Whether nothing else than `reader`, and questions for its sizes, uses `score`.
static bool isReadOnlyBy(ScoreOp score, Operation *reader) {
  return llvm::all_of(score.getScore().getUses(),
                      [&](OpOperand &use) { return use.getOwner() == reader || asksForSize(use); });
}

/// Whether the rows of both may stand side by side: all sizes but the last are known to be equal.
static bool fitSideBySide(Value a, Value b) {
  ArrayRef<int64_t> ofA = shapeOf(a), ofB = shapeOf(b);
  return ofA.drop_back() == ofB.drop_back() && !ShapedType::isDynamic(ofA.back()) &&
         !ShapedType::isDynamic(ofB.back());
}

/// Whether enough query rows share a key to be worth the copy that concatenates the keys. An open
/// number of rows may be large.
static bool isWorthCopy(ScoreOp score) {
  constexpr int64_t kFewestRows = 8;
  int64_t rows = sizeOf(score.getQuery(), 2), heads = sizeOf(score.getQuery(), 1),
          kvHeads = sizeOf(score.getKey(), 1);
  return ShapedType::isDynamic(rows) || !bothStatic(heads, kvHeads) ||
         rows * heads >= kFewestRows * kvHeads;
}

static bool canJoin(ScoreOp a, ScoreOp b) {
  return a.getScale() == b.getScale() && fitSideBySide(a.getQuery(), b.getQuery()) &&
         fitSideBySide(a.getKey(), b.getKey()) && isWorthCopy(a);
}

/// Whether `read` is at the place of the body's element, of a tensor as large as the score. Along a
/// size of 1 there is no other place.
static bool isAtElement(tensor::ExtractOp read, Block &body) {
  if (!read.getTensor().getType().hasStaticShape() && !read->hasAttr(kSameSizeAttr))
    return false;
  return llvm::all_of_zip(
      read.getTensor().getType().getShape(), read.getIndices(), body.getArguments().drop_front(),
      [](int64_t size, Value index, Value own) { return size == 1 || index == own; });
}

static std::optional<AddedScore> findAddedScore(ModifyScoreOp step) {
  Block &body = step.getBody().front();
  Value element = body.getArgument(0);
  auto score = step.getScore().getDefiningOp<ScoreOp>();
  if (!score || !element.hasOneUse() || !isReadOnlyBy(score, step))
    return std::nullopt;
  auto sum = dyn_cast<arith::AddFOp>(*element.user_begin());
  Value other = sum ? (sum.getLhs() == element ? sum.getRhs() : sum.getLhs()) : Value();
  auto read = other ? other.getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
  auto added = read ? read.getTensor().getDefiningOp<ScoreOp>() : ScoreOp();
  if (!added || !read->hasOneUse() || !isAtElement(read, body) || !isReadOnlyBy(added, read) ||
      added->getBlock() != step->getBlock() || added.getType() != score.getType())
    return std::nullopt;
  return AddedScore{sum, read, added};
}

void attn::orderScores(ModifyScoreOp step) {
  std::optional<AddedScore> added = findAddedScore(step);
  if (!added)
    return;
  auto score = step.getScore().getDefiningOp<ScoreOp>();
  auto rank = [](ScoreOp op) { return std::pair(sizeOf(op.getKey(), 1), sizeOf(op.getKey(), 3)); };
  if (rank(added->score) <= rank(score))
    return;
  step.getScoreMutable().assign(added->score);
  added->read.getTensorMutable().assign(score);
}

/// Whether one op, or two that do the same, make both.
static bool areSame(Value a, Value b) {
  Operation *ofA = a.getDefiningOp(), *ofB = b.getDefiningOp();
  return a == b ||
         (ofA && ofB && isMove(ofA) &&
          OperationEquivalence::isEquivalentTo(ofA, ofB, OperationEquivalence::IgnoreLocations));
}

/// Lets values that are `keys` be those dims of the joined ones, which begin with them.
static void takeValuesFrom(RewriterBase &rewriter, ContextOp context, Value keys, Value joined) {
  if (!areSame(context.getValue(), keys))
    return;
  Location loc = context.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, joined),
                            offsets(4, rewriter.getIndexAttr(0)),
                            steps(4, rewriter.getIndexAttr(1));
  auto type = cast<RankedTensorType>(keys.getType());
  sizes.back() = rewriter.getIndexAttr(type.getDimSize(3));
  context.getValueMutable().assign(
      tensor::ExtractSliceOp::create(rewriter, loc, type, joined, offsets, sizes, steps));
}

bool attn::joinScores(RewriterBase &rewriter, AttentionCore &core) {
  auto step =
      core.scoreSteps.empty() ? ModifyScoreOp() : dyn_cast<ModifyScoreOp>(core.scoreSteps[0]);
  std::optional<AddedScore> added = step ? findAddedScore(step) : std::nullopt;
  // What attn.shard spreads is the operands of attention, not what is made of them.
  Operation *function = core.score->getParentOp();
  bool isSpread = function && function->hasAttr(kShardAttr);
  if (!added || isSpread || !canJoin(core.score, added->score))
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(step);
  ScoreOp first = core.score, second = added->score;
  if (areSame(core.context.getValue(), second.getKey()))
    std::swap(first, second);
  Location loc = first.getLoc();
  auto join = [&](Value a, Value b) -> Value {
    return tensor::ConcatOp::create(rewriter, loc, /*dim=*/3, ValueRange{a, b});
  };
  Value keys = join(first.getKey(), second.getKey());
  auto joined =
      ScoreOp::create(rewriter, loc, first.getType(), join(first.getQuery(), second.getQuery()),
                      keys, first.getScaleAttr());
  takeValuesFrom(rewriter, core.context, first.getKey(), keys);
  rewriter.replaceOp(added->sum, step.getBody().front().getArgument(0));
  rewriter.eraseOp(added->read);
  for (ScoreOp part : {first, second})
    rewriter.replaceOp(part, joined);
  core.score = joined;
  return true;
}
