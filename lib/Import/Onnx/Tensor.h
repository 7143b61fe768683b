//===- Tensor.h - what a name of an ONNX graph stands for -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What follows from a model's inputs is a value that an op computes, node by node. An ONNX graph
// also spells masks, scales and shapes as many small tensors: those that follow from indices alone
// are kept as formulas, so that the compiler sees `k <= q` and not a table of it. attn-merge-maps
// brings ops on single elements together, and attn-raise finds out what is attention.
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

  /// The element at `indices`. Reading twice at the same place gives one value. Zero once the
  /// import may cost no more.
  Value read(const TensorRef &tensor, ArrayRef<Value> indices);
  /// The element of a tensor that has one, whatever its rank.
  Value readSingle(const TensorRef &tensor);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  /// The same scalar, folded where it can be.
  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    return b.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

  /// What is known of a tensor's elements: the scalar at each place.
  struct Known {
    TensorRef tensor; ///< Lives as long as its address is looked up.
    std::vector<std::pair<SmallVector<Value>, Value>> places;
  };
  void remember(const TensorRef &tensor, ArrayRef<Value> indices, Value scalar);
  llvm::DenseMap<Tensor *, Known> known{};
  /// Indices that were made from those of several dimensions, with the dimensions' sizes.
  llvm::DenseMap<Value, std::pair<SmallVector<Value>, SmallVector<OpFoldResult>>> flattened{};
};

/// One scalar from the scalars at the same place of several tensors.
using ScalarFn = std::function<Value(Body &, ArrayRef<Value>)>;
/// The element at indices.
using ElementFn = std::function<Value(Body &, ArrayRef<Value>)>;

struct Tensor {
  Type element;
  /// Static sizes are attributes. Equal dynamic sizes are the same value.
  SmallVector<OpFoldResult> sizes;
  /// Computed, or null: then `at` gives the elements from indices.
  Value value;
  ElementFn at;
  /// All elements, each a scalar of the function: shapes and small constants.
  std::optional<SmallVector<Value>> elements;

  /// The value that this one is in another shape, if it is.
  TensorRef unshaped;
  /// The value that this one repeats, if it does: one that broadcasts need not be repeated.
  TensorRef unexpanded;

  /// How many formulas in a row were read to make it.
  int64_t depth = 0;

  /// Whether only a value says what it holds: no list and no formula of indices.
  bool isData() const { return value && !elements; }
  int64_t getRank() const { return sizes.size(); }
  RankedTensorType getType() const;
  /// Its number of elements is one, whatever the rank.
  bool isSingle() const;
};

/// The most elements of a tensor that are kept one by one.
constexpr int64_t kMaxElements = 64;

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

/// Indices into a tensor of `sizes` that is broadcast to more or larger dimensions.
SmallVector<Value> broadcastIndices(Body &body, ArrayRef<OpFoldResult> sizes,
                                    ArrayRef<Value> indices);

/// The indices into a tensor of shape `from` at the place that `indices` are in one of shape `to`.
SmallVector<Value> reindex(Body &body, ArrayRef<OpFoldResult> from, ArrayRef<OpFoldResult> to,
                           ArrayRef<Value> indices);

/// The tensor computed.
Value materialize(Body &body, const TensorRef &tensor);
/// `attn.map` of tensors, some of which is data.
Value emitMap(Body &body, RankedTensorType type, ArrayRef<TensorRef> sources,
              const ScalarFn &scalar);
/// A constant where every element is one; else null.
Value makeDense(Body &body, const Tensor &tensor);

/// The known elements of `source` as a tensor of `sizes` reads them, each at the indices that
/// `place` makes of its own; none where they or the sizes are not known.
std::optional<SmallVector<Value>>
moveElements(const Tensor &source, ArrayRef<OpFoldResult> sizes,
             function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> place);

// Constructors.
TensorRef makeComputed(Value value, ArrayRef<OpFoldResult> sizes);
TensorRef makeConstant(Body &body, ElementsAttr elements);
TensorRef makeElements(Body &body, Type element, ArrayRef<Value> elements,
                       ArrayRef<OpFoldResult> sizes);
/// One whose elements `at` makes from those of `sources`: a formula where these are.
TensorRef makeGenerate(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                       ArrayRef<TensorRef> sources, ElementFn at);
/// One whose elements are `scalar` of those of `sources`, which broadcast.
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
