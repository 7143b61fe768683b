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

namespace mlir::attn {

/// A size: a constant, or that of an argument's dimension.
struct Size {
  int64_t constant = ShapedType::kDynamic;
  unsigned argument = 0;
  unsigned dim = 0;

  bool isConstant() const { return !ShapedType::isDynamic(constant); }
};

/// An error at a `tensor.dim` whose dimension is no constant, or none of its tensor's. What asks
/// for sizes takes them to be right.
LogicalResult verifyDims(func::FuncOp function);

/// Traces sizes of tensors back to the arguments of a function on tensors.
class SizeTracer {
public:
  explicit SizeTracer(func::FuncOp function);

  /// None where the size is computed: the product of two, the sum of a concatenation.
  std::optional<Size> trace(Value tensor, int64_t dim);
  /// The symbol that `attn.dims` gives an argument's dimension; null where there is none.
  StringAttr getSymbol(const Size &size);

private:
  std::optional<Size> traceScratch(Value tensor, int64_t dim);

  func::FuncOp function;
  /// Asking an op for its sizes builds IR: in a copy, which `mapping` leads to.
  IRMapping mapping;
  OwningOpRef<func::FuncOp> scratch;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_SIZES_H
