//===- PackedRows.cpp - sequences of different lengths, packed ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

#include "Bodies.h"
#include "Formulas.h"
#include "RowSteps.h"
#include "Shapes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<PackedRows> attn::getPackedRows(Operation *op) {
  if (auto unpack = dyn_cast<UnpackRowsOp>(op))
    return {{unpack.getOffsets(), unpack.getRows(), 0}};
  if (auto pack = dyn_cast<PackRowsOp>(op))
    return {{pack.getOffsets(), pack.getInput(), 2}};
  if (auto lengths = dyn_cast<PageLengthsOp>(op))
    return {{lengths.getOffsets(), lengths.getTable(), 0, "pages"}};
  SmallVector<PackedRows> all;
  if (PagedTensors paged = getPagedTensors(op); paged.offsets)
    all.push_back({paged.offsets, paged.table, 0, "pages"});
  auto attention = dyn_cast<AttentionOp>(op);
  if (attention && attention.getOffsets())
    all.push_back({attention.getOffsets(), attention.getQuery(), 2});
  if (attention && attention.getKvOffsets())
    all.push_back({attention.getKvOffsets(), attention.getKey(), 2});
  return all;
}

static LogicalResult verifyOffsets(Operation *op, Value offsets) {
  if (sizeOf(offsets, 0) == 0)
    return op->emitOpError("expected at least one offset, found none");
  return success();
}

//===----------------------------------------------------------------------===//
// UnpackRowsOp
//===----------------------------------------------------------------------===//

LogicalResult UnpackRowsOp::verify() {
  // unpack_rows_c1
  if (failed(verifyElement(*this, "result", getResult(), "rows", getRows())))
    return failure();
  // unpack_rows_c2
  if (failed(verifyOffsets(*this, getOffsets())))
    return failure();
  // unpack_rows_c3
  return verifyResult(*this, getResult(), "result", {"batch", "num_heads", "total", "head_dim"});
}

FailureOr<ResultSizes> UnpackRowsOp::inferSizes(SizedTensor rows, SizedTensor offsets) {
  if (!rows.hasRank(3) || !offsets.hasRank(1))
    return failure();
  return ResultSizes{ResultSize::difference({offsets, 0}, 1), TensorDim{rows, 1},
                     TensorDim{rows, 0}, TensorDim{rows, 2}};
}

SizeConstraints UnpackRowsOp::getSizeConstraints() {
  return {{"num_offsets", {{"offsets", getOffsets(), 0}}}, {"total", {{"rows", getRows(), 0}}}};
}

ResultSizes UnpackRowsOp::getResultSizes(unsigned) { return *inferSizes(getRows(), getOffsets()); }

void UnpackRowsOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "rows",
        "of each batch, the rows of " + w.nameOf(getRows()) + " from " + w.nameOf(getOffsets()) +
            "[batch] on");
}

//===----------------------------------------------------------------------===//
// PackRowsOp
//===----------------------------------------------------------------------===//

LogicalResult PackRowsOp::verify() {
  // pack_rows_c1
  if (failed(verifyElement(*this, "result", getResult(), "input", getInput())))
    return failure();
  // pack_rows_c2
  if (failed(verifyOffsets(*this, getOffsets())) || failed(verifySizes(*this)))
    return failure();
  // pack_rows_c3
  return verifyResult(*this);
}

FailureOr<ResultSizes> PackRowsOp::inferSizes(SizedTensor input, SizedTensor offsets) {
  if ((!input.hasRank(3) && !input.hasRank(4)) || !offsets.hasRank(1))
    return failure();
  ResultSizes sizes = {TensorDim{input, 2}, TensorDim{input, 1}};
  if (input.hasRank(4))
    sizes.push_back(TensorDim{input, 3});
  return sizes;
}

SizeConstraints PackRowsOp::getSizeConstraints() {
  return {{"num_offsets", {{"offsets", getOffsets(), 0}}},
          {"batch", {{"input", getInput(), 0}, {"offsets", getOffsets(), 0, /*extra=*/1}}},
          {"total", {{"input", getInput(), 2}}}};
}

ResultSizes PackRowsOp::getResultSizes(unsigned) { return *inferSizes(getInput(), getOffsets()); }

void PackRowsOp::writeFormula(FormulaWriter &w) {
  w.add(getResult(), "rows",
        "the rows of each batch of " + w.nameOf(getInput()) + ", from row " +
            w.nameOf(getOffsets()) + "[batch] on");
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static Value swapHeadsAndRows(OpBuilder &builder, Location loc, Value tensor) {
  SmallVector<int64_t> order = {0, 2, 1}, shape(shapeOf(tensor));
  if (shape.size() == 4)
    order.push_back(3);
  std::swap(shape[1], shape[2]);
  Type type = cast<RankedTensorType>(tensor.getType()).clone(shape);
  return TransposeOp::create(builder, loc, type, tensor, builder.getDenseI64ArrayAttr(order));
}

/// The first two dimensions in one group.
static SmallVector<ReassociationIndices> groupFirstTwo(int64_t rank) {
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dim = 2; dim < rank; ++dim)
    groups.push_back({dim});
  return groups;
}

Value attn::toHeadsFirst(OpBuilder &builder, Location loc, Value rows) {
  SmallVector<int64_t> shape(shapeOf(rows));
  shape.insert(shape.begin(), 1);
  Type type = RankedTensorType::get(shape, getElementTypeOrSelf(rows.getType()));
  Value expanded =
      tensor::ExpandShapeOp::create(builder, loc, type, rows, groupFirstTwo(shape.size()));
  return swapHeadsAndRows(builder, loc, expanded);
}

Value attn::toRowsFirst(OpBuilder &builder, Location loc, Value heads) {
  Value rows = swapHeadsAndRows(builder, loc, heads);
  return tensor::CollapseShapeOp::create(builder, loc, rows, groupFirstTwo(rankOf(rows)));
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

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
  rewriter.replaceOp(context, toRowsFirst(rewriter, op.getLoc(), op.getResult()));
  if (lse)
    rewriter.replaceOp(lse, toRowsFirst(rewriter, op.getLoc(), op.getLse()));
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

bool attn::changePackedRows(RewriterBase &rewriter, AppendPagesOp op) {
  std::optional<RowSteps> steps = op.getCounts() ? RowSteps::find(op.getRows()) : std::nullopt;
  if (!steps || steps->areNone())
    return false;
  if (steps->dependOnPosition() && !areLengths(op.getCounts(), steps->getOffsets()))
    return false;
  rewriter.setInsertionPoint(op);
  Value rows = UnpackRowsOp::create(rewriter, op.getRows().getLoc(), op.getRows().getType(),
                                    steps->applyToPacked(rewriter), steps->getOffsets());
  rewriter.modifyOpInPlace(op, [&] { op.getRowsMutable().assign(rows); });
  eraseUnread(rewriter, *steps);
  return true;
}
