//===- FusePackedRows.cpp - attention and appends on packed rows ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusePackedRows.h"

#include "Bodies.h"
#include "PackedRows.h"
#include "RowSteps.h"
#include "Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

/// Erases what nothing reads any more, but for sizes.
static void eraseUnread(RewriterBase &rewriter, MutableArrayRef<RowSteps> all) {
  llvm::SetVector<Operation *> ops;
  for (RowSteps &steps : all) {
    steps.replaceSizes(rewriter);
    ops.insert_range(steps.getOps());
  }
  SmallVector<Operation *> fromLast = ops.takeVector();
  llvm::sort(fromLast, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : fromLast)
    if (op->use_empty())
      rewriter.eraseOp(op);
}

/// Whether the condition hides keys unless %k < offsets[batch + 1] - offsets[batch].
static bool hidesOtherRows(Value value, AttentionOp op, Value offsets) {
  if (auto both = value.getDefiningOp<arith::AndIOp>())
    return hidesOtherRows(both.getLhs(), op, offsets) || hidesOtherRows(both.getRhs(), op, offsets);
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  Block &mask = op.getMask().front();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
      compare.getLhs() != mask.getArgument(3))
    return false;
  auto isOffset = [&](Value number, auto isPlace) {
    auto cast = number.getDefiningOp<arith::IndexCastOp>();
    auto read = cast ? cast.getIn().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
    return read && read.getTensor() == offsets && isPlace(read.getIndices()[0]);
  };
  Value batch = mask.getArgument(0);
  auto length = compare.getRhs().getDefiningOp<arith::SubIOp>();
  auto isNext = [&](Value place) {
    auto next = place.getDefiningOp<arith::AddIOp>();
    return next && next.getLhs() == batch && isOneInteger(next.getRhs());
  };
  return length && isOffset(length.getLhs(), isNext) &&
         isOffset(length.getRhs(), [&](Value place) { return place == batch; });
}

/// Lets `op` read key and value in packed rows, if both are unpacked by the same offsets. Scales
/// are not packed.
static bool takePackedKeys(RewriterBase &rewriter, AttentionOp op) {
  std::optional<RowSteps> key = RowSteps::find(op.getKey()), value = RowSteps::find(op.getValue());
  bool hasScales = op.getKeyScales() || op.getValueScales();
  if (!key || !value || hasScales || key->getOffsets() != value->getOffsets())
    return false;
  bool isHidden =
      !op.getMask().empty() && hidesOtherRows(yieldedValue(op.getMask()), op, key->getOffsets());
  if ((key->dependOnPosition() || value->dependOnPosition()) && !isHidden)
    return false;
  rewriter.setInsertionPoint(op);
  auto pack = [&](RowSteps &steps) {
    return toHeadsFirst(rewriter, op.getLoc(), steps.applyToPacked(rewriter));
  };
  bool isShared = op.getKey() == op.getValue();
  Value keys = pack(*key), values = isShared ? keys : pack(*value);
  rewriter.modifyOpInPlace(op, [&] {
    op.getKeyMutable().assign(keys);
    op.getValueMutable().assign(values);
    op.getKvOffsetsMutable().assign(key->getOffsets());
  });
  RowSteps both[] = {*key, *value};
  bool changes = !key->areNone() || !value->areNone();
  eraseUnread(rewriter, both);
  return changes;
}

/// The op that packs a result by `offsets`, its only reader; null if there is none.
static PackRowsOp getPack(Value result, Value offsets) {
  auto pack = result.hasOneUse() ? dyn_cast<PackRowsOp>(*result.user_begin()) : PackRowsOp();
  return pack && pack.getOffsets() == offsets ? pack : PackRowsOp();
}

/// The type of a result in packed rows.
static Type getPackedType(Value result, int64_t total) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = 1;
  shape[2] = total;
  return type.clone(shape);
}

/// Lets `op` compute packed rows, if its query is unpacked and its results are packed by the same
/// offsets.
static bool takePackedQuery(RewriterBase &rewriter, AttentionOp op) {
  std::optional<RowSteps> steps = RowSteps::find(op.getQuery());
  Value offsets = steps ? steps->getOffsets() : Value();
  PackRowsOp context = offsets ? getPack(op.getResult(), offsets) : PackRowsOp();
  PackRowsOp lse = offsets && op.getLse() ? getPack(op.getLse(), offsets) : PackRowsOp();
  if (!context || (op.getLse() && !op.getLse().use_empty() && !lse))
    return false;
  rewriter.setInsertionPoint(op);
  Value query = toHeadsFirst(rewriter, op.getLoc(), steps->applyToPacked(rewriter));
  rewriter.modifyOpInPlace(op, [&] {
    op.getQueryMutable().assign(query);
    op.getOffsetsMutable().assign(offsets);
    for (OpResult result : op->getResults())
      result.setType(getPackedType(result, sizeOf(query, 2)));
  });
  rewriter.setInsertionPointAfter(op);
  auto replace = [&](PackRowsOp pack, Value heads) {
    Value rows = toRowsFirst(rewriter, op.getLoc(), heads);
    // The result's type may be less exact.
    rewriter.replaceOp(pack,
                       rewriter.createOrFold<tensor::CastOp>(op.getLoc(), pack.getType(), rows));
  };
  replace(context, op.getResult());
  if (lse)
    replace(lse, op.getLse());
  eraseUnread(rewriter, *steps);
  return !steps->areNone();
}

bool attn::takePackedRows(RewriterBase &rewriter, AttentionOp op) {
  bool changesKeys = takePackedKeys(rewriter, op);
  return takePackedQuery(rewriter, op) || changesKeys;
}

/// Whether `tensor` is the elements of `offsets` from `first` on.
static bool isSliceFrom(Value tensor, Value offsets, int64_t first) {
  auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.getSource() == offsets && slice.getType().getRank() == 1 &&
         getConstantIntValue(slice.getMixedOffsets()[0]) == first &&
         isOneInteger(slice.getMixedStrides()[0]);
}

/// Whether `counts` are offsets[b + 1] - offsets[b].
static bool areLengths(Value counts, Value offsets) {
  auto map = counts.getDefiningOp<MapOp>();
  auto difference = map ? yieldedValue(map.getBody()).getDefiningOp<arith::SubIOp>()
                        : counts.getDefiningOp<arith::SubIOp>();
  if (!difference)
    return false;
  auto tensorOf = [&](Value number) {
    auto argument = dyn_cast<BlockArgument>(number);
    bool isElement = map && argument && argument.getOwner() == &map.getBody().front();
    return isElement ? map.getInputs()[argument.getArgNumber()] : number;
  };
  return isSliceFrom(tensorOf(difference.getLhs()), offsets, 1) &&
         isSliceFrom(tensorOf(difference.getRhs()), offsets, 0);
}

bool attn::takePackedRows(RewriterBase &rewriter, AppendPagesOp op) {
  std::optional<RowSteps> steps = op.getCounts() ? RowSteps::find(op.getRows()) : std::nullopt;
  if (!steps)
    return false;
  bool takesAll = areLengths(op.getCounts(), steps->getOffsets());
  if (!takesAll && (steps->areNone() || steps->dependOnPosition()))
    return false;
  rewriter.setInsertionPoint(op);
  Location loc = op.getRows().getLoc();
  Value offsets = steps->getOffsets(), packed = steps->applyToPacked(rewriter);
  Value rows = takesAll
                   ? toHeadsFirst(rewriter, loc, packed)
                   : UnpackRowsOp::create(rewriter, loc, op.getRows().getType(), packed, offsets)
                         .getResult();
  rewriter.modifyOpInPlace(op, [&] {
    op.getRowsMutable().assign(rows);
    if (!takesAll)
      return;
    op.getRowOffsetsMutable().assign(offsets);
    op.getCountsMutable().clear();
  });
  eraseUnread(rewriter, *steps);
  return !steps->areNone();
}
