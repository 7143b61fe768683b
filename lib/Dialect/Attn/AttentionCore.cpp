//===- AttentionCore.cpp - finding attention in a graph
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks from a softmax back to the score and forward to the context. All obstacles to fusion are
// found here, before anything is rewritten.
//
//===----------------------------------------------------------------------===//

#include "AttentionCore.h"

#include "Shapes.h"

#include "attnc/Dialect/Attn/ProbRegion.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<Value> AttentionCore::intermediates() {
  SmallVector<Value> values = {score.getScore()};
  for (Operation *step : scoreSteps)
    values.push_back(step->getResult(0));
  values.push_back(softmax.getProb());
  for (ModifyProbOp step : probSteps)
    values.push_back(step.getResult());
  return values;
}

static bool refuse(Refusal &refusal, const Twine &reason, Operation *op = nullptr,
                   StringRef role = "") {
  refusal = {reason.str(), op, role};
  return false;
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

bool attn::asksForSize(OpOperand &use) {
  auto dim = dyn_cast<tensor::DimOp>(use.getOwner());
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  return index && *index >= 0 && *index < 4;
}

/// Whether a use is the lse of a softmax's score, which becomes a result of the fused op.
static bool isLse(OpOperand &use, Operation *next) {
  return isa<SoftmaxOp>(next) && isa<LseOp>(use.getOwner());
}

/// Whether users of `value` (called `what`) other than `next`, whose operand 0 it is, may recompute
/// it: with many rows that costs less than an unfused context. A region of the core that reads it
/// would need the whole tensor before the fused op.
static bool onlyFeeds(Value value, Operation *next, StringRef what, Refusal &refusal) {
  bool isOneRow = sizeOf(value, 2) == 1;
  for (OpOperand &use : value.getUses()) {
    bool isNext = use.getOwner() == next && use.getOperandNumber() == 0;
    bool isInside = isa<ModifyScoreOp, MaskOp, ModifyProbOp>(use.getOwner()->getParentOp());
    bool isContext = !isNext && isa<ContextOp>(use.getOwner());
    if (!isNext && !asksForSize(use) && !isLse(use, next) && (isOneRow || isInside || isContext))
      return refuse(refusal,
                    Twine(what) + " has another use" +
                        (isOneRow ? ", and of one query row it is not computed twice" : ""),
                    use.getOwner(), "used by");
  }
  return true;
}

/// Matches from the softmax back to the score.
static bool matchScore(AttentionCore &core, Refusal &refusal) {
  Operation *op = core.softmax.getScore().getDefiningOp();
  while (isa_and_nonnull<ModifyScoreOp, MaskOp>(op)) {
    core.scoreSteps.insert(core.scoreSteps.begin(), op);
    op = op->getOperand(0).getDefiningOp();
  }
  core.score = dyn_cast_or_null<ScoreOp>(op);
  if (core.score)
    return true;
  return refuse(refusal, "its operand does not come from attn.score", op, "comes from");
}

/// The next op from a prob towards the context; null and a refusal if there is none.
static Operation *nextOfProb(Value prob, Refusal &refusal) {
  Operation *reader = nullptr;
  for (OpOperand &use : prob.getUses()) {
    if (isa<ContextOp, ModifyProbOp>(use.getOwner()) && use.getOperandNumber() == 0)
      return use.getOwner();
    if (!asksForSize(use))
      reader = use.getOwner();
  }
  refuse(refusal, reader ? "no attn.context takes the prob" : "the prob has no use", reader,
         "taken by");
  return nullptr;
}

/// Matches from the softmax forward to the context.
static bool matchContext(AttentionCore &core, Refusal &refusal) {
  Value prob = core.softmax.getProb();
  while (Operation *next = nextOfProb(prob, refusal)) {
    if (!onlyFeeds(prob, next, "the prob", refusal))
      return false;
    core.context = dyn_cast<ContextOp>(next);
    if (core.context)
      return true;
    core.probSteps.push_back(cast<ModifyProbOp>(next));
    prob = next->getResult(0);
  }
  return false;
}

/// Whether each score is read only by the next op of the chain.
static bool scoresStayInside(AttentionCore &core, Refusal &refusal) {
  Value score = core.score.getScore();
  for (Operation *step : core.scoreSteps) {
    if (!onlyFeeds(score, step, "the score", refusal))
      return false;
    score = step->getResult(0);
  }
  return onlyFeeds(score, core.softmax, "the score", refusal);
}

/// The ops between `first` and `last` in a block that depend on `first`, in order; `last` among
/// them if it does.
static llvm::SetVector<Operation *> findReaders(Operation *first, Operation *last) {
  llvm::SetVector<Operation *> readers;
  Block *block = first->getBlock();
  auto reads = [&](Operation *inner) {
    return llvm::any_of(inner->getOperands(), [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      op = op ? block->findAncestorOpInBlock(*op) : nullptr;
      return op && (op == first || readers.contains(op));
    });
  };
  for (auto it = std::next(first->getIterator()), end = std::next(last->getIterator()); it != end;
       ++it)
    if (it->walk([&](Operation *inner) {
            return reads(inner) ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted())
      readers.insert(&*it);
  return readers;
}

/// Finds an lse of the last score on which the context does not depend. Ops with side effects keep
/// their order: an lse that they read before the context is computed apart.
static void findLse(AttentionCore &core) {
  Operation *context = core.context;
  for (Operation *user : core.softmax.getScore().getUsers()) {
    auto lse = dyn_cast<LseOp>(user);
    if (!lse || lse->getBlock() != context->getBlock())
      continue;
    llvm::SetVector<Operation *> readers;
    if (lse->isBeforeInBlock(context))
      readers = findReaders(lse, context);
    if (readers.contains(context) || !llvm::all_of(readers, isMemoryEffectFree))
      continue;
    core.lse = lse;
    core.lseReaders = readers.takeVector();
    return;
  }
}

/// A core across blocks might run more often fused than unfused.
static bool isInOneBlock(AttentionCore &core, Refusal &refusal) {
  Block *block = core.softmax->getBlock();
  if (core.score->getBlock() == block && core.context->getBlock() == block)
    return true;
  Operation *other = core.score->getBlock() == block ? core.context.getOperation() : core.score;
  return refuse(refusal, "score, softmax and context stand in different blocks", other,
                "in another block:");
}

//===----------------------------------------------------------------------===//
// Conditions of the fused form
//===----------------------------------------------------------------------===//

static bool isAlongKeys(AttentionCore &core, Refusal &refusal) {
  int64_t axis = core.softmax.getAxis();
  if (axis == -1 || axis == 3)
    return true;
  return refuse(refusal, "its axis " + Twine(axis) + " is not the last one");
}

/// The fused op has one num_kv_heads for key and value; separate ops may differ, and a dynamic size
/// of the score may hide other contradictions.
static bool sizesAgree(AttentionCore &core, Refusal &refusal) {
  Value query = core.score.getQuery(), key = core.score.getKey();
  Value value = core.context.getValue(), context = core.context.getResult();
  auto check = [&](StringRef name, Value a, Value b, int64_t dim) {
    if (!bothStatic(sizeOf(a, dim), sizeOf(b, dim)) || sizeOf(a, dim) == sizeOf(b, dim))
      return true;
    return refuse(refusal, "its operands differ in " + name + ", " + Twine(sizeOf(a, dim)) +
                               " and " + Twine(sizeOf(b, dim)));
  };
  int64_t qHeads = sizeOf(query, 1), kvHeads = sizeOf(value, 1);
  if (bothStatic(qHeads, kvHeads) && (kvHeads == 0 || qHeads % kvHeads != 0))
    return refuse(refusal, "num_q_heads " + Twine(qHeads) + " is no multiple of num_kv_heads " +
                               Twine(kvHeads));
  return check("batch", query, value, 0) && check("batch", key, value, 0) &&
         check("num_kv_heads", key, value, 1) && check("kv_len", key, value, 2) &&
         check("batch", query, context, 0) && check("batch", key, context, 0) &&
         check("num_q_heads", query, context, 1) && check("q_len", query, context, 2);
}

static bool hasDims(AttentionCore &core, Refusal &refusal) {
  auto check = [&](StringRef name, Value tensor) {
    return sizeOf(tensor, 3) != 0 || refuse(refusal, Twine(name) + " is 0");
  };
  return check("head_dim", core.score.getQuery()) && check("value_dim", core.context.getValue());
}

static bool probsAreLinear(AttentionCore &core, Refusal &refusal) {
  for (ModifyProbOp step : core.probSteps)
    if (!ProbRegion(step.getBody()).isLinear())
      return refuse(refusal, "a prob region is not linear in the prob", step, "of");
  return true;
}

static bool has(Region &region, function_ref<bool(Operation *)> isWanted) {
  return region
      .walk([&](Operation *op) {
        return isWanted(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isFinite(Value constant) {
  FloatAttr number;
  return matchPattern(constant, m_Constant(&number)) && number.getValue().isFinite();
}

/// Whether `op` of a prob region only scales, adds or selects the prob and finite constants, or
/// computes no float.
static bool isFinite(Operation *op) {
  auto isFloat = [](Value value) { return isa<FloatType>(value.getType()); };
  if (isa<arith::ConstantOp>(op))
    return !isFloat(op->getResult(0)) || isFinite(op->getResult(0));
  bool isInside = llvm::all_of(op->getOperands(), [&](Value operand) {
    return !isFloat(operand) || operand.getParentRegion() == op->getParentRegion() ||
           isFinite(operand);
  });
  if (isa<YieldOp, arith::SelectOp, arith::MulFOp, arith::AddFOp, arith::SubFOp, arith::NegFOp,
          arith::ExtFOp, arith::TruncFOp>(op))
    return isInside;
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return isInside && isFinite(quotient.getRhs()) &&
           !matchPattern(quotient.getRhs(), m_AnyZeroFloat());
  return llvm::none_of(op->getResults(), isFloat);
}

/// Whether `op` of a prob region may turn a prob into 0.
static bool mayGiveZero(Operation *op) {
  auto isZero = [](Value value) { return matchPattern(value, m_AnyZeroFloat()); };
  return !isFinite(op) || isa<arith::SelectOp, arith::AddFOp, arith::SubFOp>(op) ||
         llvm::any_of(op->getOperands(), isZero);
}

/// A prob that one step zeroes stays 0 whatever the next one multiplies it by, NaN and infinity
/// included: composed regions would lose that.
static bool zerosStay(AttentionCore &core, Refusal &refusal) {
  bool mayBeZero = false;
  for (ModifyProbOp step : core.probSteps) {
    if (mayBeZero && has(step.getBody(), [](Operation *op) { return !isFinite(op); }))
      return refuse(refusal, "a prob region's factors may be infinite where an earlier one gives 0",
                    step, "of");
    mayBeZero |= has(step.getBody(), mayGiveZero);
  }
  return true;
}

/// Whether the composition of `steps` stays within the limits of one region.
static bool fitOneRegion(ArrayRef<Operation *> steps, Refusal &refusal) {
  // Ops added between steps to keep hidden keys hidden.
  int64_t added = 4 + 2 * llvm::count_if(steps, llvm::IsaPred<MaskOp>);
  int64_t length = 0;
  for (Operation *step : steps)
    if ((length += getLongestChain(step->getRegion(0)) + added) > kLongestChain)
      return refuse(refusal,
                    "its regions depend on more than " + Twine(kLongestChain) +
                        " ops in a row together",
                    step, "with that of");
  return true;
}

static bool fitRegions(AttentionCore &core, Refusal &refusal) {
  SmallVector<Operation *> probSteps(core.probSteps.begin(), core.probSteps.end());
  return fitOneRegion(core.scoreSteps, refusal) && fitOneRegion(probSteps, refusal);
}

/// Whether a rounding of its floats changes a region's result by more than a few roundings: where
/// it compares them, or a function of them has no bounded slope.
static bool magnifiesRoundings(Operation *step) {
  auto isSteep = [](Operation *op) {
    bool readsFloat = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<FloatType>);
    return readsFloat &&
                   !isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
                        arith::ExtFOp, arith::TruncFOp, arith::SelectOp, YieldOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return step->getRegion(0).walk(isSteep).wasInterrupted();
}

/// Whether no region compares scores with a statistic of the same scores, such as a row's maximum
/// or its k-th largest score. The fused op computes the scores again, with other roundings: the
/// largest one would differ from the maximum.
static bool comparesNoOtherScores(AttentionCore &core, Refusal &refusal) {
  if (llvm::none_of(core.scoreSteps, magnifiesRoundings))
    return true;
  llvm::SetVector<Operation *> readers = findReaders(core.score, core.context);
  for (Operation *step : core.scoreSteps) {
    llvm::SetVector<Value> read;
    getUsedValuesDefinedAbove(step->getRegions(), read);
    for (Value value : read)
      if (Operation *op = value.getDefiningOp(); op && readers.contains(op))
        return refuse(refusal, "a region reads what is computed from the score itself", op, "by");
  }
  return true;
}

std::optional<AttentionCore> attn::matchAttentionCore(SoftmaxOp softmax, Refusal &refusal) {
  AttentionCore core;
  core.softmax = softmax;
  if (matchScore(core, refusal) && isAlongKeys(core, refusal) && scoresStayInside(core, refusal) &&
      matchContext(core, refusal) && isInOneBlock(core, refusal) && sizesAgree(core, refusal) &&
      hasDims(core, refusal) && probsAreLinear(core, refusal) && zerosStay(core, refusal) &&
      fitRegions(core, refusal) && comparesNoOtherScores(core, refusal)) {
    findLse(core);
    return core;
  }
  return std::nullopt;
}
