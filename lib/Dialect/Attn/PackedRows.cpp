//===- PackedRows.cpp - sequences of different lengths, packed ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

#include "Formulas.h"
#include "Shapes.h"

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
  auto append = dyn_cast<AppendPagesOp>(op);
  if (append && append.getRowOffsets())
    all.push_back({append.getRowOffsets(), append.getRows(), 2});
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

/// The permutation that swaps heads and rows.
static ArrayRef<int64_t> getSwap(int64_t rank) {
  static constexpr int64_t order[] = {0, 2, 1, 3};
  return ArrayRef(order).take_front(rank);
}

static Value swapHeadsAndRows(OpBuilder &builder, Location loc, Value tensor) {
  SmallVector<int64_t> shape(shapeOf(tensor));
  ArrayRef<int64_t> order = getSwap(shape.size());
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
  auto collapse = rows.getDefiningOp<tensor::CollapseShapeOp>();
  auto swap = collapse ? collapse.getSrc().getDefiningOp<TransposeOp>() : TransposeOp();
  if (swap && swap.getPermutation() == getSwap(rankOf(swap)) &&
      collapse.getReassociationIndices() == groupFirstTwo(rankOf(swap)) && sizeOf(swap, 0) == 1)
    return swap.getInput(); // of toRowsFirst
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
