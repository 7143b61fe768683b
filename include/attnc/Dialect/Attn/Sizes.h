//===- Sizes.h - where the sizes of a graph come from -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_SIZES_H
#define ATTNC_DIALECT_ATTN_SIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::attn {

/// A size: a constant, or the size of an argument's dimension.
struct Size {
  int64_t constant = ShapedType::kDynamic;
  unsigned argument = 0;
  unsigned dim = 0;

  bool isConstant() const { return !ShapedType::isDynamic(constant); }
};

/// A size as a sum of symbols and a constant.
struct SizeSum {
  /// Sorted.
  std::vector<std::string> symbols;
  int64_t constant = 0;

  /// `batch`, `(past_len + 1)`
  std::string str() const;
  /// None if `getSize` returns none for a symbol, or the sum overflows.
  std::optional<int64_t> evaluate(function_ref<std::optional<int64_t>(StringRef)> getSize) const;
};

/// Reports an error at a `tensor.dim` whose dimension is not a constant within its tensor's rank,
/// which the functions below assume.
LogicalResult verifyDims(func::FuncOp function);

/// The operand whose sizes an argument has in a region of `attn.ring` or `attn.all_reduce`; null
/// for other arguments.
Value getSizedLike(BlockArgument argument);

class SizeTerms;

/// Traces sizes of tensors back to the arguments of a function on tensors.
class SizeTracer {
public:
  explicit SizeTracer(func::FuncOp function);
  ~SizeTracer();

  /// None if the size is computed: the product of two, the sum of a concatenation.
  std::optional<Size> trace(Value tensor, int64_t dim);
  /// The symbol that `attn.dims` gives an argument's dimension; null if it has none.
  StringAttr getSymbol(const Size &size);
  /// A dynamic size in symbols: `batch`, `(past_len + 1)`; or `?1`, `?2`, … for a size that is no
  /// sum of symbols. Equal sums are equal sizes in every call.
  SizeSum sum(Value tensor, int64_t dim);

private:
  std::optional<Size> traceScratch(Value tensor, int64_t dim);

  func::FuncOp function;
  /// Reifying an op's result sizes builds IR: in a copy of the function, mapped by `mapping`.
  IRMapping mapping;
  OwningOpRef<func::FuncOp> scratch;
  std::vector<SizeTerms> unnamed;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_SIZES_H
