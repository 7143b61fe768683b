//===- Sizes.h - dynamic sizes as polynomials -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported graphs compute the same size over and over: batch * heads, and divided by heads
// again. As polynomials, equal sizes are found to be equal.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_SIZES_H
#define ATTNC_LIB_IMPORT_ONNX_SIZES_H

#include "Tensor.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

#include <map>

namespace mlir::attn::imports {

/// A sum of products of unknown sizes, each times a constant.
class Polynomial {
public:
  static Polynomial constant(int64_t value);
  static Polynomial of(OpFoldResult size);
  /// The product of sizes. One that has too many terms is a value, which `body` computes.
  static Polynomial multiply(Body &body, ArrayRef<OpFoldResult> sizes);

  bool operator==(const Polynomial &other) const { return terms == other.terms; }
  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  /// None if there may be a remainder.
  std::optional<Polynomial> divide(const Polynomial &divisor) const;

  /// Whether it is 0 or more in every call: a sum of sizes of tensors.
  bool isNonNegative() const;

  /// Emits ops that compute the size; none for an existing value.
  OpFoldResult build(Body &body) const;

private:
  /// Orders unknown sizes by definition.
  struct Earlier {
    bool operator()(Value a, Value b) const;
  };
  struct EarlierProduct {
    bool operator()(ArrayRef<Value> a, ArrayRef<Value> b) const;
  };
  using Product = SmallVector<Value, 4>;

  using Known = llvm::DenseMap<Value, Polynomial>;
  static Polynomial ofValue(Value value, Known &known, int depth);
  static Polynomial ofOp(Operation *op, Known &known, int depth);
  static Polynomial unknown(Value value);
  /// Whether it has too many terms or factors; such a size becomes an unknown.
  bool isLarge() const;
  /// The last term divided by the divisor's last one.
  std::optional<Polynomial> divideLast(const Polynomial &divisor) const;

  std::map<Product, int64_t, EarlierProduct> terms;
};

/// A common refinement of two shapes of the same elements: each of their dimensions is a group of
/// adjacent dimensions of `sizes`. Sizes of 1 are left out.
struct Refinement {
  SmallVector<OpFoldResult> sizes;
  /// One for each dimension of either side that is not 1.
  SmallVector<ReassociationIndices> from, to;
};

/// None if there is none, as for 6x4 and 4x6.
std::optional<Refinement> refine(Body &body, ArrayRef<OpFoldResult> from,
                                 ArrayRef<OpFoldResult> to);

/// `size`, which is 0 or 1 in every call, as one that `isAtMostOne`.
OpFoldResult atMostOne(Body &body, OpFoldResult size);
/// Whether it is the size of a part of one element, which a call may lack: such a dimension
/// broadcasts.
bool isAtMostOne(OpFoldResult size);

/// Dimensions other than those of size 1, in order.
SmallVector<int64_t> getWideDims(ArrayRef<OpFoldResult> sizes);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_SIZES_H
