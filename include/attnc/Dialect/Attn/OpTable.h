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

/// A library's functions on ops, by kind of op, of any dialect. Each file of the library registers
/// its ops, so that the code for an op is in one place.
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

  /// Null for an unregistered op.
  const Function *find(Operation *op) const {
    auto found = functions.find(op->getName().getTypeID());
    return found == functions.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<TypeID, Function> functions;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_OPTABLE_H
