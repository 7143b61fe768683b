//===- HostFunction.h - builds the host function ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_HOSTFUNCTION_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_HOSTFUNCTION_H

#include "PipelineBuilder.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Sizes.h"
#include "attnc/Dialect/Host/Host.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Builds the host function of a function on tensors: assigns buffers to tensors and emits checks
/// and calls in order.
class HostFunction {
public:
  explicit HostFunction(func::FuncOp source);

  /// Creates the function: the source's arguments as buffers, then its results.
  LogicalResult create();
  /// Completes the function and replaces the source by it.
  void finish();

  bool hasBuffer(Value tensor) const { return buffers.contains(tensor); }
  /// The buffer of a tensor. A constant's is created on demand: packed weights need none.
  Value getBuffer(Value tensor);
  void setBuffer(Value tensor, Value buffer) { buffers[tensor] = buffer; }
  /// The buffer of result n, whose computed sizes are checked before it is written.
  Value getResultBuffer(int64_t n);

  /// Where `tensor` is to be computed: a result's buffer if it is returned, the heads of
  /// the merged buffer if it is merged, its place in that of the view that is its only reader, else
  /// a temporary.
  Value getDestination(Value tensor);
  /// A compact temporary of the tensor's sizes.
  Value allocate(Value tensor);
  Value allocate(MemRefType type, ValueRange dynamicSizes = {});
  /// Whether the tensor's buffer is known to be compact, by its type.
  bool isCompact(Value tensor);

  /// [batch, heads, len, dim] as a view of split_heads' input.
  Value viewAsHeads(Value buffer, OpFoldResult heads, Layout layout);
  void viewTransposed(TransposeOp op);
  /// A slice of unit strides that keeps the last dimension.
  void viewSlice(tensor::ExtractSliceOp op);
  /// The view of `buffer`, which holds the result, that the source goes to. Strides are 1, and no
  /// dimension is dropped.
  Value viewPlace(tensor::InsertSliceOp op, Value buffer);
  /// The view of `buffer` that each operand of a concatenation goes to; null for one that is always
  /// empty, as a view may not begin at the end.
  SmallVector<Value> viewOperands(tensor::ConcatOp op, Value buffer);
  /// The same elements, with sizes that are known in one of the types only; checks them.
  void viewCast(tensor::CastOp op);
  /// Checks that the sizes multiply to the source's.
  void viewExpanded(tensor::ExpandShapeOp op);
  void viewCollapsed(tensor::CollapseShapeOp op, Value compact);

  /// Begins a loop over 0 to `count` - 1 and returns its index; temporaries allocated until the
  /// loop's end are allocated ahead of it.
  Value beginLoop(Value count);
  void endLoop();
  /// Calls `build` for what is executed if `condition` holds, within a loop.
  LogicalResult buildIf(Value condition, function_ref<LogicalResult()> build);

  /// Rebuilds an index of the source function, which reads tensors, on buffers.
  Value getIndex(Value index);
  OpFoldResult getMixedSize(Value tensor, int64_t dim);
  /// Checks that a size is the product of `sizes`, unless all are static.
  void requireProduct(Location loc, Value tensor, int64_t dim, ArrayRef<OpFoldResult> sizes,
                      const Twine &message);
  /// Checks that two sizes are equal, or b's larger by `extra`, unless both are static. The message
  /// ends with both, and with the arguments whose sizes they are.
  void requireSame(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                   const Twine &message, int64_t extra = 0);
  /// Checks that a size is not 0.
  void requireNotEmpty(Location loc, Value tensor, int64_t dim, const Twine &message);
  /// Checks that `a`'s size is a multiple of `b`'s.
  void requireMultiple(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                       const Twine &message);
  /// Checks that no element of `tensor` is wrong: the one element of `buffer`, computed by a
  /// kernel, is the number of elements from the first wrong one on. `{}` of the message are its
  /// indices.
  void requireNoneWrong(Location loc, Value buffer, Value tensor, const Twine &message);
  /// Checks that a size is above 0, and times another one a size that kernels can index.
  void requireIndexable(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                        const Twine &message);
  /// Whether two buffers are at different addresses.
  Value isElsewhere(Value buffer, Value other);
  /// Whether a size of `tensor` is 0.
  Value isEmpty(Value tensor, int64_t dim);
  /// Whether `above` < size <= `limit` for the product of some of a tensor's sizes; a limit of 0
  /// means none.
  Value isWithin(Value tensor, ArrayRef<int64_t> dims, int64_t above, int64_t limit);
  /// Whether an element of a buffer of integers is above 0.
  Value isAboveZero(Location loc, Value buffer, int64_t index);
  /// Whether 0 < size <= `limit` for a size of `tensor`, and the one before it is larger.
  Value isShort(Value tensor, int64_t dim, int64_t limit);
  Value isNot(Value condition);
  Value areBoth(Value first, Value second);
  /// Calls `kernel` on the buffers of the tensors it reads and of its results; with a condition,
  /// only if it holds.
  void call(Location loc, KernelOpInterface kernel, ArrayRef<Value> inputs,
            ArrayRef<Value> destinations, Value condition = {});

  ImplicitLocOpBuilder &getBuilder() { return builder; }

private:
  /// The sizes of result n that are computed, or may be other ones than `attn.dims` says.
  SmallVector<int64_t> findOpenDims(int64_t n, Value tensor);
  /// Calls `build` ahead of the loop that is being built, if there is one.
  Value buildBeforeLoop(function_ref<Value()> build);
  Value addConstant(arith::ConstantOp op);
  /// The place of `tensor` in the destination of its only reader; null if that is no view.
  Value viewInReader(Value tensor, Operation *reader);
  /// The view of `buffer` at the slice's offsets and sizes; `whole` has the buffer's sizes.
  Value viewSlice(OffsetSizeAndStrideOpInterface slice, Value buffer, Value whole,
                  ArrayRef<int64_t> shape, const Twine &message);
  /// `buffer` with the sizes of a tensor's type.
  Value castBuffer(Value buffer, Type tensor);
  /// A view with these sizes; `groups` are the dimensions that each of the buffer's becomes.
  Value expandBuffer(Value buffer, ArrayRef<OpFoldResult> sizes,
                     ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> shape);
  /// The buffer's dimensions in another order: `order[n]` becomes dimension n.
  Value viewPermuted(Value buffer, ArrayRef<int64_t> order);
  Value toValue(OpFoldResult size);
  /// ` (dim 2 of key)` of a size that is an argument's.
  std::string describeOrigin(Value tensor, int64_t dim);
  Value getSize(Value tensor, int64_t dim);
  /// The size of a concatenation along a dimension.
  Value getSum(tensor::ConcatOp op, int64_t dim);
  /// The product of some of a tensor's sizes.
  Value getProduct(Value tensor, ArrayRef<int64_t> dims);
  /// Checks that [offset, offset + size) is within [0, whole), unless that is known statically.
  /// `origin` says where `whole` comes from.
  void requireWithin(Location loc, OpFoldResult offset, OpFoldResult size, OpFoldResult whole,
                     const Twine &message, StringRef origin);
  Value getIndex(OpFoldResult index);
  /// The same; a constant stays an attribute.
  OpFoldResult getMixedIndex(OpFoldResult index);
  /// Loads an element of a buffer; checks that its indices are in bounds.
  Value getElement(tensor::ExtractOp read);
  /// The divisor of an integer division; checks for division by zero and overflow, which trap on
  /// some CPUs.
  Value requireDivisor(Operation *division);

  func::FuncOp source, host;
  ImplicitLocOpBuilder builder;
  SizeTracer tracer;
  /// By result: the dimensions whose sizes are still to be checked.
  SmallVector<SmallVector<int64_t>> openDims;
  llvm::DenseMap<Value, Value> buffers;
  IRMapping indices;
  int64_t numConstants = 0;
  /// The loop that is being built, and the indices known ahead of it.
  scf::ForOp loop;
  IRMapping indicesBeforeLoop;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_HOSTFUNCTION_H
