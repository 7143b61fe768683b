//===- Elements.h - scalars of tensors inside a region ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ELEMENTS_H
#define ATTNC_DIALECT_ATTN_ELEMENTS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace mlir::attn {

/// Whether `op` computes each element of its result by itself: an `attn.map`, a `tensor.generate`,
/// or an `arith` or `math` op on tensors.
bool isElementwiseOnTensors(Operation *op);

/// Whether `op` gives the elements of its operand in another shape or order.
bool isMove(Operation *op);
/// Whether a tensor belongs to the model: a constant, or an argument bound to a weight, perhaps
/// moved.
bool isWeight(Value tensor);

/// Whether `op` is a move or a slice that keeps the rank of its source.
bool isMoveOrSlice(Operation *op);

/// Whether scalars cost no more than reading them: integers, booleans, sums and products.
bool isCheap(Block &body);

/// Whether `op` is a reshape, a transpose, a splat, or a cheap map or generated tensor: the default
/// of what Elements inlines.
bool isCheapToInline(Operation *op);

/// The sizes of `tensor`, as far as possible those that generated tensors, reshapes, transposes
/// and slices were given, without a `tensor.dim`.
SmallVector<OpFoldResult> getGivenSizes(OpBuilder &b, Location loc, Value tensor);

/// Builds scalars of tensors at the insertion point of a builder, which is in a region.
class Elements {
public:
  /// Instead of reading the result of an op that `mayInline` accepts, the op is inlined.
  Elements(OpBuilder &b, Location loc, std::function<bool(Operation *)> mayInline = isCheapToInline)
      : b(b), loc(loc), mayInline(std::move(mayInline)) {}

  /// The element of `tensor` at `indices`. Reading twice at one place gives one value. `isWhole`
  /// tensors have the sizes of the stage, which is checked when the kernel is called.
  Value read(Value tensor, ArrayRef<Value> indices, bool isWhole = false);
  /// What an elementwise op gives at `indices` of its result.
  Value compute(Operation *op, ArrayRef<Value> indices);
  void remember(Value tensor, ArrayRef<Value> indices, Value scalar);
  /// The region computes the element at `place` of a tensor as large as `tensor`. Sizes of the
  /// tensors that it reads are checked against those of `tensor`.
  void setStage(Value tensor, ArrayRef<Value> place);
  /// The indices into the operand of a move or slice at the place `indices` of its result, and,
  /// for a move, the other way round.
  SmallVector<Value> getSource(Operation *move, ArrayRef<Value> indices);
  SmallVector<Value> getResult(Operation *move, ArrayRef<Value> indices);

private:
  using Place = SmallVector<Value>;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value toIndex(OpFoldResult size);
  Value lookup(Value tensor, ArrayRef<Value> indices);
  Value readThrough(Value tensor, ArrayRef<Value> indices, bool isWhole);
  Value computeMap(MapOp op, ArrayRef<Value> indices);
  Value computeBody(Block &body, IRMapping &mapping);
  void cloneFolded(Operation &scalar, IRMapping &mapping);
  bool isWithin(tensor::GenerateOp op, ArrayRef<Value> indices);
  Value flatten(ArrayRef<Value> indices, ArrayRef<OpFoldResult> sizes);
  SmallVector<Value> unflatten(Value flat, ArrayRef<OpFoldResult> sizes);
  SmallVector<Value> split(ArrayRef<ReassociationIndices> groups, ArrayRef<OpFoldResult> sizes,
                           ArrayRef<Value> indices);
  SmallVector<Value> join(ArrayRef<ReassociationIndices> groups, ArrayRef<OpFoldResult> sizes,
                          ArrayRef<Value> indices);

  OpBuilder &b;
  Location loc;
  std::function<bool(Operation *)> mayInline;
  Value stage;
  Place stagePlace;
  llvm::DenseMap<Value, SmallVector<std::pair<Place, Value>>> known;
  /// Indices of several dimensions, with the dimensions' sizes.
  using Parts = std::pair<Place, SmallVector<OpFoldResult>>;
  /// Indices made from those of several dimensions.
  llvm::DenseMap<Value, Parts> flattened;
  /// Indices made into those of several dimensions, of sizes other than 1.
  SmallVector<std::pair<Value, Parts>> unflattened;
  /// How many ops may still be put into the region in place of reading what they gave.
  int64_t budget = 256;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_ELEMENTS_H
