//===- Stage.cpp - stages of an attention and what moves them -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs reshape a score to mask it, take its heads and batch as one for a product, widen it for
// the softmax, and so on. Between score and context it stays in its own shape and element type
// here.
//
//===----------------------------------------------------------------------===//

#include "Stage.h"
#include "../Bodies.h"
#include "../SizeTerms.h"

#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

void Stage::setShownElement(Type element) {
  shownElement = element == getElementTypeOrSelf(value) ? Type() : element;
}

/// Whether `next` moves every element of what `last` reads back to its place.
static bool undoes(Operation *next, Operation *last) {
  auto shapeOf = [](Value x) { return cast<ShapedType>(x.getType()).getShape(); };
  if (shapeOf(next->getResult(0)) != shapeOf(last->getOperand(0)))
    return false;
  if (auto transpose = dyn_cast<TransposeOp>(next)) {
    auto before = dyn_cast<TransposeOp>(last);
    return before &&
           before.getPermutation() == ArrayRef(invertPermutationVector(transpose.getPermutation()));
  }
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(next);
  auto expand = dyn_cast<tensor::ExpandShapeOp>(last);
  return collapse && expand && collapse.getReassociation() == expand.getReassociation();
}

void Stage::push(Operation *move) {
  if (!moves.empty() && undoes(move, moves.back()))
    moves.pop_back();
  else
    moves.push_back(move);
}

bool attn::mayWiden(Type narrow, Type wide) {
  return wide.isF32() && (narrow.isF16() || narrow.isBF16());
}

Value attn::inElements(OpBuilder &builder, Location loc, Value x, Type element) {
  Type from = getElementTypeOrSelf(x);
  if (from == element)
    return x;
  unsigned fromWidth = from.getIntOrFloatBitWidth(), width = element.getIntOrFloatBitWidth();
  if (fromWidth == width) // f16 and bf16
    return inElements(builder, loc, inElements(builder, loc, x, builder.getF32Type()), element);
  auto tensor = dyn_cast<RankedTensorType>(x.getType());
  Type type = tensor ? Type(tensor.clone(element)) : element;
  auto unrounded =
      arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::contract);
  if (fromWidth < width)
    return arith::ExtFOp::create(builder, loc, type, x, unrounded);
  return arith::TruncFOp::create(builder, loc, type, x, /*roundingmode=*/nullptr, unrounded);
}

SmallVector<Value> Stage::getIndices(Elements &elements, ArrayRef<Value> indices) const {
  SmallVector<Value> own(indices);
  for (Operation *move : moves)
    own = elements.getResult(move, own);
  return own;
}

Value Stage::show(RewriterBase &rewriter) const {
  Value shown = value;
  for (Operation *move : moves) {
    IRMapping mapping;
    mapping.map(move->getOperand(0), shown);
    shown = rewriter.clone(*move, mapping)->getResult(0);
    shown.setType(cast<ShapedType>(shown.getType()).clone(getElementTypeOrSelf(value)));
  }
  return shownElement ? inElements(rewriter, value.getLoc(), shown, shownElement) : shown;
}

/// The group that holds `dim`, and none other than sizes of 1 beside it.
static std::optional<int64_t> findGroup(ArrayRef<ReassociationIndices> groups, int64_t dim,
                                        ArrayRef<int64_t> shape) {
  for (auto [place, group] : llvm::enumerate(groups))
    if (llvm::is_contained(group, dim) &&
        llvm::all_of(group, [&](int64_t other) { return other == dim || shape[other] == 1; }))
      return place;
  return std::nullopt;
}

/// The dimension that group `place` is, sizes of 1 aside.
static std::optional<int64_t> findOnly(const ReassociationIndices &group, ArrayRef<int64_t> shape) {
  int64_t wide = llvm::count_if(group, [&](int64_t dim) { return shape[dim] != 1; });
  if (wide > 1)
    return std::nullopt;
  auto *only = llvm::find_if(group, [&](int64_t dim) { return shape[dim] != 1; });
  return only == group.end() ? group.back() : *only;
}

std::optional<int64_t> Stage::follow(int64_t dim) const {
  std::optional<int64_t> place = dim;
  for (Operation *move : moves) {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(move))
      place = findOnly(expand.getReassociationIndices()[*place], expand.getResultType().getShape());
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(move))
      place =
          findGroup(collapse.getReassociationIndices(), *place, collapse.getSrcType().getShape());
    else
      place = llvm::find(cast<TransposeOp>(move).getPermutation(), *place) -
              cast<TransposeOp>(move).getPermutation().begin();
    if (!place)
      return std::nullopt;
  }
  return place;
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Whether both are tensors of floats and of the same static sizes.
static bool haveSameShape(Value a, Value b) {
  auto isOfFloats = [](Value x) { return isa<FloatType>(getElementTypeOrSelf(x)); };
  auto left = dyn_cast<RankedTensorType>(a.getType()),
       right = dyn_cast<RankedTensorType>(b.getType());
  return left && right && left.getShape() == right.getShape() && isOfFloats(a) && isOfFloats(b);
}

/// Whether a generated tensor has the sizes of one that its region reads at its own place.
static bool readsElement(tensor::ExtractOp read, tensor::GenerateOp op) {
  if (!haveSameShape(read.getTensor(), op.getResult()) ||
      !llvm::equal(read.getIndices(), op.getBody().getArguments()))
    return false;
  OpBuilder builder(op);
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim)
    if (!(SizeTerms::of(builder, read.getTensor(), dim) ==
          SizeTerms::of(builder, op.getResult(), dim)))
      return false;
  return true;
}

/// The reads of the tensors that an op moves or changes element by element.
static SmallVector<OpOperand *> getReads(Operation *op) {
  SmallVector<OpOperand *> reads;
  if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    for (auto read : generate.getBody().getOps<tensor::ExtractOp>())
      reads.push_back(&read.getTensorMutable());
  } else {
    for (OpOperand &operand : op->getOpOperands())
      if (isMove(op) || haveSameShape(operand.get(), op->getResult(0)))
        reads.push_back(&operand);
  }
  return reads;
}

/// Whether the operand has the element type of the result.
static bool keepsElement(OpOperand *read, Operation *op) {
  return getElementTypeOrSelf(read->get()) == getElementTypeOrSelf(op->getResult(0));
}

Chains::Chains(Block &block, function_ref<bool(Operation *)> isRoot) {
  llvm::DenseSet<Value> reached;
  for (Operation &op : block) {
    if (isRoot(&op)) {
      reached.insert(op.getResult(0));
      continue;
    }
    if (!isMove(&op) && !isElementwiseOnTensors(&op))
      continue;
    auto generate = dyn_cast<tensor::GenerateOp>(op);
    for (OpOperand *read : getReads(&op)) {
      if (!reached.contains(read->get()) ||
          (generate && !readsElement(cast<tensor::ExtractOp>(read->getOwner()), generate)))
        continue;
      reached.insert(op.getResult(0));
      OpOperand *&taken = reads[&op];
      if (!taken || (keepsElement(read, &op) && !keepsElement(taken, &op)))
        taken = read;
    }
  }
}

OpOperand *Chains::getBefore(Operation *op) const {
  return isMove(op) ? &op->getOpOperand(0) : reads.lookup(op);
}

std::optional<StagePath> attn::findPath(Value value, function_ref<bool(Operation *)> isRoot,
                                        const Chains &chains) {
  StagePath path{value.getDefiningOp(), {}};
  while (path.root && !isRoot(path.root)) {
    OpOperand *before = chains.getBefore(path.root);
    if (!before)
      return std::nullopt;
    path.steps.push_back(path.root);
    path.root = before->get().getDefiningOp();
  }
  if (!path.root)
    return std::nullopt;
  std::reverse(path.steps.begin(), path.steps.end());
  return path;
}

/// What an op of the graph computes, in the stage's element type.
static Value takeElement(OpBuilder &builder, Location loc, Value computed, Type element) {
  auto rounding = computed.getDefiningOp<arith::TruncFOp>();
  bool isOwn = rounding && rounding.getIn().getType() == element;
  return isOwn ? rounding.getIn() : inElements(builder, loc, computed, element);
}

/// Lets what widens `shown`, an element of the stage in a narrower type, read that element.
static void dropRounding(RewriterBase &rewriter, Value shown, Value own) {
  if (shown == own)
    return;
  for (Operation *user : llvm::make_early_inc_range(shown.getUsers()))
    if (isa<arith::ExtFOp>(user) && user->getResult(0).getType() == own.getType())
      rewriter.replaceOp(user, own);
}

template <typename OpTy>
bool attn::joinStage(RewriterBase &rewriter, Stage &stage, Operation *op, OpOperand *shown) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op->getLoc();
  auto modified = OpTy::create(rewriter, loc, stage.value.getType(), stage.value);
  Type element = getElementTypeOrSelf(stage.value);
  Block *block = createBody(rewriter, modified.getBody(), element, loc);
  Elements elements(rewriter, loc);
  SmallVector<Value> place(block->getArguments().drop_front());
  SmallVector<Value> indices = stage.getIndices(elements, place);
  Value own = block->getArgument(0),
        read = inElements(rewriter, loc, own, getElementTypeOrSelf(shown->get()));
  // Whatever reads the stage at this place, however deep, reads the element.
  elements.remember(stage.value, place, own);
  elements.remember(shown->get(), indices, read);
  elements.setStage(stage.value, place);
  Value computed = elements.compute(op, indices);
  YieldOp::create(rewriter, loc, takeElement(rewriter, loc, computed, element));
  dropRounding(rewriter, read, own);
  if (getLongestChain(modified.getBody()) > kLongestChain) {
    rewriter.eraseOp(modified);
    return false;
  }
  rewriter.setInsertionPointAfter(modified);
  stage.value = modified.getResult();
  stage.setShownElement(getElementTypeOrSelf(op->getResult(0)));
  rewriter.replaceAllUsesWith(op->getResult(0), stage.show(rewriter));
  return true;
}

template bool attn::joinStage<ModifyScoreOp>(RewriterBase &, Stage &, Operation *, OpOperand *);
template bool attn::joinStage<ModifyProbOp>(RewriterBase &, Stage &, Operation *, OpOperand *);
