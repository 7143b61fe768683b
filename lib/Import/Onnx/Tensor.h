//===- Tensor.h - what a name of an ONNX graph stands for -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each node becomes ops, and each name a value. An ONNX graph also spells masks and positions as
// many small tensors that follow from indices alone: each is a tensor.generate, and attn-merge-maps
// inlines them where they are read, so that the compiler sees `k <= q` and not a table of it. Only
// the elements of shapes and small constants are known one by one: they decide ranks and sizes,
// which a type must have at once.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_TENSOR_H
#define ATTNC_LIB_IMPORT_ONNX_TENSOR_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <memory>

namespace mlir::attn::imports {

struct Tensor;
using TensorRef = std::shared_ptr<Tensor>;

/// Where scalars are built: a region under construction, or the function itself.
struct Body {
  OpBuilder &b;
  Location loc;

  /// The element at `indices`. Reading twice at the same place gives one value.
  Value read(const TensorRef &tensor, ArrayRef<Value> indices);
  /// The element of a tensor that has one, whatever its rank.
  Value readSingle(const TensorRef &tensor);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  /// The same scalar, folded where it can be.
  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    return b.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

  /// What was read of a value: the scalar at each place.
  using Places = std::vector<std::pair<SmallVector<Value>, Value>>;
  llvm::DenseMap<Value, Places> known{};
};

/// One scalar from the scalars at the same place of several tensors.
using ScalarFn = function_ref<Value(Body &, ArrayRef<Value>)>;
/// The element at indices.
using ElementFn = function_ref<Value(Body &, ArrayRef<Value>)>;

struct Tensor {
  Type element;
  /// Static sizes are attributes. Equal dynamic sizes are the same value.
  SmallVector<OpFoldResult> sizes;
  /// Null where nothing has asked for the value of a list.
  Value value;
  /// All elements, each a scalar of the function: shapes and small constants.
  std::optional<SmallVector<Value>> elements;
  /// The longest chain of values that depend on indices and scalars alone and end with `value`; 0
  /// where it depends on data.
  int64_t indexDepth = 0;

  /// The value that this one is in another shape, if it is.
  TensorRef unshaped;
  /// The value that this one repeats, if it does: one that broadcasts need not be repeated.
  TensorRef unexpanded;

  bool isIndexOnly() const { return indexDepth > 0; }
  /// Whether its elements are in memory: neither a list nor computed from indices.
  bool isData() const { return value && !elements && !isIndexOnly(); }
  int64_t getRank() const { return sizes.size(); }
  RankedTensorType getType() const;
  /// Its number of elements is one, whatever the rank.
  bool isSingle() const;
};

/// The most elements of a tensor that are kept one by one.
constexpr int64_t kMaxElements = 64;
/// The longest chain of values that depend on indices alone. What it ends with is data: whatever
/// reads the value would compute the whole chain.
constexpr int64_t kMaxIndexDepth = 128;

RankedTensorType getTensorType(Type element, ArrayRef<OpFoldResult> sizes);
std::optional<int64_t> getStatic(OpFoldResult size);
/// Whether two sizes are equal whatever the call.
bool sameSize(OpFoldResult a, OpFoldResult b);
bool sameSizes(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b);
OpFoldResult fixedSize(MLIRContext *context, int64_t size);
/// The constant that a scalar is.
std::optional<int64_t> getConstantInt(Value scalar);
std::optional<double> getConstantFloat(Value scalar);

/// A size as a scalar of type i64, and an integer scalar as a size.
Value toScalar(Body &body, OpFoldResult size);
OpFoldResult toSize(Body &body, Value scalar);
Value toIndex(Body &body, OpFoldResult size);
OpFoldResult multiply(Body &body, ArrayRef<OpFoldResult> sizes);
/// The linear index of `indices` into a tensor of `sizes`.
Value flatten(Body &body, ArrayRef<Value> indices, ArrayRef<OpFoldResult> sizes);

/// Indices into a tensor of `sizes` that is broadcast to more or larger dimensions.
SmallVector<Value> broadcastIndices(Body &body, ArrayRef<OpFoldResult> sizes,
                                    ArrayRef<Value> indices);

/// The tensor computed.
Value materialize(Body &body, const TensorRef &tensor);
/// `attn.map` of tensors, some of which is data.
Value emitMap(Body &body, RankedTensorType type, ArrayRef<TensorRef> sources, ScalarFn scalar);
/// `tensor.generate` of the elements at indices.
Value generate(Body &body, RankedTensorType type, ArrayRef<OpFoldResult> sizes, ElementFn at);
/// A constant where every element is one; else null.
Value makeDense(Body &body, const Tensor &tensor);

/// The known elements of `source` as a tensor of `sizes` reads them, each at the indices that
/// `place` makes of its own; none where they or the sizes are not known.
std::optional<SmallVector<Value>>
moveElements(const Tensor &source, ArrayRef<OpFoldResult> sizes,
             function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> place);

// Constructors.
TensorRef makeComputed(Value value, ArrayRef<OpFoldResult> sizes);
/// A value that depends on `sources` and indices alone.
TensorRef makeComputed(Value value, ArrayRef<OpFoldResult> sizes, ArrayRef<TensorRef> sources);
TensorRef makeConstant(Body &body, ElementsAttr elements);
TensorRef makeElements(Body &body, Type element, ArrayRef<Value> elements,
                       ArrayRef<OpFoldResult> sizes);
/// `tensor.generate` with the elements that `at` makes from those of `sources`.
TensorRef makeGenerate(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                       ArrayRef<TensorRef> sources, ElementFn at);
/// One whose elements are `scalar` of those of `sources`, which broadcast: `attn.map`, or
/// `tensor.generate` where no source is data.
TensorRef makeMap(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                  ArrayRef<TensorRef> sources, ScalarFn scalar);
/// A tensor of floats times a constant.
TensorRef makeScaled(Body &body, const TensorRef &source, double factor);
/// One whose elements are still to be said.
TensorRef makeTensor(Type element, ArrayRef<OpFoldResult> sizes);
TensorRef makeTranspose(Body &body, const TensorRef &source, ArrayRef<int64_t> permutation);
TensorRef makeReshape(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes);
/// Fails with a diagnostic where offset and size are known and leave the source.
FailureOr<TensorRef> makeSlice(Body &body, const TensorRef &source, int64_t dim,
                               OpFoldResult offset, OpFoldResult size);
TensorRef makeExpand(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes);

template <typename T>
SmallVector<T> pick(ArrayRef<T> all, ArrayRef<int64_t> places) {
  return llvm::map_to_vector(places, [&](int64_t place) { return all[place]; });
}

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_TENSOR_H
