//===- RowSteps.cpp - ops on unpacked rows, on packed ones ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unpacked, a batch has as many rows for each sequence as all of them have together. What computes
// every row by itself gives the same on packed rows, each of them once.
//
//===----------------------------------------------------------------------===//

#include "RowSteps.h"

#include "PackedRows.h"
#include "Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Finding them
//===----------------------------------------------------------------------===//

/// Whether the operand of a map is the same for all batches and rows.
static bool isSharedByRows(Value operand) {
  int64_t rank = rankOf(operand);
  return (rank < 2 || sizeOf(operand, rank - 2) == 1) && (rank < 4 || sizeOf(operand, 0) == 1);
}

/// The one operand with rows of which a map changes each by itself; null if there is none.
static OpOperand *getRows(MapOp map) {
  OpOperand *rows = nullptr;
  for (OpOperand &input : map->getOpOperands()) {
    if (isSharedByRows(input.get()))
      continue;
    if (rows || shapeOf(input.get()) != shapeOf(map.getResult()))
      return nullptr;
    rows = &input;
  }
  return rows;
}

/// The operand whose rows `op` changes one by one; null for other ops.
static OpOperand *getRows(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return getRows(map);
  bool isCast = isa<arith::ExtFOp, arith::TruncFOp>(op);
  return isCast || isa<PositionsOp, LayerNormOp, QuantizeOp>(op) ? &op->getOpOperand(0) : nullptr;
}

std::optional<RowSteps> RowSteps::find(Value tensor) {
  RowSteps found;
  while (Operation *op = tensor.getDefiningOp()) {
    if ((found.unpack = dyn_cast<UnpackRowsOp>(op))) {
      std::reverse(found.steps.begin(), found.steps.end());
      return found;
    }
    OpOperand *rows = getRows(op);
    if (!rows)
      return std::nullopt;
    found.steps.push_back({rows, cast<OpResult>(tensor)});
    tensor = rows->get();
  }
  return std::nullopt;
}

bool RowSteps::dependOnPosition() const {
  return llvm::any_of(steps,
                      [](const Step &step) { return isa<PositionsOp>(step.rows->getOwner()); });
}

//===----------------------------------------------------------------------===//
// On packed rows
//===----------------------------------------------------------------------===//

/// Of each packed row its position in its sequence, after the sequence's offset: i64 `[total]`.
/// Each row is of one sequence, so it is a sum over all of them.
Value RowSteps::getPositions(RewriterBase &rewriter, PositionsOp op, Value rows) {
  Location loc = op.getLoc();
  Value offsets = getOffsets(), past = op.getOffset();
  auto sizeOfDim = [&](Value tensor, int64_t dim) {
    return getValueOrCreateConstantIndexOp(rewriter, loc,
                                           tensor::getMixedSize(rewriter, loc, tensor, dim));
  };
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value total = sizeOfDim(rows, 0),
        batch = arith::SubIOp::create(rewriter, loc, sizeOfDim(offsets, 0), one);
  auto open =
      RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic}, rewriter.getI64Type());
  auto places = tensor::GenerateOp::create(
      rewriter, loc, open, ValueRange{total, batch},
      [&](OpBuilder &b, Location loc, ValueRange at) {
        auto readIndex = [&](Value tensor, Value place) -> Value {
          Value number = tensor::ExtractOp::create(b, loc, tensor, place);
          return arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
        };
        Value row = at[0], sequence = at[1];
        Value begin = readIndex(offsets, sequence),
              end = readIndex(offsets, arith::AddIOp::create(b, loc, sequence, one));
        auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
          return arith::CmpIOp::create(b, loc, predicate, row, bound);
        };
        Value isInside = arith::AndIOp::create(b, loc, compare(arith::CmpIPredicate::sge, begin),
                                               compare(arith::CmpIPredicate::slt, end));
        Value position = arith::IndexCastOp::create(b, loc, b.getI64Type(),
                                                    arith::SubIOp::create(b, loc, row, begin));
        if (past) {
          Value number = tensor::ExtractOp::create(b, loc, past, sequence);
          if (number.getType() != b.getI64Type())
            number = arith::ExtSIOp::create(b, loc, b.getI64Type(), number);
          position = arith::AddIOp::create(b, loc, position, number);
        }
        Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
        tensor::YieldOp::create(b, loc, arith::SelectOp::create(b, loc, isInside, position, zero));
      });
  auto type = RankedTensorType::get({ShapedType::kDynamic}, rewriter.getI64Type());
  Value sums = ReduceOp::create(rewriter, loc, type, ReduceKind::sum, places,
                                rewriter.getDenseI64ArrayAttr({1}), /*keep_dims=*/false);
  auto known = RankedTensorType::get({sizeOf(rows, 0)}, rewriter.getI64Type());
  return rewriter.createOrFold<tensor::CastOp>(loc, known, sums);
}

/// Rows are batches of one position each.
Value RowSteps::apply(RewriterBase &rewriter, PositionsOp op, Value rows) {
  Location loc = op.getLoc();
  Value positions = getPositions(rewriter, op, rows);
  SmallVector<int64_t> shape(shapeOf(rows));
  shape.insert(shape.begin() + 2, 1);
  SmallVector<ReassociationIndices> groups = {{0}, {1, 2}, {3}};
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(rows));
  Value apart = tensor::ExpandShapeOp::create(rewriter, loc, type, rows, groups);
  Value rotated = PositionsOp::create(rewriter, loc, type, apart, op.getKindAttr(),
                                      op.getBaseAttr(), positions);
  return tensor::CollapseShapeOp::create(rewriter, loc, rotated, groups);
}

/// A copy of `op` on packed rows, as a batch of its own.
static Operation *copyForPacked(RewriterBase &rewriter, Operation *op, unsigned operand,
                                Value rows) {
  Value heads = toHeadsFirst(rewriter, op->getLoc(), rows);
  Operation *copy = rewriter.clone(*op);
  copy->setOperand(operand, heads);
  for (OpResult result : copy->getResults()) {
    SmallVector<int64_t> shape(shapeOf(result));
    shape[0] = 1;
    shape[2] = sizeOf(heads, 2);
    result.setType(RankedTensorType::get(shape, getElementTypeOrSelf(result)));
  }
  return copy;
}

Value RowSteps::applyToPacked(RewriterBase &rewriter) {
  Value rows = unpack.getRows();
  for (const Step &step : steps) {
    Operation *op = step.rows->getOwner();
    if (auto positions = dyn_cast<PositionsOp>(op)) {
      rows = apply(rewriter, positions, rows);
      continue;
    }
    Operation *copy = copyForPacked(rewriter, op, step.rows->getOperandNumber(), rows);
    rows = toRowsFirst(rewriter, op->getLoc(), copy->getResult(step.result.getResultNumber()));
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// The unpacked ones
//===----------------------------------------------------------------------===//

void RowSteps::replaceSizes(RewriterBase &rewriter) {
  for (const Step &step : llvm::reverse(steps))
    for (Value result : step.result.getOwner()->getResults())
      attn::replaceSizes(rewriter, result, step.rows->get());
  attn::replaceSizes(rewriter, unpack.getResult(), unpack.getResultSizes(0));
}

SmallVector<Operation *> RowSteps::getOps() {
  SmallVector<Operation *> ops = {unpack};
  for (const Step &step : steps)
    ops.push_back(step.result.getOwner());
  return ops;
}
