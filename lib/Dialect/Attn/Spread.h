//===- Spread.h - which dimensions are spread --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_SPREAD_H
#define ATTNC_LIB_DIALECT_ATTN_SPREAD_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn {

/// Which dimensions of a function's tensors are spread, by the name of their size.
class Spread {
public:
  explicit Spread(func::FuncOp function) : function(function), tracer(function) {}

  /// Fails at an entry that is no layout of a dynamic size of an argument.
  LogicalResult readLayouts(DictionaryAttr given);
  ShardLayout getLayout(StringAttr size) const { return shards.lookup(size).getLayout(); }
  ShardStrategy getStrategy(StringAttr size) const { return shards.lookup(size).getStrategy(); }
  /// By the size.
  const llvm::MapVector<StringAttr, ShardAttr> &getShards() const { return shards; }
  /// The name of a dimension's size, null if the dimension is whole, as in tensors made since.
  StringAttr get(Value tensor, int64_t dim);
  /// Notes that `tensor` has taken the place of `other`.
  void replace(Value other, Value tensor);
  /// The dimensions of a value that are spread.
  SmallVector<int64_t> getDims(Value value);
  /// Fails, with an error at `op`, if a size of a value is computed from one that is spread.
  LogicalResult verifySizes(Operation &op, Value value);
  /// An argument's dimension of this size.
  std::pair<Value, int64_t> findDim(StringAttr size);

private:
  void trace(Value value);

  func::FuncOp function;
  SizeTracer tracer;
  llvm::MapVector<StringAttr, ShardAttr> shards;
  /// The names of the spread dimensions of all tensors, traced before the function changes.
  llvm::DenseMap<Value, SmallVector<StringAttr, 4>> sizesOf;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_SPREAD_H
