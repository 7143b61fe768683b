//===- HostFunction.h - the function that calls the kernels -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_HOSTFUNCTION_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_HOSTFUNCTION_H

#include "PipelineBuilder.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Host/Host.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Builds the host function of a function on tensors: which buffer holds which tensor,
/// and the calls in order.
class HostFunction {
public:
  explicit HostFunction(func::FuncOp source);

  /// Creates the function: the source's arguments as buffers, then its results.
  LogicalResult create();
  /// Ends it and puts it in the source's place.
  void finish();

  bool hasBuffer(Value tensor) const { return buffers.contains(tensor); }
  /// Constants get theirs when asked for: what is laid out anew has no need of one.
  Value getBuffer(Value tensor);
  void setBuffer(Value tensor, Value buffer) { buffers[tensor] = buffer; }
  Value getResultBuffer(int64_t n);

  /// Where `tensor` is to be computed: a result's buffer if it is returned, the heads of
  /// the merged buffer if it is merged, else a temporary.
  Value getDestination(Value tensor);
  /// A compact temporary of the tensor's sizes.
  Value allocate(Value tensor);
  Value allocate(MemRefType type, ValueRange dynamicSizes = {});
  /// Whether the tensor's buffer has no gaps, as its type says.
  bool isCompact(Value tensor);

  /// [batch, heads, len, dim] as a view of what split_heads takes.
  Value viewAsHeads(Value buffer, OpFoldResult heads, Layout layout);
  void viewTransposed(TransposeOp op);
  /// A slice of unit strides that keeps the last dimension.
  void viewSlice(tensor::ExtractSliceOp op);
  /// Where in `buffer`, which holds the result, the source has its place. Strides are 1, and no
  /// dimension is dropped.
  Value viewPlace(tensor::InsertSliceOp op, Value buffer);
  /// Where in `buffer` each operand of a concatenation has its place; null for one that never has
  /// elements: a view may not begin at the end.
  SmallVector<Value> viewParts(tensor::ConcatOp op, Value buffer);
  /// Refuses calls where the sizes don't make up the source's.
  void viewExpanded(tensor::ExpandShapeOp op);
  void viewCollapsed(tensor::CollapseShapeOp op, Value compact);

  OpFoldResult getMixedSize(Value tensor, int64_t dim);
  /// Refuses calls where a size is not the product of `sizes`, unless all are known.
  void requireProduct(Location loc, Value tensor, int64_t dim, ArrayRef<OpFoldResult> sizes,
                      const Twine &message);
  /// Refuses calls where two sizes differ that only the call tells.
  void requireSame(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                   const Twine &message);
  /// Refuses calls where `a`'s size is no multiple of `b`'s.
  void requireMultiple(Location loc, Value a, int64_t dimOfA, Value b, int64_t dimOfB,
                       const Twine &message);
  /// Refuses calls where the one element of `buffer`, computed in the call, is not zero.
  void requireZero(Location loc, Value buffer, const Twine &message);
  /// Whether a size of `tensor` is 0.
  Value isEmpty(Value tensor, int64_t dim);
  /// Whether `above` < size <= `limit` for a size of `tensor`; 0 is no limit.
  Value isWithin(Value tensor, int64_t dim, int64_t above, int64_t limit);
  /// Calls `kernel` on the buffers of the tensors it reads, and those of its results, where there
  /// is a condition only if it holds.
  void call(Location loc, KernelOpInterface kernel, ArrayRef<Value> inputs,
            ArrayRef<Value> destinations, Value condition = {});

private:
  Value addConstant(arith::ConstantOp op);
  /// The view of `buffer` that a slice stands for; `whole` are the buffer's sizes.
  Value viewPart(OffsetSizeAndStrideOpInterface slice, Value buffer, ArrayRef<OpFoldResult> whole,
                 ArrayRef<int64_t> shape, const Twine &message);
  Value getSize(Value tensor, int64_t dim);
  /// A size of a concatenation.
  Value getSum(tensor::ConcatOp op, int64_t dim);
  /// The product of some of a tensor's sizes.
  Value getProduct(Value tensor, ArrayRef<int64_t> dims);
  /// Refuses calls where [offset, offset + size) leaves [0, whole), unless that is known.
  void requireWithin(Location loc, OpFoldResult offset, OpFoldResult size, OpFoldResult whole,
                     const Twine &message);
  /// An index computed on the source's tensors, computed on buffers.
  Value getIndex(Value index);
  Value getIndex(OpFoldResult index);
  /// The same, where it is a constant as such.
  OpFoldResult getMixedIndex(OpFoldResult index);
  /// An element that the call reads; refuses it where there is none.
  Value getElement(tensor::ExtractOp read);
  /// The divisor of an integer division, whose operands are there; refuses calls in which a
  /// processor would trap.
  Value requireDivisor(Operation *division);

  func::FuncOp source, host;
  ImplicitLocOpBuilder builder;
  llvm::DenseMap<Value, Value> buffers;
  IRMapping indices;
  int64_t numConstants = 0;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_HOSTFUNCTION_H
