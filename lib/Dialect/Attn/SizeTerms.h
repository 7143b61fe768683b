//===- SizeTerms.h - sizes that are equal whatever the call -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SIZETERMS_H
#define ATTNC_LIB_DIALECT_ATTN_SIZETERMS_H

#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// A size as a sum of a constant and of sizes of tensors that are not computed from others.
class SizeTerms {
public:
  /// Builds ops that reify sizes at `builder`; they are dead afterwards.
  static SizeTerms of(OpBuilder &builder, Value tensor, int64_t dim);

  bool operator==(const SizeTerms &other) const;
  /// `batch`, `(past_len + 1)`; none if a term has no symbol.
  std::optional<SizeSum> inSymbols() const;

private:
  /// The size of a tensor's dimension; an index with the dimension -1; or, with a null value, a
  /// symbol of `attn.dims`.
  struct Term {
    Value value;
    int64_t dim;
    StringAttr symbol;
    bool operator==(const Term &other) const {
      return value == other.value && dim == other.dim && symbol == other.symbol;
    }
  };

  static StringAttr getNameOfPlaces(OpBuilder &builder, Value size);
  void add(OpBuilder &builder, OpFoldResult size);
  void addDim(OpBuilder &builder, Value tensor, int64_t dim);
  void addArgument(BlockArgument argument, int64_t dim);

  int64_t constant = 0;
  SmallVector<Term> terms;
  int steps = 0;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SIZETERMS_H
