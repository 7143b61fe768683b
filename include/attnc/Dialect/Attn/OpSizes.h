//===- OpSizes.h - size constraints, result sizes and FLOPs -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size constraints, result sizes and FLOPs as data. The verifier evaluates them on static sizes,
// the reference on those of a call; the conversion emits them as checks and size computations.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_OPSIZES_H
#define ATTNC_DIALECT_ATTN_OPSIZES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::attn {

/// A tensor by value, or by type alone while an op is being parsed.
struct SizedTensor {
  SizedTensor(Value value) : value(value), type(dyn_cast<RankedTensorType>(value.getType())) {}
  SizedTensor(Type type) : type(dyn_cast_or_null<RankedTensorType>(type)) {}

  bool hasRank(int64_t rank) const { return type && type.getRank() == rank; }
  bool hasRankAtLeast(int64_t rank) const { return type && type.getRank() >= rank; }

  Value value;
  /// Null if the type is not a ranked tensor.
  RankedTensorType type;
};

/// The size of one dimension of a tensor.
struct TensorDim {
  SizedTensor tensor;
  int64_t dim;

  int64_t getStaticSize() const { return tensor.type.getDimSize(dim); }
};

/// Returns the size of a dimension, or kDynamic.
using GetSize = llvm::function_ref<int64_t(TensorDim)>;

//===----------------------------------------------------------------------===//
// Result sizes
//===----------------------------------------------------------------------===//

/// A constant times sizes of tensors.
struct SizeProduct {
  double factor;
  SmallVector<TensorDim> sizes;
};

/// One size of a result, as a function of the operands' sizes.
class ResultSize {
public:
  ResultSize(TensorDim dim) : kind(Kind::equal), dims({dim}) {}
  ResultSize(int64_t number) : kind(Kind::number), count(number) {}
  /// Equal sizes, at least one; the first known one is used.
  static ResultSize anyOf(ArrayRef<TensorDim> dims) { return {Kind::equal, dims, 1}; }
  static ResultSize product(TensorDim a, TensorDim b) { return {Kind::product, {a, b}, 1}; }
  static ResultSize quotient(TensorDim a, int64_t divisor) { return {Kind::quotient, a, divisor}; }
  /// a - count, at least 0.
  static ResultSize difference(TensorDim a, int64_t count) { return {Kind::difference, a, count}; }

  /// kDynamic if it depends on a dynamic size, or overflows.
  int64_t evaluate(GetSize getSize) const;
  int64_t getStatic() const;
  OpFoldResult reify(OpBuilder &builder, Location loc) const;
  /// Multiplies `product` by the size.
  void multiply(SizeProduct &product) const;

private:
  enum class Kind { number, equal, product, quotient, difference };
  ResultSize(Kind kind, ArrayRef<TensorDim> dims, int64_t count)
      : kind(kind), dims(dims), count(count) {}

  Kind kind;
  SmallVector<TensorDim, 2> dims;
  int64_t count = 1;
};

using ResultSizes = SmallVector<ResultSize>;

/// All sizes of `tensor`.
ResultSizes sizesLike(SizedTensor tensor);
SmallVector<int64_t> evaluateSizes(const ResultSizes &sizes, GetSize getSize);
SmallVector<int64_t> getStaticSizes(const ResultSizes &sizes);

/// For each dimension of the shape that tensors broadcast to as in numpy, the operands' dimensions
/// that aren't repeated. A static 1 is repeated, a dynamic size never. The last `numOwn` dimensions
/// of each tensor don't broadcast.
SmallVector<SmallVector<TensorDim>> alignDims(ArrayRef<SizedTensor> tensors, int64_t numOwn = 0);
/// The sizes of the broadcast shape: 1 if all operands' dimensions are repeated.
ResultSizes broadcastSizes(ArrayRef<SizedTensor> tensors, int64_t numOwn = 0);

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// Sizes of operands that must be equal, or of which the first must be a multiple of each other
/// one. A single size is free: it has a name.
struct SizeConstraint {
  struct Member {
    /// `key`; of a multiple the size's name, `num_kv_heads`.
    std::string name;
    Value tensor;
    int64_t dim;
    /// How much larger than the others the size is: 1 of offsets.
    int64_t extra = 0;
  };
  /// The name of the sizes, `head_dim`; empty for a multiple.
  std::string name;
  SmallVector<Member> members;

  bool isMultiple() const { return name.empty(); }
  /// `expected head_dim of query and key of attn.score to match`
  std::string describe(Operation *op, const Member &first, const Member &other) const;
};

using SizeConstraints = SmallVector<SizeConstraint>;

/// Requires `first` to be a multiple of `other`.
SizeConstraint multipleOf(SizeConstraint::Member first, ArrayRef<SizeConstraint::Member> others);
/// Adds constraints that the operands, called `names`, broadcast.
void addBroadcast(SizeConstraints &constraints, ValueRange operands, ArrayRef<std::string> names,
                  int64_t numOwn = 0);
/// The message of the first violated constraint: `expected key head_dim 64 to match query, found
/// 128`. Empty if none is violated by known sizes.
std::string findContradiction(const SizeConstraints &constraints, GetSize getSize);

//===----------------------------------------------------------------------===//
// FLOPs
//===----------------------------------------------------------------------===//

/// The multiplications and additions of a product whose elements are sums over `reduced`.
SizeProduct flopsOfProduct(Value result, const ResultSize &reduced);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_OPSIZES_H
