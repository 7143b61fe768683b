//===- OpSizes.h - what an op says about its sizes --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints, result sizes and FLOPs as data. The verifier reads them with the sizes of types, the
// reference with those of a call, and the conversion emits them as checks and size computations.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_OPSIZES_H
#define ATTNC_DIALECT_ATTN_OPSIZES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::attn {

/// A tensor whose sizes are asked for. While an op is parsed, its operands are types alone.
struct SizedTensor {
  SizedTensor(Value value) : value(value), type(dyn_cast<RankedTensorType>(value.getType())) {}
  SizedTensor(Type type) : type(dyn_cast_or_null<RankedTensorType>(type)) {}

  bool hasRank(int64_t rank) const { return type && type.getRank() == rank; }
  bool hasRankAtLeast(int64_t rank) const { return type && type.getRank() >= rank; }

  Value value;
  /// Null where the type is no ranked tensor.
  RankedTensorType type;
};

/// The size of one dimension of a tensor.
struct TensorDim {
  SizedTensor tensor;
  int64_t dim;

  int64_t getStaticSize() const { return tensor.type.getDimSize(dim); }
};

/// Gives the size of a dimension; kDynamic where it is not known.
using GetSize = llvm::function_ref<int64_t(TensorDim)>;

//===----------------------------------------------------------------------===//
// Result sizes
//===----------------------------------------------------------------------===//

/// One size of a result, as it follows from the operands.
class ResultSize {
public:
  ResultSize(TensorDim dim) : kind(Kind::equal), dims({dim}) {}
  ResultSize(int64_t number) : kind(Kind::number), count(number) {}
  /// Sizes that are equal: the first one known. There is at least one.
  static ResultSize anyOf(ArrayRef<TensorDim> dims) { return {Kind::equal, dims, 1}; }
  static ResultSize product(TensorDim a, TensorDim b) { return {Kind::product, {a, b}, 1}; }
  static ResultSize quotient(TensorDim a, int64_t divisor) { return {Kind::quotient, a, divisor}; }

  /// kDynamic where it depends on a size that is not known, or overflows.
  int64_t evaluate(GetSize getSize) const;
  int64_t getStatic() const;
  OpFoldResult reify(OpBuilder &builder, Location loc) const;

private:
  enum class Kind { number, equal, product, quotient };
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

/// For each dimension that tensors broadcast to as in numpy, the dimensions that aren't repeated: a
/// static 1 is, a dynamic size never. The last `numOwn` of each tensor don't broadcast.
SmallVector<SmallVector<TensorDim>> alignDims(ArrayRef<SizedTensor> tensors, int64_t numOwn = 0);
/// The sizes that these have: 1 where all are repeated.
ResultSizes broadcastSizes(ArrayRef<SizedTensor> tensors, int64_t numOwn = 0);

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// Sizes of operands that must be equal, or the first of them a multiple of each other one.
struct SizeConstraint {
  struct Member {
    /// `key`; of a multiple the size's name, `num_kv_heads`.
    std::string name;
    Value tensor;
    int64_t dim;
  };
  /// What the sizes are, `head_dim`; empty for a multiple.
  std::string name;
  SmallVector<Member> members;

  bool isMultiple() const { return name.empty(); }
  /// `expected head_dim of query and key of attn.score to match`
  std::string describe(Operation *op, const Member &first, const Member &other) const;
};

using SizeConstraints = SmallVector<SizeConstraint>;

/// `first` is a multiple of `other`.
SizeConstraint multipleOf(SizeConstraint::Member first, ArrayRef<SizeConstraint::Member> others);
/// Adds that operands, called `names`, broadcast.
void addBroadcast(SizeConstraints &constraints, ValueRange operands, ArrayRef<std::string> names,
                  int64_t numOwn = 0);
/// Which constraint does not hold: `expected key head_dim 64 to match query, found 128`. Empty
/// where all do as far as sizes are known.
std::string findContradiction(const SizeConstraints &constraints, GetSize getSize);

//===----------------------------------------------------------------------===//
// FLOPs
//===----------------------------------------------------------------------===//

/// A number times sizes of tensors.
struct SizeProduct {
  int64_t factor;
  SmallVector<TensorDim> sizes;
};

/// The multiplications and additions of a product whose elements are sums over `reduced`.
SizeProduct flopsOfProduct(Value result, TensorDim reduced);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_OPSIZES_H
