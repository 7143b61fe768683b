//===- FuseAttention.cpp - fuse attention cores
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matcher (AttentionCore.cpp) finds the cores; this file rewrites them. All steps between score
// and softmax are first composed, in order, into one score_mod, with masks as selects;
// `simplifyAttention` then extracts scale and mask. So a mask that is not the last step keeps its
// meaning without a special case.
//
//===----------------------------------------------------------------------===//

#include "AttentionCore.h"
#include "Bodies.h"
#include "ComposeSteps.h"
#include "FusePackedRows.h"
#include "JoinScores.h"
#include "Shapes.h"
#include "StoredTensors.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Dropout.h"
#include "attnc/Dialect/Attn/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNFUSEATTENTION
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Contexts of one prob
//===----------------------------------------------------------------------===//

/// Whether the values can be concatenated along their last dimension. Empty values can't: their
/// slices would begin out of bounds.
static bool joins(ContextOp a, ContextOp b) {
  auto type = cast<RankedTensorType>(a.getValue().getType()),
       other = cast<RankedTensorType>(b.getValue().getType());
  return a->getBlock() == b->getBlock() && !llvm::is_contained(a.getType().getShape(), 0) &&
         !type.isDynamicDim(1) && !type.isDynamicDim(3) && !other.isDynamicDim(3) &&
         type.getElementType() == other.getElementType() &&
         type.getShape().drop_back() == other.getShape().drop_back();
}

/// The contexts of a prob that can become slices of one, in order. None is read before the last of
/// them.
static SmallVector<ContextOp> findJoined(Value prob) {
  SmallVector<ContextOp> contexts;
  for (OpOperand &use : prob.getUses()) {
    auto context = dyn_cast<ContextOp>(use.getOwner());
    if (context && use.getOperandNumber() == 0 && (contexts.empty() || joins(contexts[0], context)))
      contexts.push_back(context);
  }
  llvm::sort(contexts, [](ContextOp a, ContextOp b) { return a->isBeforeInBlock(b); });
  auto isEarly = [&](Operation *user) {
    Operation *around = contexts.back()->getBlock()->findAncestorOpInBlock(*user);
    return !around || !contexts.back()->isBeforeInBlock(around);
  };
  if (llvm::any_of(contexts, [&](ContextOp op) { return llvm::any_of(op->getUsers(), isEarly); }))
    return {};
  return contexts;
}

/// Replaces contexts of one prob by slices of a context of the concatenated values: differential
/// attention has two values per prob, and two attentions would compute the score twice.
static void joinContexts(RewriterBase &rewriter, Value prob) {
  SmallVector<ContextOp> contexts = findJoined(prob);
  if (contexts.size() < 2)
    return;
  rewriter.setInsertionPoint(contexts.back());
  Location loc = contexts.back().getLoc();
  SmallVector<Value> values =
      llvm::map_to_vector(contexts, [](ContextOp op) -> Value { return op.getValue(); });
  Value value = tensor::ConcatOp::create(rewriter, loc, /*dim=*/3, values);
  auto type = cast<RankedTensorType>(contexts.back().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = cast<RankedTensorType>(value.getType()).getDimSize(3);
  Value whole = ContextOp::create(rewriter, loc, type.clone(shape), prob, value);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, whole),
                            offsets(4, rewriter.getIndexAttr(0)),
                            steps(4, rewriter.getIndexAttr(1));
  int64_t offset = 0;
  for (ContextOp context : contexts) {
    auto part = cast<RankedTensorType>(context.getType());
    offsets.back() = rewriter.getIndexAttr(offset);
    sizes.back() = rewriter.getIndexAttr(part.getDimSize(3));
    offset += part.getDimSize(3);
    rewriter.replaceOp(
        context, tensor::ExtractSliceOp::create(rewriter, loc, part, whole, offsets, sizes, steps));
  }
}

//===----------------------------------------------------------------------===//
// Rewriting a core
//===----------------------------------------------------------------------===//

/// Erases dead ops, in reverse order.
static void eraseUnread(RewriterBase &rewriter, ArrayRef<Value> intermediates) {
  for (Value intermediate : llvm::reverse(intermediates))
    if (intermediate.use_empty())
      rewriter.eraseOp(intermediate.getDefiningOp());
}

/// Recomputes prob and score for other readers from the fused op's regions: otherwise results of
/// one call might disagree on a key that one bias hides and another one makes NaN.
static void recomputeStages(RewriterBase &rewriter, AttentionCore &core, AttentionOp fused) {
  Value last = core.softmax.getScore();
  bool isRead = llvm::any_of(last.getUses(), [&](OpOperand &use) {
    return use.getOwner() != core.softmax.getOperation() && !asksForSize(use);
  });
  if (core.softmax.getProb().use_empty() && !isRead)
    return;
  rewriter.setInsertionPointAfterValue(last);
  Location loc = core.softmax.getLoc();
  Type type = last.getType();
  Value score =
      ScoreOp::create(rewriter, loc, type, fused.getQuery(), fused.getKey(), fused.getScaleAttr());
  auto addStep = [&](auto create, Region &body) {
    if (body.empty())
      return;
    auto step = create();
    IRMapping mapping;
    body.cloneInto(&step.getBody(), mapping);
    score = step.getResult();
  };
  addStep([&] { return ModifyScoreOp::create(rewriter, loc, type, score); }, fused.getScoreMod());
  addStep([&] { return MaskOp::create(rewriter, loc, type, score); }, fused.getMask());
  rewriter.setInsertionPoint(core.softmax);
  auto softmax = cast<SoftmaxOp>(rewriter.clone(*core.softmax));
  softmax.getScoreMutable().assign(score);
  rewriter.replaceAllUsesWith(core.softmax.getProb(), softmax.getProb());
  rewriter.replaceAllUsesExcept(last, score, core.softmax);
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// The pool with heads before keys, as attn.attention takes it.
static Value getHeadsFirst(RewriterBase &rewriter, GatherPagesOp gather) {
  auto type = gather.getPool().getType();
  if (gather.isHeadsFirst())
    return gather.getPool();
  ArrayRef<int64_t> shape = type.getShape();
  auto transposed = type.clone({shape[0], shape[2], shape[1], shape[3]});
  return TransposeOp::create(rewriter, gather.getLoc(), transposed, gather.getPool(),
                             rewriter.getDenseI64ArrayAttr({0, 2, 1, 3}));
}

/// Whether one table gathers both, and a page of both may hold the same number of keys.
static bool mayShareTable(GatherPagesOp a, GatherPagesOp b) {
  int64_t ofA = a.getPool().getType().getDimSize(a.getKeyDim()),
          ofB = b.getPool().getType().getDimSize(b.getKeyDim());
  return a.getTable() == b.getTable() && a.getOffsets() == b.getOffsets() &&
         a.getLengths() == b.getLengths() &&
         (ofA == ofB || ShapedType::isDynamic(ofA) || ShapedType::isDynamic(ofB));
}

/// What gathers rows, or the rows of which `rows` are a slice.
static GatherPagesOp getGather(Value rows) {
  auto slice = getSliceOfRows(rows);
  return (slice ? slice.getSource() : rows).getDefiningOp<GatherPagesOp>();
}

/// Lets `op` read key, value and their scales in their pages, if one table gathers all of them.
static void takePages(RewriterBase &rewriter, AttentionOp op) {
  GatherPagesOp key = getGather(op.getKey());
  SmallVector<Value, 4> stored = op.getStored();
  if (!key || !llvm::all_of(stored, [&](Value rows) {
        GatherPagesOp gather = getGather(rows);
        return gather && mayShareTable(key, gather);
      }))
    return;
  op.getPagesMutable().assign(key.getTable());
  if (key.getOffsets())
    op.getPageOffsetsMutable().assign(key.getOffsets());
  if (key.getLengths())
    op.getLengthsMutable().assign(key.getLengths());
  llvm::SetVector<GatherPagesOp> gathers;
  IRMapping pools;
  for (OpOperand *operand : op.getStoredOperands()) {
    GatherPagesOp gather = getGather(operand->get());
    gathers.insert(gather);
    rewriter.setInsertionPoint(gather);
    if (!pools.contains(gather.getResult()))
      pools.map(gather.getResult(), getHeadsFirst(rewriter, gather));
    Value pool = pools.lookup(gather.getResult());
    tensor::ExtractSliceOp slice = getSliceOfRows(operand->get());
    operand->set(slice ? sliceRows(rewriter, slice, pool) : pool);
  }
  for (GatherPagesOp gather : gathers)
    replaceSizes(rewriter, gather, gather.getResultSizes(0));
  // Slices last: with them goes what they alone read.
  llvm::SetVector<Value> read(stored.begin(), stored.end());
  SmallVector<Value> dead = read.takeVector();
  llvm::stable_sort(dead, [](Value a, Value b) {
    return a.getDefiningOp<GatherPagesOp>() && !b.getDefiningOp<GatherPagesOp>();
  });
  for (Value rows : dead)
    eraseDead(rewriter, rows);
}

/// Replaces the core by one op.
static AttentionOp fuse(RewriterBase &rewriter, AttentionCore &core) {
  for (Value intermediate : core.intermediates())
    replaceSizes(rewriter, intermediate, core.score.getResultSizes(0));
  rewriter.setInsertionPoint(core.context);
  Location loc = core.context.getLoc();
  auto fused =
      AttentionOp::create(rewriter, loc, core.context.getType(),
                          core.lse ? core.lse.getResult().getType() : Type(), core.score.getQuery(),
                          core.score.getKey(), core.context.getValue(), core.score.getScaleAttr());
  if (Value sink = core.softmax.getSink())
    fused.getSinkMutable().assign(sink);
  Type element = getElementTypeOrSelf(core.context.getType());
  SmallVector<Operation *> probSteps(core.probSteps.begin(), core.probSteps.end());
  composeSteps(rewriter, fused.getScoreMod(), core.scoreSteps, element, loc);
  composeSteps(rewriter, fused.getProbMod(), probSteps, element, loc);
  rewriter.replaceAllUsesWith(core.context.getResult(), fused.getResult());
  rewriter.eraseOp(core.context);
  if (core.lse) {
    for (Operation *reader : llvm::reverse(core.lseReaders))
      rewriter.moveOpAfter(reader, fused);
    rewriter.replaceOp(core.lse, fused.getLse());
  }
  simplifyAttention(rewriter, fused);
  eraseUnread(rewriter, llvm::map_to_vector(core.probSteps, [](ModifyProbOp step) -> Value {
                return step.getResult();
              }));
  core.probSteps.clear();
  if (!fused.getMask().empty() && llvm::any_of(core.scoreSteps, llvm::IsaPred<ModifyScoreOp>))
    recomputeStages(rewriter, core, fused);
  eraseUnread(rewriter, core.intermediates());
  takeStored(rewriter, fused);
  takePages(rewriter, fused);
  return fused;
}

//===----------------------------------------------------------------------===//
// Remarks and the pass
//===----------------------------------------------------------------------===//

static void remarkFused(Location softmax, AttentionOp op, bool isOfTwoScores) {
  SmallString<16> scale;
  llvm::raw_svector_ostream(scale) << llvm::format("%.6g", op.getScale().convertToDouble());
  InFlightDiagnostic remark = emitRemark(softmax, "fused into attn.attention: scale ");
  remark << scale;
  if (isOfTwoScores)
    remark << ", two scores as one of concatenated dims";
  if (!op.getMask().empty())
    remark << ", mask";
  if (!op.getScoreMod().empty())
    remark << ", score modification";
  if (op.getSink())
    remark << ", sink";
  if (op.getPages())
    remark << ", pages";
  if (areValuesInKeys(op))
    remark << ", values in the keys";
  if (op.isWidened())
    remark << ", narrower keys or values";
  if (op.getOffsets())
    remark << ", packed queries";
  if (op.getKvOffsets())
    remark << ", packed keys";
  if (!op.getProbMod().empty())
    remark << ", prob modification";
  if (op.getLse())
    remark << ", lse";
}

static void remarkRefused(Operation *op, const Refusal &refusal) {
  InFlightDiagnostic remark = op->emitRemark("not fused: ") << refusal.reason;
  if (refusal.op)
    remark.attachNote(refusal.op->getLoc()) << refusal.role << ' ' << refusal.op->getName();
}

/// Of a context whose prob comes from no softmax, which has no remark of its own.
static void remarkWithoutSoftmax(ContextOp context) {
  Operation *op = context.getProb().getDefiningOp();
  while (isa_and_nonnull<ModifyProbOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (isa_and_nonnull<SoftmaxOp>(op))
    return;
  remarkRefused(context, {"its prob does not come from attn.softmax", op, "comes from"});
}

namespace {

struct AttnFuseAttentionPass : attn::impl::AttnFuseAttentionBase<AttnFuseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    mayRepeat = false;
    getOperation().walk([&](DropoutOp op) {
      rewriter.setInsertionPoint(op);
      expandDropout(op, rewriter);
    });
    getOperation().walk(orderScores);
    SmallVector<Value> probs;
    getOperation().walk([&](Operation *op) {
      if (isa<SoftmaxOp, ModifyProbOp>(op))
        probs.push_back(op->getResult(0));
    });
    for (Value prob : probs)
      joinContexts(rewriter, prob);
    SmallVector<SoftmaxOp> softmaxes;
    getOperation().walk([&](SoftmaxOp op) { softmaxes.push_back(op); });
    for (SoftmaxOp softmax : softmaxes)
      visit(rewriter, softmax);
    if (remarks)
      getOperation().walk(remarkWithoutSoftmax);
    getOperation().walk([&](AppendPagesOp op) { mayRepeat |= takePackedRows(rewriter, op); });
    if (!mayRepeat)
      return;
    // Queries and keys have the same positions, quantised rows and their scales one op, layers one
    // bias.
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

  void visit(IRRewriter &rewriter, SoftmaxOp softmax) {
    Location loc = softmax.getLoc();
    Refusal refusal;
    if (std::optional<AttentionCore> core = matchAttentionCore(softmax, refusal)) {
      bool isOfTwoScores = joinScores(rewriter, *core);
      AttentionOp fused = fuse(rewriter, *core);
      mayRepeat |= moveKeysLast(rewriter, fused);
      mayRepeat |= takePackedRows(rewriter, fused);
      ++numFused;
      if (remarks)
        remarkFused(loc, fused, isOfTwoScores);
    } else if (remarks) {
      remarkRefused(softmax, refusal);
    }
  }

  /// Whether ops on packed rows stand in the place of ops on unpacked ones, or tensors are
  /// transposed.
  bool mayRepeat;
};

} // namespace
