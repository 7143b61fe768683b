//===- Bodies.cpp - rewriting the regions of attention ops
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mask analysis reads the `mask` region only. Specs hide keys in many ways, mostly by adding or
// selecting -inf; this file finds the condition and moves it to the mask.
//
//===----------------------------------------------------------------------===//

#include "Bodies.h"

#include "Shapes.h"

#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

Block *attn::createBody(OpBuilder &builder, Region &body, Type element, Location loc) {
  SmallVector<Type> types(4, builder.getIndexType());
  if (element)
    types.insert(types.begin(), element);
  return builder.createBlock(&body, body.end(), types, SmallVector<Location>(types.size(), loc));
}

Value attn::yieldedValue(Region &body) {
  return cast<YieldOp>(body.front().getTerminator()).getValue();
}

Value attn::cloneBody(OpBuilder &builder, Region &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.front().without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(yieldedValue(body));
}

//===----------------------------------------------------------------------===//
// Conditions to the mask
//===----------------------------------------------------------------------===//

/// Collects the ops of `block` that `value` depends on, in topological order. Fails if it depends
/// on the score, the first argument.
static bool collectSlice(Value value, Block &block, SetVector<Operation *> &slice) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() != &block || argument.getArgNumber() != 0;
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != &block || slice.contains(op))
    return true;
  if (op->getNumRegions() != 0)
    return false;
  for (Value operand : op->getOperands())
    if (!collectSlice(operand, block, slice))
      return false;
  slice.insert(op);
  return true;
}

/// The negation of a condition; a comparison stays a comparison, as bounds are read from
/// comparisons.
static Value invert(OpBuilder &builder, Value condition) {
  Location loc = condition.getLoc();
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>())
    return arith::CmpIOp::create(builder, loc, arith::invertPredicate(compare.getPredicate()),
                                 compare.getLhs(), compare.getRhs());
  Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, loc, condition, yes);
}

/// Adds a mask that hides nothing, if there is none, and returns the end of its body.
static YieldOp getOrCreateMask(RewriterBase &rewriter, AttentionOp op) {
  if (!op.getMask().empty())
    return cast<YieldOp>(op.getMask().front().getTerminator());
  createBody(rewriter, op.getMask(), /*element=*/Type(), op.getLoc());
  Value yes = arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getBoolAttr(true));
  return YieldOp::create(rewriter, op.getLoc(), yes);
}

/// Adds `condition`, which `slice` computes in the score_mod, to the mask's conjunction.
static void addToMask(RewriterBase &rewriter, AttentionOp op, Value condition, bool negated,
                      const SetVector<Operation *> &slice) {
  OpBuilder::InsertionGuard guard(rewriter);
  YieldOp yield = getOrCreateMask(rewriter, op);
  rewriter.setInsertionPoint(yield);
  IRMapping mapping;
  mapping.map(op.getScoreMod().getArguments().drop_front(), op.getMask().getArguments());
  for (Operation *part : slice)
    rewriter.clone(*part, mapping);
  Value required = mapping.lookupOrDefault(condition);
  if (negated)
    required = invert(rewriter, required);
  Value before = yield.getValue();
  if (!matchPattern(before, m_One()))
    required = arith::AndIOp::create(rewriter, yield.getLoc(), before, required);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, required); });
}

static void replaceUse(RewriterBase &rewriter, OpOperand &use, Value value) {
  rewriter.modifyOpInPlace(use.getOwner(), [&] { use.set(value); });
}

/// A finite positive constant: a factor that keeps -inf.
static bool isPositive(Value value) {
  APFloat constant(0.0);
  return matchPattern(value, m_ConstantFloat(&constant)) && constant.isFinite() &&
         !constant.isZero() && !constant.isNegative();
}

/// The operands of `op` whose -inf makes the result -inf. If the other operand is NaN or inf, the
/// sum would differ; but a masked key stays hidden, whatever is added to its score afterwards.
static SmallVector<OpOperand *> operandsThatHide(Operation *op) {
  OpOperand *first = op->getNumOperands() > 0 ? &op->getOpOperand(0) : nullptr;
  if (isa<arith::AddFOp>(op))
    return {first, &op->getOpOperand(1)};
  if (isa<arith::SubFOp, arith::ExtFOp, arith::TruncFOp>(op))
    return {first};
  if (isa<arith::DivFOp>(op) && isPositive(op->getOperand(1)))
    return {first};
  if (isa<arith::MulFOp>(op) && isPositive(op->getOperand(1)))
    return {first};
  if (isa<arith::MulFOp>(op) && isPositive(op->getOperand(0)))
    return {&op->getOpOperand(1)};
  return {};
}

bool attn::keepsHidden(Region &body) {
  SmallVector<Value> values = {yieldedValue(body)};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (value == body.getArgument(0))
      return true;
    Operation *op = value.getDefiningOp();
    if (op && value.hasOneUse())
      for (OpOperand *operand : operandsThatHide(op))
        values.push_back(operand->get());
  }
  return false;
}

/// Whether the mask stays within the region limit with ops of the score_mod added. A select adds
/// five ops at most.
static bool fitsMask(AttentionOp op) {
  constexpr int64_t kAdded = 5;
  return getLongestChain(op.getMask()) + getLongestChain(op.getScoreMod()) + kAdded <=
         kLongestChain;
}

/// Moves the condition of a select with -inf at `use` to the mask.
static bool hoistSelect(RewriterBase &rewriter, AttentionOp op, OpOperand &use,
                        arith::SelectOp select) {
  bool hidesElse = matchPattern(select.getFalseValue(), m_NegInfFloat());
  bool hidesThen = matchPattern(select.getTrueValue(), m_NegInfFloat());
  SetVector<Operation *> slice;
  if (!(hidesElse || hidesThen) || !select.getCondition().getType().isInteger(1) || !fitsMask(op) ||
      !collectSlice(select.getCondition(), op.getScoreMod().front(), slice))
    return false;
  addToMask(rewriter, op, select.getCondition(), /*negated=*/!hidesElse, slice);
  replaceUse(rewriter, use, hidesElse ? select.getTrueValue() : select.getFalseValue());
  rewriter.eraseOp(select);
  return true;
}

/// Replaces x + 0, the rest of a -inf bias, by x.
static void dropZeroBias(RewriterBase &rewriter, OpOperand &use) {
  auto add = use.get().getDefiningOp<arith::AddFOp>();
  if (!add)
    return;
  bool first = matchPattern(add.getLhs(), m_AnyZeroFloat());
  if (!first && !matchPattern(add.getRhs(), m_AnyZeroFloat()))
    return;
  replaceUse(rewriter, use, first ? add.getRhs() : add.getLhs());
  rewriter.eraseOp(add);
}

/// Finds a select with -inf that `use` depends on, whose value goes to the softmax.
static bool hoistMask(RewriterBase &rewriter, AttentionOp op, OpOperand &use) {
  Operation *value = use.get().getDefiningOp();
  // With a second use the value would still be needed unchanged.
  if (!value || value->getBlock() != &op.getScoreMod().front() || !use.get().hasOneUse())
    return false;
  if (auto select = dyn_cast<arith::SelectOp>(value))
    return hoistSelect(rewriter, op, use, select);
  for (OpOperand *operand : operandsThatHide(value))
    if (hoistMask(rewriter, op, *operand)) {
      dropZeroBias(rewriter, use);
      return true;
    }
  return false;
}

static bool hoistMasks(RewriterBase &rewriter, AttentionOp op) {
  if (op.getScoreMod().empty())
    return false;
  bool changed = false;
  Operation *yield = op.getScoreMod().front().getTerminator();
  while (hoistMask(rewriter, op, yield->getOpOperand(0)))
    changed = true;
  return changed;
}

//===----------------------------------------------------------------------===//
// Constant factors
//===----------------------------------------------------------------------===//

/// The constant value of a scalar or splat tensor.
static std::optional<double> constantOf(Value value) {
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    value = splat.getInput();
  APFloat constant(0.0);
  if (!matchPattern(value, m_ConstantFloat(&constant)))
    return std::nullopt;
  bool lossy;
  constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return constant.convertToDouble();
}

std::optional<double> attn::scaledBy(const APFloat &scale, Operation *multiply, Value value) {
  if (!isa<arith::MulFOp, arith::DivFOp>(multiply))
    return std::nullopt;
  bool divides = isa<arith::DivFOp>(multiply), isFirst = multiply->getOperand(0) == value;
  std::optional<double> factor = constantOf(multiply->getOperand(isFirst ? 1 : 0));
  if (!factor || (divides && !isFirst))
    return std::nullopt;
  double before = scale.convertToDouble();
  double product = divides ? before / *factor : before * *factor;
  return std::isnormal(roundScale(product, value)) ? std::optional(product) : std::nullopt;
}

/// Folds the first op of the score_mod into the scale, if it is the only reader of the score.
static bool foldScale(RewriterBase &rewriter, AttentionOp op) {
  if (op.getScoreMod().empty() || !op.getScoreMod().getArgument(0).hasOneUse())
    return false;
  Value score = op.getScoreMod().getArgument(0);
  Operation *user = *score.user_begin();
  std::optional<double> scale = scaledBy(op.getScale(), user, score);
  if (!scale)
    return false;
  rewriter.modifyOpInPlace(op, [&] { op.setScaleAttr(rewriter.getF64FloatAttr(*scale)); });
  rewriter.replaceOp(user, score);
  return true;
}

//===----------------------------------------------------------------------===//
// Dead code
//===----------------------------------------------------------------------===//

bool attn::eraseDead(RewriterBase &rewriter, Region &body) {
  bool changed = false;
  for (Block &block : body)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op)) {
        rewriter.eraseOp(&op);
        changed = true;
      }
  return changed;
}

static bool dropBody(RewriterBase &rewriter, AttentionOp op, Region &body, bool isIdle) {
  if (!isIdle)
    return eraseDead(rewriter, body);
  rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&body.front()); });
  return true;
}

static bool dropIdle(RewriterBase &rewriter, AttentionOp op) {
  bool changed = false;
  for (Region *body : {&op.getScoreMod(), &op.getProbMod()})
    if (!body->empty())
      changed |= dropBody(rewriter, op, *body, yieldedValue(*body) == body->getArgument(0));
  if (!op.getMask().empty())
    changed |=
        dropBody(rewriter, op, op.getMask(), matchPattern(yieldedValue(op.getMask()), m_One()));
  return changed;
}

bool attn::simplifyAttention(RewriterBase &rewriter, AttentionOp op) {
  // Masks first: a select before a multiplication would keep it from being folded into the scale.
  bool changed = hoistMasks(rewriter, op);
  changed |= dropIdle(rewriter, op);
  while (foldScale(rewriter, op))
    changed = true;
  changed |= dropIdle(rewriter, op);
  return changed;
}

/// The place of `key` among the indices, if all of them are coordinates, each once, so that the
/// tensor is read whole, and the last one is another; none otherwise.
static std::optional<int64_t> findKeyBeforeLast(tensor::ExtractOp read, BlockArgument key) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(read.getTensor().getType()).getShape();
  std::optional<int64_t> place;
  SmallPtrSet<Value, 4> seen;
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    auto coordinate = dyn_cast<BlockArgument>(index);
    bool isCoordinate = coordinate && coordinate.getOwner() == key.getOwner();
    if (shape[dim] != 1 && !(isCoordinate && seen.insert(index).second))
      return std::nullopt;
    if (index == key)
      place = dim;
  }
  bool isBefore = place && *place + 1 < int64_t(shape.size()) && shape.back() != 1;
  return isBefore ? place : std::nullopt;
}

/// `read` from a tensor whose dimension `dim` has become the last.
static void readTransposed(RewriterBase &rewriter, AttentionOp op, tensor::ExtractOp read,
                           int64_t dim) {
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  auto order = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  std::rotate(order.begin() + dim, order.begin() + dim + 1, order.end());
  auto pick = [&](auto all) {
    return llvm::map_to_vector(order, [&](int64_t at) { return all[at]; });
  };
  rewriter.setInsertionPoint(op);
  Value turned = TransposeOp::create(rewriter, op.getLoc(), type.clone(pick(type.getShape())),
                                     read.getTensor(), order);
  rewriter.setInsertionPoint(read);
  auto moved = tensor::ExtractOp::create(rewriter, read.getLoc(), turned, pick(read.getIndices()));
  moved->setDiscardableAttrs(read->getDiscardableAttrDictionary());
  rewriter.replaceOp(read, moved);
}

bool attn::moveKeysLast(RewriterBase &rewriter, AttentionOp op) {
  if (op.getQuery().getType().getDimSize(2) == 1)
    return false;
  SmallVector<std::pair<tensor::ExtractOp, int64_t>> reads;
  for (Region *body : {&op.getScoreMod(), &op.getMask(), &op.getProbMod()})
    body->walk([&](tensor::ExtractOp read) {
      if (auto dim = findKeyBeforeLast(read, body->getArguments().back()))
        reads.push_back({read, *dim});
    });
  for (auto [read, dim] : reads)
    readTransposed(rewriter, op, read, dim);
  return !reads.empty();
}
