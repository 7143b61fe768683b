//===- MergeMaps.cpp - merge ops on single elements -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the last op to the first: what has been merged into an op makes it the only one to read
// what that read.
//
//===----------------------------------------------------------------------===//

#include "IndexOnlyTensors.h"
#include "SizeTerms.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNMERGEMAPS
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The most ops in a region that is made of several.
static constexpr size_t kMostOps = 256;

/// Whether `op` and its region are all that reads `producer`.
static bool isOnlyReader(Operation *op, Operation *producer) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    return user == op || (isa<tensor::ExtractOp>(user) && user->getParentOp() == op);
  });
}

/// Whether some maps read `producer`, and each may as well compute it from what it reads.
static bool mayCopy(Operation *producer) {
  constexpr unsigned mostReaders = 4;
  auto readsComputed = [](Operation *scalar) {
    bool reads = llvm::any_of(scalar->getOperands(), [](Value operand) {
      return isElementwiseOnTensors(operand.getDefiningOp());
    });
    return reads ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !producer->getResult(0).hasNUsesOrMore(mostReaders + 1) &&
         llvm::all_of(producer->getUsers(), llvm::IsaPred<MapOp>) &&
         isCheap(producer->getRegion(0).front()) && !producer->walk(readsComputed).wasInterrupted();
}

/// The `attn.map` or `tensor.generate` that gives `tensor`, if it may become part of `op`.
static Operation *getProducer(Operation *op, Value tensor) {
  Operation *producer = tensor.getDefiningOp();
  if (!isa_and_nonnull<MapOp, tensor::GenerateOp>(producer) || !isElementwiseOnTensors(producer) ||
      producer->getBlock() != op->getBlock())
    return nullptr;
  size_t count =
      llvm::range_size(op->getRegion(0).front()) + llvm::range_size(producer->getRegion(0).front());
  return count <= kMostOps ? producer : nullptr;
}

namespace {
/// Erases what a builder made for a question once that is answered.
struct Scratch : OpBuilder::Listener {
  ~Scratch() override {
    for (Operation *op : llvm::reverse(made))
      op->erase();
  }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    made.push_back(op);
  }
  SmallVector<Operation *> made;
};
} // namespace

/// Whether the operands of `op` are as large as its result, or broadcast, whatever the call. A map
/// checks that, and a read does not.
static bool areSizesKnown(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  if (!map)
    return true;
  Scratch scratch;
  OpBuilder builder(op, &scratch);
  auto isKnown = [&](Value input) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t front = cast<RankedTensorType>(map.getType()).getRank() - type.getRank();
    return llvm::all_of(llvm::seq(type.getRank()), [&](int64_t dim) {
      return !type.isDynamicDim(dim) || SizeTerms::of(builder, input, dim) ==
                                            SizeTerms::of(builder, map.getResult(), front + dim);
    });
  };
  return llvm::all_of(map.getInputs(), isKnown);
}

//===----------------------------------------------------------------------===//
// Maps into maps
//===----------------------------------------------------------------------===//

/// The operands of `map` with those of `producer` in its place.
static llvm::SetVector<Value> joinInputs(MapOp map, MapOp producer) {
  llvm::SetVector<Value> inputs;
  for (Value input : map.getInputs()) {
    if (input == producer.getResult())
      inputs.insert_range(producer.getInputs());
    else
      inputs.insert(input);
  }
  return inputs;
}

/// Moves the region of `producer` to the start of `block`, where `elements` are those of its
/// operands; returns what it yields.
static Value moveBody(RewriterBase &rewriter, MapOp producer, Block &block,
                      const IRMapping &elements) {
  auto arguments = llvm::map_to_vector(producer.getInputs(),
                                       [&](Value input) { return elements.lookup(input); });
  Block &body = producer.getBody().front();
  Operation *yield = body.getTerminator();
  rewriter.inlineBlockBefore(&body, &block, block.begin(), arguments);
  Value result = yield->getOperand(0);
  rewriter.eraseOp(yield);
  return result;
}

/// Makes the region of an operand part of that of `map`. Changed in place: a chain of thousands of
/// maps is merged one by one.
static void mergeMap(RewriterBase &rewriter, MapOp map, MapOp producer) {
  llvm::SetVector<Value> inputs = joinInputs(map, producer);
  Block &block = map.getBody().front();
  unsigned numBefore = block.getNumArguments();
  IRMapping elements;
  for (Value input : inputs)
    elements.map(input, block.addArgument(getElementTypeOrSelf(input), map.getLoc()));
  elements.map(producer.getResult(), moveBody(rewriter, producer, block, elements));
  for (auto [input, argument] : llvm::zip(map.getInputs(), block.getArguments()))
    rewriter.replaceAllUsesWith(argument, elements.lookup(input));
  block.eraseArguments(0, numBefore);
  rewriter.modifyOpInPlace(map, [&] { map.getInputsMutable().assign(inputs.getArrayRef()); });
  rewriter.eraseOp(producer);
}

//===----------------------------------------------------------------------===//
// Generated tensors into maps
//===----------------------------------------------------------------------===//

static bool inlineNothing(Operation *) { return false; }

/// Reads of what `producer` gives in the region of `op` become what it computes.
static void mergeReads(RewriterBase &rewriter, Operation *op, Operation *producer) {
  Elements elements(rewriter, op->getLoc(), inlineNothing);
  for (auto read :
       llvm::make_early_inc_range(op->getRegion(0).front().getOps<tensor::ExtractOp>())) {
    if (read.getTensor().getDefiningOp() != producer || read->hasAttr(kSameSizeAttr))
      continue;
    rewriter.setInsertionPoint(read);
    rewriter.replaceOp(read, elements.compute(producer, llvm::to_vector(read.getIndices())));
  }
  if (producer->use_empty())
    rewriter.eraseOp(producer);
}

static bool readsTensors(tensor::GenerateOp op) {
  return !op.getBody().front().getOps<tensor::ExtractOp>().empty();
}

/// The sizes of `map` that its type leaves open.
static SmallVector<Value> getOpenSizes(RewriterBase &rewriter, MapOp map) {
  ReifiedRankedShapedTypeDims shapes;
  (void)map.reifyResultShapes(rewriter, shapes);
  SmallVector<Value> sizes;
  for (OpFoldResult size : shapes.front()) {
    auto value = dyn_cast<Value>(size);
    auto dim = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
    if (dim)
      value = rewriter.createOrFold<tensor::DimOp>(map.getLoc(), dim.getSource(), dim.getIndex());
    if (value)
      sizes.push_back(value);
    if (dim && dim->use_empty())
      rewriter.eraseOp(dim);
  }
  return sizes;
}

/// `map` as a generated tensor, with `producer` as part of it.
static Operation *mergeGenerate(RewriterBase &rewriter, MapOp map, Operation *producer) {
  rewriter.setInsertionPoint(map);
  auto merged = tensor::GenerateOp::create(
      rewriter, map.getLoc(), map.getType(), getOpenSizes(rewriter, map),
      [&](OpBuilder &b, Location loc, ValueRange place) {
        Elements elements(b, loc, inlineNothing);
        tensor::YieldOp::create(b, loc, elements.compute(map, llvm::to_vector(place)));
      });
  rewriter.replaceOp(map, merged);
  mergeReads(rewriter, merged, producer);
  return merged;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether `producer`, or a copy of it, may become part of `map`.
static bool mayMerge(MapOp map, Operation *producer) {
  if (!isOnlyReader(map, producer) && !mayCopy(producer))
    return false;
  if (auto generate = dyn_cast<tensor::GenerateOp>(producer))
    return readsTensors(generate) && areSizesKnown(map);
  return llvm::none_of(producer->getUsers(), llvm::IsaPred<tensor::ExtractOp>);
}

/// `producer`, or a copy of it where other maps read it as well.
static Operation *takeProducer(RewriterBase &rewriter, MapOp map, Operation *producer) {
  if (isOnlyReader(map, producer))
    return producer;
  rewriter.setInsertionPoint(map);
  Operation *copy = rewriter.clone(*producer);
  rewriter.replaceUsesWithIf(producer->getResult(0), copy->getResult(0),
                             [&](OpOperand &use) { return use.getOwner() == map; });
  return copy;
}

/// Merges one operand into a map; null where there is none to merge.
static Operation *mergeOperand(RewriterBase &rewriter, MapOp map, IndexOnlyTensors &indexOnly) {
  for (Value input : map.getInputs()) {
    Operation *producer = getProducer(map, input);
    if (indexOnly.contains(producer))
      indexOnly.inlineReads(rewriter, producer);
    if (!producer || !mayMerge(map, producer))
      continue;
    producer = takeProducer(rewriter, map, producer);
    auto inner = dyn_cast<MapOp>(producer);
    if (!inner)
      return mergeGenerate(rewriter, map, producer);
    mergeMap(rewriter, map, inner);
    return map;
  }
  return nullptr;
}

/// The producer whose region may replace `read` in the region of `op`; null if there is none.
static Operation *getReadProducer(Operation *op, tensor::ExtractOp read) {
  Value tensor = read.getTensor();
  Operation *producer = getProducer(op, tensor);
  if (!producer || read->hasAttr(kSameSizeAttr) || !isCheap(producer->getRegion(0).front()))
    return nullptr;
  // Windows read an element several times.
  bool isInteger = isa<IntegerType>(getElementTypeOrSelf(tensor));
  bool fits = !isa<tensor::GenerateOp>(op) ||
              ((isa<tensor::GenerateOp>(producer) || isInteger) && isOnlyReader(op, producer));
  return fits && areSizesKnown(producer) ? producer : nullptr;
}

static bool mergeRead(RewriterBase &rewriter, Operation *op) {
  for (auto read : op->getRegion(0).front().getOps<tensor::ExtractOp>())
    if (Operation *producer = getReadProducer(op, read)) {
      mergeReads(rewriter, op, producer);
      return true;
    }
  return false;
}

/// Merges all that it can into `op`, and returns what stands in its place.
static Operation *merge(RewriterBase &rewriter, Operation *op, IndexOnlyTensors &indexOnly) {
  while (auto map = dyn_cast<MapOp>(op)) {
    Operation *merged = mergeOperand(rewriter, map, indexOnly);
    if (!merged)
      return op;
    op = merged;
  }
  if (isa<tensor::GenerateOp, ModifyScoreOp, MaskOp, ModifyProbOp>(op)) {
    do
      indexOnly.inlineReads(rewriter, op);
    while (mergeRead(rewriter, op));
  } else if (indexOnly.contains(op)) {
    return indexOnly.generate(rewriter, op);
  }
  return op;
}

static LogicalResult mergeBlock(Block &block) {
  IndexOnlyTensors indexOnly(block);
  IRRewriter rewriter(block.front().getContext(), &indexOnly);
  for (Operation *op = &block.back(); op;) {
    bool isDead = isOpTriviallyDead(op);
    Operation *merged = isDead ? op : merge(rewriter, op, indexOnly);
    op = merged->getPrevNode();
    if (isDead)
      rewriter.eraseOp(merged);
  }
  return indexOnly.verifyBudget(block.getParentOp());
}

namespace {
struct AttnMergeMapsPass : attn::impl::AttnMergeMapsBase<AttnMergeMapsPass> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      if (failed(mergeBlock(block)))
        return signalPassFailure();
  }
};
} // namespace
