//===- Tensor.h - tensors of an ONNX graph ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each node becomes ops, and each name a value. ONNX graphs build masks and positions from many
// small tensors that depend on indices alone: each is a tensor.generate, and attn-merge-maps
// inlines it where it is read, so that the compiler sees `k <= q` instead of a table. Elements of
// shapes and small constants are tracked one by one, since ranks and sizes of types follow from
// them.
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

/// Integers less a zero point, which may be null.
struct IntegerFactor {
  TensorRef tensor, zero;
};

/// Integers times a scale. More than one scale or zero point are those of indices along `axis`.
struct Quantized {
  IntegerFactor integers;
  TensorRef scale;
  int64_t axis;
};

/// An insertion point for scalars: a region under construction, or the function itself.
struct Body {
  OpBuilder &b;
  Location loc;

  /// The element at `indices`; repeated reads share one value.
  Value read(const TensorRef &tensor, ArrayRef<Value> indices);
  /// The element of a tensor with one element.
  Value readSingle(const TensorRef &tensor);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  /// Creates an op, or folds it.
  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    return b.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

  /// The elements already read of each value, by indices.
  using Places = std::vector<std::pair<SmallVector<Value>, Value>>;
  llvm::DenseMap<Value, Places> known{};
};

/// A scalar from the elements of several tensors at the same indices.
using ScalarFn = function_ref<Value(Body &, ArrayRef<Value>)>;
/// The element at indices.
using ElementFn = function_ref<Value(Body &, ArrayRef<Value>)>;

struct Tensor {
  Type element;
  /// Static sizes are attributes. Equal dynamic sizes are the same value.
  SmallVector<OpFoldResult> sizes;
  /// Null until a tensor of known elements is materialized.
  Value value;
  /// The known elements of shapes and small constants.
  std::optional<SmallVector<Value>> elements;
  /// The longest chain of values that depend on indices and scalars alone and end with `value`; 0
  /// if `value` depends on data.
  int64_t indexDepth = 0;

  /// Whether the model says UINT8, of which `element` holds all numbers.
  bool isByte = false;

  /// What DequantizeLinear has made this of, if it has.
  std::optional<Quantized> quantized;
  /// The same numbers as a layer of i8 reads them, 0 to 255; null before one does.
  TensorRef unsignedBytes;

  /// The tensor before a reshape, if this is one.
  TensorRef unshaped;
  /// The tensor before an expansion, if this is one: ops that broadcast read it instead.
  TensorRef unexpanded;

  bool isIndexOnly() const { return indexDepth > 0; }
  /// Whether its elements are in memory: neither a list nor computed from indices.
  bool isData() const { return value && !elements && !isIndexOnly(); }
  bool hasBytes() const { return isByte || element.isInteger(8); }
  int64_t getRank() const { return sizes.size(); }
  RankedTensorType getType() const;
  /// Whether it has one element, of any rank.
  bool isSingle() const;
};

/// The largest number of elements tracked one by one.
constexpr int64_t kMaxElements = 64;
/// The longest chain of values that depend on indices alone; longer ones are data, since each
/// reader would recompute the chain.
constexpr int64_t kMaxIndexDepth = 128;

RankedTensorType getTensorType(Type element, ArrayRef<OpFoldResult> sizes);
std::optional<int64_t> getStatic(OpFoldResult size);
/// Whether two sizes are equal in every call.
bool sameSize(OpFoldResult a, OpFoldResult b);
bool sameSizes(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b);
OpFoldResult fixedSize(MLIRContext *context, int64_t size);
/// The value of a constant scalar.
std::optional<int64_t> getConstantInt(Value scalar);
std::optional<double> getConstantFloat(Value scalar);

/// A size as a scalar of type i64, and an integer scalar as a size.
Value toScalar(Body &body, OpFoldResult size);
OpFoldResult toSize(Body &body, Value scalar);
Value toIndex(Body &body, OpFoldResult size);
OpFoldResult multiply(Body &body, ArrayRef<OpFoldResult> sizes);
/// The linear index of `indices` into a tensor of `sizes`.
Value flatten(Body &body, ArrayRef<Value> indices, ArrayRef<OpFoldResult> sizes);

/// Indices into a tensor of `sizes`, from those into its broadcast shape.
SmallVector<Value> broadcastIndices(Body &body, ArrayRef<OpFoldResult> sizes,
                                    ArrayRef<Value> indices);

/// The tensor as a value.
Value materialize(Body &body, const TensorRef &tensor);
/// `attn.map` of tensors, at least one of them data.
Value emitMap(Body &body, RankedTensorType type, ArrayRef<TensorRef> sources, ScalarFn scalar);
/// `tensor.generate` of the elements at indices.
Value generate(Body &body, RankedTensorType type, ArrayRef<OpFoldResult> sizes, ElementFn at);
/// A constant if all elements are constants; else null.
Value makeDense(Body &body, const Tensor &tensor);

/// The known elements of `source` rearranged to `sizes`: `place` maps indices of the result to
/// those of the source. None if elements or sizes are unknown.
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
/// `tensor.generate` with elements computed by `at` from those of `sources`.
TensorRef makeGenerate(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                       ArrayRef<TensorRef> sources, ElementFn at);
/// Applies `scalar` to the elements of `sources`, which broadcast: `attn.map`, or `tensor.generate`
/// if no source is data.
TensorRef makeMap(Body &body, Type element, ArrayRef<OpFoldResult> sizes,
                  ArrayRef<TensorRef> sources, ScalarFn scalar);
/// A tensor of floats times a constant.
TensorRef makeScaled(Body &body, const TensorRef &source, double factor);
/// A tensor without a value or elements yet.
TensorRef makeTensor(Type element, ArrayRef<OpFoldResult> sizes);
TensorRef makeTranspose(Body &body, const TensorRef &source, ArrayRef<int64_t> permutation);
TensorRef makeReshape(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes);
/// Fails with a diagnostic if a known offset and size are out of bounds.
FailureOr<TensorRef> makeSlice(Body &body, const TensorRef &source, int64_t dim,
                               OpFoldResult offset, OpFoldResult size);
TensorRef makeExpand(Body &body, const TensorRef &source, ArrayRef<OpFoldResult> sizes);

template <typename T>
SmallVector<T> pick(ArrayRef<T> all, ArrayRef<int64_t> places) {
  return llvm::map_to_vector(places, [&](int64_t place) { return all[place]; });
}

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_TENSOR_H
