//===- OpTable.h - a function for each kind of op ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_OPTABLE_H
#define ATTNC_DIALECT_ATTN_OPTABLE_H

#include "mlir/IR/Operation.h"

#include <functional>

namespace mlir::attn {

/// What a library does with ops, by their kind, of whichever dialect. Each of its files adds its
/// ops, so that what the library knows of an op stands in one place.
template <typename... Context>
class OpTable {
public:
  using Function = std::function<LogicalResult(Operation *, Context...)>;

  template <typename OpTy>
  void add(LogicalResult (*function)(OpTy, Context...)) {
    add<OpTy, decltype(function)>(function);
  }
  template <typename OpTy, typename F>
  void add(F function) {
    functions[TypeID::get<OpTy>()] = [function](Operation *op, Context... context) {
      return function(cast<OpTy>(op), context...);
    };
  }

  /// Null for an op of which nothing is known.
  const Function *find(Operation *op) const {
    auto found = functions.find(op->getName().getTypeID());
    return found == functions.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<TypeID, Function> functions;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_OPTABLE_H
