//===- Body.h - a region as a function of scalars ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_REFERENCE_BODY_H
#define ATTNC_LIB_REFERENCE_BODY_H

#include "Environment.h"

namespace mlir::attn::reference {

/// A region of one block, prepared for many calls. It reads tensors of the environment, which must
/// not change meanwhile.
class Body {
public:
  static FailureOr<Body> prepare(Region &region, Environment &env);

  /// The value that the region yields for these arguments.
  Scalar operator()(ArrayRef<Scalar> arguments);

private:
  struct Step {
    ScalarFunction function;
    SmallVector<unsigned, 3> operands;
    unsigned result;
    Type type;
  };

  explicit Body(Environment &env) : env(&env) {}
  LogicalResult addOp(Operation *op);
  LogicalResult addExtract(Operation *op);
  LogicalResult addDim(Operation *op);
  void addStep(Operation *op, ScalarFunction function, ValueRange operands);
  unsigned addSlot(Value value);
  void addConstant(Value value, Scalar scalar);
  unsigned getSlot(Value value);

  Environment *env;
  DenseMap<Value, unsigned> slotOf;
  std::vector<Scalar> slots;
  std::vector<Step> steps;
  unsigned yielded = 0;
};

inline Scalar real(double value) {
  Scalar scalar;
  scalar.real = value;
  return scalar;
}
inline Scalar integer(int64_t value) {
  Scalar scalar;
  scalar.integer = value;
  return scalar;
}

} // namespace mlir::attn::reference

#endif // ATTNC_LIB_REFERENCE_BODY_H
